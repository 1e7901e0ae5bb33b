// The options of a set of jobs, and the parts that linear programs over them have in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/question.hpp"
#include "core/view.hpp"
#include "policy/allocate/allocator.hpp"

namespace berth {

/// Whether an allocator reads how fast jobs are on each type of GPU, or takes all types for alike.
enum class Speed : std::uint8_t { Measured, Alike };

/// A job alone, with what the programs need of it.
struct Rated {
  Option option;
  std::size_t job = 0;  ///< Its position in the list.
  Rate speed;
};

/// Jobs that share their GPUs.
struct RatedTogether {
  Option option;
  std::vector<std::size_t> jobs;  ///< Their positions in the list.
  std::vector<Rate> speeds;       ///< Of each of these.
};

/// The options of these jobs, by job and type: each type with enough GPUs that the request and the
/// table of speeds allow. Where a suspended job goes on only on the type on which it began
/// (Settings::suspends_on_type), a job has one: that type, or before it began, the one that gives
/// it most beside the jobs before it. With pairs, also any two that can share GPUs of a type, of
/// the first kMostPaired jobs: pairs grow with the square. O(jobs x types + pairs x types).
class Options {
 public:
  enum class Packing : std::uint8_t { Alone, Pairs };
  static constexpr std::size_t kMostPaired = 128;
  Options(const ClusterView& view, std::span<const JobId> jobs, Speed speed,
          Packing packing = Packing::Alone);

  /// Those of jobs alone, whose columns come first.
  const std::vector<Rated>& all() const { return all_; }
  const std::vector<RatedTogether>& together() const { return together_; }
  /// Those of the job at this position alone.
  std::span<const Rated> of(std::size_t job) const {
    return std::span(all_).subspan(begin_[job], begin_[job + 1] - begin_[job]);
  }
  std::size_t jobs() const { return begin_.size() - 1; }
  std::uint32_t column(const Rated& rated) const {
    return static_cast<std::uint32_t>(&rated - all_.data());
  }
  std::uint32_t column(const RatedTogether& rated) const {
    return static_cast<std::uint32_t>(std::ssize(all_) + (&rated - together_.data()));
  }
  std::uint32_t columns() const {
    return static_cast<std::uint32_t>(all_.size() + together_.size());
  }
  std::vector<Option> plain() const;

  /// A job runs at most all the time, and a type has so many GPUs: within these, shares can be
  /// kept by rounds.
  std::vector<Row> rows() const;
  std::int64_t gpus_asked(std::size_t job) const { return asked_[job]; }
  std::int64_t gpus_of(std::uint8_t type) const { return gpus_[type]; }
  std::int64_t gpus() const;

  /// The speed, in millionths, of a job that has as much of its time on each type that its request
  /// allows as the type has of all GPUs.
  std::int64_t even_speed(std::size_t job) const { return even_[job]; }

 private:
  using ByJob = std::vector<std::vector<Rated>>;
  void settle(const ClusterView& view, std::span<const JobId> jobs, ByJob& rated) const;
  void add_pairs(const ClusterView& view, std::span<const JobId> jobs);

  std::vector<Rated> all_;
  std::vector<RatedTogether> together_;
  std::vector<std::size_t> begin_{0};
  std::vector<std::int64_t> asked_;
  std::vector<std::int64_t> even_;
  std::vector<std::int64_t> gpus_;
};

}  // namespace berth
