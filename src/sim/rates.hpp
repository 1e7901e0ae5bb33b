// The speed of a job at its place: the only code that computes it.
//
// rate = scale x spread x min over its GPUs of (type x share). Measured figures override rules;
// scale is 1 on as many GPUs as the job asks for. Granted shares and roles are ignored.
// doc/simulator.md has every rule. A pure function of the trace, the placement and the other
// tenants of the GPUs.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/rate.hpp"
#include "core/cluster.hpp"
#include "core/knowledge/speeds.hpp"
#include "sim/share/share_model.hpp"
#include "sim/tenants.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

struct RateModel {
  Speeds speeds;
  /// On a shared GPU where a pair was not measured; null: at full speed.
  std::shared_ptr<const ShareModel> share = nullptr;
  Rate utilisation = kFullSpeed;  ///< Of a job without one in the trace or a table.
  Rate spread = kFullSpeed;       ///< On more nodes than it needs, without a table.

  /// True if every job always runs at full speed.
  bool is_plain() const {
    return share == nullptr && spread == kFullSpeed && !speeds.has_pairs() &&
           !speeds.has_spreads() && !speeds.has_types();
  }
  bool reads_duties() const { return share != nullptr && share->reads_duties(); }
};

/// What policies know of these speeds, and the largest error of each figure.
struct ToldSpeeds {
  bool table = true;  ///< False: only what is learned from run times (core/knowledge/company.hpp).
  std::int64_t error_percent = 0;

  bool operator==(const ToldSpeeds&) const = default;
};
/// `exact`, `learned`, or `+-20%`. Errors: InvalidArgument naming the text and the range, 0 to 99.
Expected<ToldSpeeds> parse_told_speeds(std::string_view text);
/// The table that policies see; errors are drawn evenly by the seed, one for each figure.
Speeds told_speeds(const RateModel& model, const ToldSpeeds& told, std::uint64_t seed);

/// A job's speed, and where it is from.
struct Pace {
  Rate rate;
  bool shares = false;  ///< Another job is on one of its GPUs.
  bool ruled = false;   ///< Some of it is by rule: the pair, type or spread was not measured.
  /// GPU time that its kernels take beside others, over that alone; in parts per million.
  std::int64_t kernel_cost = Rate::kWhole;

  bool operator==(const Pace&) const = default;
};

/// For which part of its time alone each job has a kernel on its GPUs, in parts per million: as the
/// trace states, else by the table of its model, the share it asks for, or the general figure.
std::vector<std::int64_t> duties_of(const trace::Trace& trace, const RateModel& model);

class Rates {
 public:
  /// Requires: all three outlive it.
  Rates(const RateModel& model, const trace::Trace& trace, const Cluster& cluster);

  /// Requires: `tenants` has the job on `gpus`, ascending. O(GPUs x tenants).
  Pace of(std::size_t job, std::span<const GpuId> gpus, const Tenants& tenants) const;

 private:
  Rate scale(std::size_t job, std::int64_t gpus) const;
  /// Nothing if no table has a figure, so that a rule applies.
  std::optional<Rate> spread(std::size_t job, std::int64_t gpus, std::int64_t nodes) const;
  std::optional<Rate> type(std::size_t job, std::string_view name) const;
  Pace share(std::size_t job, GpuId gpu, std::span<const std::size_t> tenants) const;

  const RateModel& model_;
  const trace::Trace& trace_;
  const Cluster& cluster_;
  std::vector<std::int64_t> duties_;  ///< Empty unless the model of sharing reads them.
};

}  // namespace berth::sim
