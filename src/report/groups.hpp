// A run's figures by user and by number of GPUs asked for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/simulator.hpp"
#include "sim/spread.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

struct GroupFigures {
  std::string name;
  std::size_t submitted = 0;
  std::size_t jobs = 0;  ///< That ran to their end; the figures are theirs.
  std::size_t rejected = 0;
  double gpu_hours = 0;  ///< GPUs x time they were held.
  Spread jct;            ///< Seconds.
  Spread wait;           ///< Seconds.
  Spread slowdown;
};

/// By user, most GPU-hours first; jobs that name none are `-`. Nothing if no job names one. A user
/// is what the trace has as one: in Philly's a virtual cluster.
std::vector<GroupFigures> by_user(const trace::Trace& trace, const Result& result);

/// By GPUs asked for: 0, 1, 2, 3-4, 5-8, 9-16 and so on, those that there are.
std::vector<GroupFigures> by_size(const trace::Trace& trace, const Result& result);

nlohmann::ordered_json to_json(const std::vector<GroupFigures>& groups);
/// A table under a head, `most` rows of it and a line that says how many there are more.
std::string to_text(const std::string& head, const std::vector<GroupFigures>& groups,
                    std::size_t most);

}  // namespace berth::sim
