// A daemon in a made-up world: the real conductor, keeper, engine and journal with simulated hands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "dst/hands.hpp"
#include "dst/world.hpp"
#include "live/conductor.hpp"
#include "live/keeper.hpp"

namespace berth::dst {

/// With which of them it is, counted: no two sets have one number.
struct Rules {
  live::Rules rules;
  int number = 0;
};

enum class Answer : std::uint8_t { Done, Refused };

/// What a user asks for; answered once, or never if the daemon dies.
struct Asked {
  std::optional<live::Submission> submission;
  std::vector<Input> inputs;
  std::function<void(Answer, JobId)> answer;
};

class Daemon : private live::Audience {
 public:
  /// Takes over what one before left. Null: it could not start.
  static std::unique_ptr<Daemon> open(World& world, const Rules& rules, After after);

  void ask(Asked asked);
  /// After whatever happened: what came together is one step.
  void turn() { conductor_.turn(); }
  /// It ends by itself.
  bool has_failed() const { return conductor_.failure().has_value(); }
  /// For a clean end.
  void stop();

  /// The driver reports a fault.
  void on_fault(GpuId gpu) { conductor_.on_fault(gpu, "Xid 79"); }
  const Engine& engine() const { return keeper_.engine(); }
  const live::Keeper& keeper() const { return keeper_; }

 private:
  Daemon(World& world, std::unique_ptr<Host> host, live::Keeper keeper);
  void on_ended(Key key, Exit exit);
  void on_alarm(live::Alarm alarm);
  void report_nodes();
  void report_old_news();
  void on_step(const live::StepTaken& step) override;
  void on_changed(const std::vector<JobId>&) override {}
  std::set<GpuId> bad_gpus() const;

  World& world_;
  std::unique_ptr<Host> host_;
  live::Keeper keeper_;
  Clock clock_;
  Alarms alarms_;
  Syncs syncs_;
  Executor executor_;
  Eyes eyes_;
  Solver solver_;
  live::Conductor conductor_;
  std::map<NodeId, bool> reported_;  ///< Which nodes are up.
  Life life_ = new_life();
};

}  // namespace berth::dst
