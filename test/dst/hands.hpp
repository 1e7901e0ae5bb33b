// The ports of a conductor (live/ports.hpp) on a made-up world: each does what its contract says,
// as late as it may, and nothing at all once the daemon is dead. Jobs can be suspended and nodes
// lost here, which berthd cannot.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dst/world.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::dst {

/// What the executor reports to its conductor.
struct Hooks {
  std::function<void(Key)> started;
  std::function<void(Key)> failed;
  std::function<void(Key, Exit)> ended;
  std::function<void(Key)> lost;
  std::function<void(Key)> suspended;
  std::function<void(Key)> suspend_failed;
};

class Executor : public live::Executor {
 public:
  Executor(World& world, Hooks hooks);
  ~Executor() override { world_.machines.listener = nullptr; }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Expected<void> launch(const live::Assignment& assigned) override;
  live::Trace adopt(JobId job, Attempt attempt) override;
  void stop(JobId job, Attempt attempt, live::Manner manner) override;
  void forget(JobId job, Attempt attempt) override;
  std::vector<std::string> sweep(const live::StandingOf& standing_of, JobId last) override;

  /// Whether a shim of ours holds it: its processes are known to be the job's.
  bool holds(Key key) const { return live_.contains(key); }

 private:
  struct Shim {
    bool is_ours = true;  ///< Else it was adopted and cannot speak to us.
    bool has_go = false;
  };
  Expected<Order> order_of(const live::Assignment& assigned);
  void suspend(Key key);
  void on_news(Key key, News news);
  void on_started(Key key);
  void on_ended(Key key);
  void on_exit(Key key);
  void report_end(Key key);

  World& world_;
  Hooks hooks_;
  std::map<Key, Shim> live_;
  Life life_ = new_life();
};

/// One look at a time per GPU, another if it was asked for meanwhile.
class Eyes : public live::Eyes {
 public:
  Eyes(World& world, const Executor& executor, const live::Clock& clock,
       std::function<void(live::Look)> deliver)
      : world_(world), executor_(executor), clock_(clock), deliver_(std::move(deliver)) {}

  void look_at(const std::set<GpuId>& gpus) override;
  /// When the latest look that was delivered began, by the world's time.
  const std::map<GpuId, Instant>& began() const { return began_; }

 private:
  struct Begun {
    GpuId gpu;
    Instant clock;
    Instant world;
    int tries = 0;
  };
  void begin(GpuId gpu, int tries);
  void sample(const Begun& begun);
  void deliver(const Begun& begun, live::Look look);
  Owner owner_of(pid_t pid) const;
  void distort(live::Look& look);
  void hide_the_dead(live::Look& look) const;

  World& world_;
  const Executor& executor_;
  const live::Clock& clock_;
  std::function<void(live::Look)> deliver_;
  std::map<GpuId, int> asked_;  ///< How often since the look under way began.
  std::map<GpuId, Instant> began_;
  std::map<GpuId, live::Look> remembered_;  ///< For eyes with a defect.
  Life life_ = new_life();
};

/// As berthd's: by wall time, but under jobs that hold berths as it was before.
class Clock : public live::Clock {
 public:
  Clock(World& world, const live::Keeper& keeper);
  Instant now() const override { return kStart + world_.boot_time() + ahead_; }

 private:
  World& world_;
  Duration ahead_;  ///< Of the time since boot.
};

class Alarms : public live::Alarms {
 public:
  Alarms(World& world, std::function<void(live::Alarm)> ring)
      : world_(world), ring_(std::move(ring)) {}

  void set(live::Alarm alarm, Duration from_now) override;
  void post(std::function<void()> task) override;

 private:
  World& world_;
  std::function<void(live::Alarm)> ring_;
  std::array<Life, live::kAlarms> set_;
  Life life_ = new_life();
};

/// Slow, and of its answers some never come.
class Solver : public live::Solver {
 public:
  Solver(World& world, std::function<void(Answer)> deliver)
      : world_(world), deliver_(std::move(deliver)) {}

  void solve(Question question) override;

 private:
  World& world_;
  std::function<void(Answer)> deliver_;
  Life life_ = new_life();
};

class Syncs : public live::Syncs {
 public:
  Syncs(World& world, const live::Keeper& keeper, std::function<void(const Error&)> failed)
      : world_(world), keeper_(keeper), failed_(std::move(failed)) {}

  void after_sync(Promise promise) override;
  /// Keeps every promise.
  void run();

 private:
  Expected<void> sync();

  World& world_;
  const live::Keeper& keeper_;
  std::function<void(const Error&)> failed_;
  std::vector<Promise> promises_;
  Life life_ = new_life();
};

class Host : public live::Host {
 public:
  explicit Host(World& world) : world_(world) {}
  Expected<Bytes> free_room() const override;
  Expected<std::unique_ptr<live::StateCopy>> copy(const Engine& engine) override;
  std::string name_of(UserId user) override { return std::to_string(user.value()); }

 private:
  World& world_;
};

}  // namespace berth::dst
