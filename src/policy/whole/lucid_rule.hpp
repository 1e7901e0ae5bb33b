// The rule of Lucid (Hu et al., ASPLOS 2023): which waiting jobs begin, in which order, and which
// of them beside a job that runs. It knows neither places nor the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/rate.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth {

/// Two jobs may share GPUs if their labels make up this at most.
inline constexpr int kLucidMostLabels = 2;
/// How much a job and its neighbours feel of each other, 0 tiny, 1 medium, 2 jumbo: by the mean
/// speed of jobs like it over all the neighbours beside which it was measured; 2 for a
/// job of which nothing is known.
int lucid_label(std::optional<Rate> mean_beside);

/// Small goes first: run time x GPUs, in microseconds. A negative estimate, as the model of Lucid
/// makes some, counts as 1,000 s.
std::int64_t lucid_key(Duration estimate, std::int64_t gpus);

struct LucidJob {
  std::int64_t gpus = 1;
  Bytes memory{0};  ///< On each of them.
  int label = 2;
  std::int64_t key = 0;
};

/// A job that runs, or that just began.
struct LucidRunning {
  LucidJob job;
  Bytes gpu_memory{0};     ///< Of the smallest of its GPUs.
  bool is_packed = false;  ///< It shares its GPUs, or must not.
};

/// Whether `job` may go on the GPUs of `other`: that one is not packed and has as many, their
/// memory is more than both need, their labels allow it, and `other` is not much shorter:
/// the key of `job` is at most twice its key.
bool lucid_may_join(const LucidJob& job, const LucidRunning& other);

struct LucidRules {
  bool packs = true;           ///< False where so few jobs arrive that none needs to share.
  std::int64_t most_gpus = 8;  ///< Of a job that may share: those of a node.
};

/// Gives the waiting job at this position the GPUs of the running job at the other, or free ones if
/// there is none. Returns: the memory of the smallest of them; nothing if it cannot begin there.
using LucidBegin = std::function<std::optional<Bytes>(std::size_t, std::optional<std::size_t>)>;

/// One pass. `waiting` are in order of arrival, `running` in order of start; those that begin are
/// added there. By ascending key, the first to arrive among equals, a job that may share goes to
/// the first running job that it may join, else to free GPUs. One for which there is no place is
/// passed over while jobs are packed; else it holds up all behind it. O(waiting x (log running +
/// the running jobs with as many GPUs that it may not join)), and begin().
void lucid_pass(std::span<const LucidJob> waiting, std::vector<LucidRunning>& running,
                const LucidRules& rules, const LucidBegin& begin);

}  // namespace berth
