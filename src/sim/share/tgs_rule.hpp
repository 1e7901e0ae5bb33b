// The rule by which TGS (Wu et al., NSDI 2023) gives an opportunistic job what a production job
// leaves of a GPU: a limit on its kernels that is set anew after each tick from the rates of both.
//
// Rates are in blocks of kernels a tick. The rule is the one of its code (pkusys/TGS, commit
// e1c6a319cd), with its floating point: it is a model, which orders nothing.
#pragma once

#include <array>
#include <cstdint>

namespace berth::sim {

/// What a tick's kernels were, of the production job and of the opportunistic one.
struct TgsRates {
  std::int64_t production = 0;
  std::int64_t opportunistic = 0;
  bool operator==(const TgsRates&) const = default;
};

/// A GPU that does `capacity` blocks a tick, each job's in proportion to what it launches.
/// Requires: figures from 0 to 10^9, and a capacity above 0.
TgsRates tgs_share(TgsRates launched, std::int64_t capacity);

class TgsController {
 public:
  /// `target` is the first rate that the production job reports.
  explicit TgsController(double target) : target_(target) {}

  /// What the opportunistic job may launch in the next tick.
  std::int64_t limit() const { return limit_; }
  /// The rate of the production job that is defended. It follows that rate down, so a job that a
  /// neighbour starves by more than a fifth at once is soon owed no more than it gets.
  double target() const { return target_; }
  /// The tick was like this.
  void observe(const TgsRates& tick);

 private:
  enum class Phase : std::uint8_t { Profile, Slow, Avoid };

  void profile(double seen);
  /// False where the rate moved so far that it is profiled again.
  bool follow(double seen);
  void control(std::int64_t rate, std::int64_t opportunistic);
  void slow(double off, std::int64_t opportunistic);
  void avoid(double off, std::int64_t opportunistic);
  void give_in(double off);

  double target_;
  std::int64_t limit_ = 0;
  std::array<std::int64_t, 5> window_ = {};  ///< The last rates of the production job.
  Phase phase_ = Phase::Profile;
  int profiled_ = 0;        ///< Ticks of this profile.
  std::int64_t ticks_ = 0;  ///< Under control, over the whole run.
  int starved_ = 0;         ///< Ticks in a row in which the rate is far off the target.
  bool grew_ = false;       ///< The last change while it avoids contention.
};

}  // namespace berth::sim
