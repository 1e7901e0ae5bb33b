// The launcher, the probe and the sync thread of a daemon, on a made-up world:
// each does what the real one promises (src/daemon), as late as it may.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "dst/world.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::dst {

struct Hooks {
  std::function<void(Key)> started;
  std::function<void(Key)> failed;
  std::function<void(Key, Exit)> ended;
  std::function<void(Key)> lost;
};

/// As daemon::Launcher; and it can suspend.
class Launcher {
 public:
  Launcher(World& world, Hooks hooks);
  ~Launcher() { world_.machines.listener = nullptr; }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  Expected<void> launch(const Order& order);
  live::Trace adopt(Key key);
  void stop(Key key, live::Manner manner) {
    if (live_.contains(key)) world_.machines.stop(key, manner);
  }
  void suspend(Key key) {
    if (live_.contains(key)) world_.machines.suspend(key);
  }
  void forget(Key key);
  void sweep(const std::function<bool(Key)>& is_current);
  bool holds(Key key) const { return live_.contains(key); }

 private:
  struct Shim {
    bool is_ours = true;  ///< Else it was adopted and cannot speak to us.
    bool has_go = false;
  };
  void on_news(Key key, News news);
  void on_started(Key key);
  void on_ended(Key key);
  void on_exit(Key key);
  void tell_end(Key key);

  World& world_;
  Hooks hooks_;
  std::map<Key, Shim> live_;
  Life life_ = new_life();
};

/// As daemon::Probe: one look at a time per GPU, another if it was asked for
/// meanwhile.
class Probe {
 public:
  Probe(World& world, const Launcher& launcher, std::function<Instant()> clock,
        std::function<void(live::Look)> deliver);

  void ask(const std::set<GpuId>& gpus);
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

  World& world_;
  const Launcher& launcher_;
  std::function<Instant()> clock_;
  std::function<void(live::Look)> deliver_;
  std::map<GpuId, int> asked_;  ///< How often since the look under way began.
  std::map<GpuId, Instant> began_;
  Life life_ = new_life();
};

/// As daemon::Syncer.
class Syncer {
 public:
  using Promise = std::function<void(const Expected<void>&)>;
  Syncer(World& world, const live::Keeper& keeper) : world_(world), keeper_(keeper) {}

  void after_sync(Promise promise);
  /// Keeps every promise.
  void run();

 private:
  Expected<void> sync();

  World& world_;
  const live::Keeper& keeper_;
  std::vector<Promise> promises_;
  Life life_ = new_life();
};

}  // namespace berth::dst
