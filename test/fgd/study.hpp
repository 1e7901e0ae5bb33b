// The experiment of Weng et al., "Beware of Fragmentation", ATC 2023, with berth's placements.
//
// The tasks of a published mix, drawn again and again until they ask for 130 % of the cluster's
// GPUs, arrive one by one in an order shuffled by a seed and never leave. Each is offered to the
// placement once, on a ledger that admits as the engine's does.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "trace/trace.hpp"

namespace berth::fgd {

/// A placement, and what the published figures call it.
struct Way {
  std::string_view place;
  std::string_view published;
};
inline constexpr auto kWays = std::to_array<Way>({{"random", "01-Random"},
                                                  {"dot-prod", "02-DotProd"},
                                                  {"gpu-clustering", "03-GpuClustering"},
                                                  {"gpu-packing", "04-GpuPacking"},
                                                  {"best-fit-cpu-gpu", "05-BestFit"},
                                                  {"fgd", "06-FGD"}});

/// A cluster and a list of tasks, both in order of their names.
struct Mix {
  Cluster cluster;
  trace::Trace tasks;
};

/// A file's text, unpacked. Errors: NotFound naming a file that cannot be read.
Expected<std::string> text_of(const std::filesystem::path& path);

/// The mixes that have a list of tasks in `folder`, published figures or not, by name.
/// Errors: NotFound if there is no such folder.
Expected<std::vector<std::string>> mixes_at_hand(const std::filesystem::path& folder);

/// Errors: what reading the files says.
Expected<Mix> load_mix(const std::filesystem::path& folder, const std::string& mix);

/// What a seed makes of a mix.
struct Draw {
  Cluster cluster;                  ///< The order of its nodes is drawn.
  trace::Trace tasks;               ///< Of the mix, with the types of this cluster.
  std::vector<std::size_t> arrive;  ///< Which of the tasks, in order of arrival.
};

/// The draw that the authors' program makes with this seed, to the last task and node.
Draw draw(const Mix& mix, std::int64_t seed);

/// Per cent of the cluster's GPUs, by the load that had arrived in whole per cent.
struct Curve {
  std::array<double, 131> allocated{};
  std::array<double, 131> fragmented{};
};

struct Run {
  Curve curve;
  std::size_t tasks = 0;
  std::int64_t allocated = 0;  ///< In the end, thousandths of GPUs.
};

/// Errors: NotFound for an unknown placement; Conflict if it chose a place that does not fit.
Expected<Run> run(const Draw& draw, std::string_view place, std::int64_t seed);

}  // namespace berth::fgd
