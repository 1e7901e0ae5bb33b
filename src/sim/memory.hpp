// The GPU memory that jobs truly use, what a probe would see of it, and which jobs die without it.
//
// A job with a curve (trace/use_curve.hpp) holds what that says of the work it has done. Another
// that states its memory holds its contexts from its launch, and its true need from a while later:
// the truth differs from the request by a drawn error. An allocation that does not fit on the GPU
// fails, and its job with it; a foreign process that finds no room takes nothing. The kind of
// failure follows doc/problem.md, section 2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "core/ask.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/input.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

struct MemoryModel {
  bool is_on = false;           ///< Off: jobs use what they state, and nothing fails.
  std::int64_t error = 0;       ///< The truth is the request times 1 -+ so many percent, evenly.
  Duration ramp = seconds(30);  ///< From a launch to the whole need. Above zero.
  std::int32_t retries = 2;     ///< With a larger request, after which a job has failed.

  bool operator==(const MemoryModel&) const = default;
};

/// The kind of a failed allocation; exactly one is true.
enum class OomKind : std::uint8_t {
  OwnOverrun,        ///< Its job took more than it was charged for;
  NeighbourOverrun,  ///< else a tenant beside it had;
  Foreign,           ///< else others used more than when its GPU was last granted;
  Admission,         ///< else it should not have been admitted.
};
inline constexpr std::size_t kOomKinds = 4;
std::string_view word_for(OomKind kind);

struct Oom {
  std::size_t job = 0;
  OomKind kind = OomKind::Admission;
};

struct TenantPeak {
  GpuId gpu;
  Bytes bytes{0};
};

class Memory {
 public:
  /// Requires: trace and cluster outlive it.
  Memory(const trace::Trace& trace, const Cluster& cluster, const MemoryModel& model,
         std::uint64_t seed);

  void begin(std::size_t job, const Grant& grant, Instant now);
  /// The job stops and allocates no more.
  void freeze(std::size_t job);
  /// True if the job has a curve; then it asks for follow().
  bool has_curve(std::size_t job) const { return model_.is_on && !trace_.jobs[job].use.empty(); }
  /// A job with a curve has done so much of its work. Returns: its failure, if it did not get what
  /// it needs now; it is ended then.
  std::optional<Oom> follow(std::size_t job, Duration done);
  /// Everything it has is freed. Nothing for a job that has nothing.
  void end(std::size_t job);
  /// When the next job without a curve wants its whole need; kNever if none does.
  Instant next() const { return due_.empty() ? kNever : due_.begin()->first; }
  /// Gives what is wanted by `now`, job by job. Returns: those that did not get it, ended.
  std::vector<Oom> grow(Instant now);
  /// A process outside berth takes so much, if there is room for it.
  void take_foreign(GpuId gpu, Bytes bytes);
  void free_foreign(GpuId gpu);
  bool has_changed() const { return !changed_.empty(); }
  /// The GPUs that changed since the last call, ascending.
  std::vector<GpuId> take_changed();
  /// What a probe sees on a GPU.
  Measured measured(GpuId gpu) const;
  /// What a probe sees on the GPUs that changed since the last call, ascending.
  std::vector<Measured> measured();
  /// What a job held most on each of its GPUs since its start, contexts included.
  std::vector<TenantPeak> peaks_of(std::size_t job) const;
  /// What it holds on this GPU now, contexts included; 0: that is not modelled.
  Bytes used(std::size_t job, GpuId gpu) const;
  /// From here on it overruns beyond that.
  void recharge(std::size_t job, GpuId gpu, Bytes charge);
  /// On all GPUs together, by tenants and others.
  Bytes held() const { return held_in_all_; }

  /// The most it needs on each GPU, without contexts.
  Bytes need(std::size_t job) const { return needs_[job]; }

 private:
  struct Held {
    GpuId gpu;
    Bytes used{0};
    Bytes charge{0};
    Bytes most{0};  ///< Used since its start.
  };
  struct Card {
    Bytes used{0};          ///< By tenants and others.
    Bytes foreign{0};       ///< Of that, by others;
    Bytes foreign_seen{0};  ///< likewise when it was last granted.
    std::vector<std::size_t> tenants;
  };

  std::optional<Oom> resize(std::size_t job, Bytes use);
  void use_more(GpuId gpu, Bytes more);
  OomKind blame(std::size_t job, const Held& held, Bytes more) const;
  bool overruns(std::size_t job, GpuId gpu) const;

  const trace::Trace& trace_;
  const Cluster& cluster_;
  MemoryModel model_;
  std::vector<Bytes> needs_;
  std::vector<std::vector<Held>> held_;  ///< By job; empty for those that hold nothing.
  std::vector<Card> cards_;
  std::set<std::pair<Instant, std::size_t>> due_;
  std::vector<Instant> due_at_;  ///< By job; kNever: nothing is due.
  std::set<GpuId> changed_;
  Bytes held_in_all_{0};
};

}  // namespace berth::sim
