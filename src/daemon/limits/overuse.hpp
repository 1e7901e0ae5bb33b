// Jobs that hold more GPU memory than they were granted while another waits for it: they are warned
// of or ended, where that is configured. doc/configuration.md, overuse.
//
// Belongs to the engine's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "live/surplus.hpp"

namespace berth::daemon {

/// What becomes of them.
enum class Overuse : std::uint8_t { Keep, Warn, End };
constexpr auto words_of(Overuse) {
  return std::to_array<std::string_view>({"keep", "warn", "end"});
}

class OveruseWatch {
 public:
  struct Hooks {
    std::function<void(const live::WantedSurplus&)> warn;
    /// Of one that was warned of and runs on: it gave the memory back, or nobody waits for it.
    std::function<void(JobId)> settled;
    std::function<void(const live::WantedSurplus&)> end;
  };
  OveruseWatch(Overuse rule, Hooks hooks) : rule_(rule), hooks_(std::move(hooks)) {}

  void set(Overuse rule) { rule_ = rule; }
  void look(const Engine& engine);

 private:
  struct Told {
    Attempt attempt;
    Overuse rule = Overuse::Warn;  ///< Under which it was: another one tells it anew.

    bool operator==(const Told&) const = default;
  };

  Overuse rule_;
  const Hooks hooks_;
  std::map<JobId, Told> told_;
};

}  // namespace berth::daemon
