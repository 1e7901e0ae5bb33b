// Why jobs waited, as figures, text and a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/chart.hpp"
#include "sim/waits.hpp"

namespace berth::sim {

/// Of one reason.
struct WaitFigure {
  WaitReason reason = WaitReason::Order;
  double total = 0;  ///< Seconds, of all jobs.
  double mean = 0;   ///< Seconds, over the jobs of the run.
  double share = 0;  ///< Of all waiting; 0 to 1.
};

/// Every reason, in its order. Requires: jobs > 0.
std::vector<WaitFigure> wait_figures(const WaitTimes& times, std::size_t jobs);

/// An object by reason: total_seconds, mean_seconds, share.
nlohmann::ordered_json to_json(const std::vector<WaitFigure>& figures);
/// `waiting because of capacity 61.0 %, order 39.0 %`, most first; a line.
std::string to_text(const std::vector<WaitFigure>& figures);
/// Hours a job waited on average, by each reason for which any waited.
std::vector<Bar> bars_of(const std::vector<WaitFigure>& figures);

}  // namespace berth::sim
