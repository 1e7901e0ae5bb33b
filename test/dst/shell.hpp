// A daemon without processes, sockets and threads: the loop of
// src/daemon/daemon.cpp, step for step, around the real keeper, engine, journal
// and watcher. It can also suspend jobs and lose nodes, which berthd cannot.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "dst/launcher.hpp"
#include "dst/world.hpp"
#include "live/keeper.hpp"
#include "live/watcher.hpp"

namespace berth::dst {

/// With which of them it is, counted: no two sets have one number.
struct Rules {
  live::Rules rules;
  int number = 0;
};

enum class Answer : std::uint8_t { Done, Refused };

/// What a user asked for; answered once, or never if the daemon dies.
struct Asked {
  std::optional<live::Submission> submission;
  std::vector<Input> inputs;
  std::function<void(Answer, JobId)> answer;
};

class Shell {
 public:
  /// Takes over what one before left. Null: it could not start.
  static std::unique_ptr<Shell> open(World& world, const Rules& rules, After after);

  void ask(Asked asked) { asked_.push_back(std::move(asked)); }
  /// After whatever happened: what came together is one step.
  void turn();
  /// It ends by itself.
  bool has_failed() const { return failed_; }
  /// For a clean end.
  void stop();

  /// The driver reports a fault.
  void on_fault(GpuId gpu);
  const Engine& engine() const { return keeper_.engine(); }
  const live::Keeper& keeper() const { return keeper_; }

 private:
  Shell(World& world, live::Keeper keeper);
  Instant now() const { return kStart + world_.boot_time() + ahead_; }

  void recover();
  void recover(const Job& job);
  void recover_suspended(const Job& job);

  // What comes in.
  void on_started(Key key) { tell(Started{key.job, key.attempt}); }
  void on_failed(Key key);
  void on_ended(Key key, Exit exit);
  void on_over(Key key, Outcome outcome, std::int32_t code);
  void on_look(live::Look look);
  void on_silence();
  void on_probe();
  void tell(Input input);
  void tell_old_news();

  // A step.
  bool wait_for_look();
  void look_at(const std::set<GpuId>& gpus);
  void step();
  void refuse(std::vector<Asked> asked);
  void answer(std::vector<Asked> asked, const std::vector<JobId>& submitted);
  std::set<GpuId> bad_gpus() const;

  // Effects.
  void perform(const Effect& effect);
  void stop(const Stop& wanted);
  void launch(JobId job, Attempt attempt, const Grant& grant);
  std::optional<Order> order_of(Key key, const Grant& grant) const;
  void leave(Key key);

  World& world_;
  live::Keeper keeper_;
  const Duration ahead_;  ///< Of the time since boot.
  live::Watcher watcher_;
  Launcher launcher_;
  Probe probe_;
  Syncer syncer_;
  Life life_ = new_life();

  std::vector<Input> inputs_;
  std::vector<Asked> asked_;
  std::map<GpuId, Instant> looking_;
  std::optional<Instant> waits_since_;
  std::set<Key> overran_;
  std::map<JobId, Attempt> current_;
  std::map<NodeId, bool> told_;  ///< Which nodes are up.
  Alarm wake_;
  Alarm probe_alarm_;
  Alarm silence_alarm_;
  Alarm leaving_alarm_;
  Alarm retry_alarm_;
  Alarm start_again_alarm_;
  std::vector<Input> not_started_;
  bool is_retrying_ = false;
  bool failed_ = false;
};

}  // namespace berth::dst
