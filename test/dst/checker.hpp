// The invariants, from what the journal said, what users were told and what is
// true.
//
// It keeps books of its own and asks the engine only for its state. What is
// true in one entry of the journal is forgotten when a power loss takes that
// entry away.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dst/machines.hpp"
#include "dst/plan.hpp"
#include "dst/report.hpp"
#include "live/keeper.hpp"

namespace berth::dst {

/// A step as a daemon took it.
struct Step {
  const live::Keeper& keeper;
  Instant now;
  const std::vector<Input>& inputs;
  const Effects& effects;
  const std::map<GpuId, Instant>& looked;  ///< When the latest look at each GPU began.
  const std::set<GpuId>& bad;              ///< GPUs the daemon has found broken.
};

enum class After : std::uint8_t { Exit, Kill, PowerLoss };

class Checker {
 public:
  Checker(const Plan& plan, Machines& machines, Report& report)
      : plan_(plan), machines_(machines), report_(report) {}

  // What users were told.
  void accepted(JobId job, std::size_t script);
  void cancelled(JobId job) { cancelled_.insert(job); }

  void stepped(const Step& step);
  /// Everything so far is on the disk.
  void synced() { durable_ = entry_; }
  /// What a daemon will find. To be told before it opens the journal and,
  /// maybe, goes on in it.
  void found(const std::string& journal, After after);
  /// An engine that came back from that. `rules`: which it follows; they count
  /// up.
  void recovered(const live::Keeper& keeper, After after, int rules);
  /// All is over.
  void ended(const live::Keeper& keeper);

  /// Whether there is something that must not be lost.
  bool promises_anything() const { return durable_ > 0; }
  const std::map<JobId, std::size_t>& jobs() const { return accepted_; }
  std::map<Outcome, int> outcomes() const;

 private:
  struct Ended {
    std::int64_t entry = 0;
    Outcome outcome = Outcome::Done;
  };

  void broken(const std::string& what) { report_.broken(what); }
  void check_engine(const Step& step);
  void check_left(const Engine& engine, GpuId lost);
  void check(const Step& step, const Launch& launch);
  void note_adoption(const Step& step, JobId id);
  void check(const Step& step, const Continue& resumed);
  void check(const Step& step, const Stop& stop);
  void check(const Step& step, const Finished& finished);
  void check(const Step&, const Hurt&) {}
  void check(const Step&, const Spoiled&) {}
  void check(const Step&, const Consult&) {}
  void check_grant(const Step& step, Key key, const Grant& grant);
  void believe(const Engine& engine, const Grant& grant);
  void check_room(const Engine& engine, Key key, const Share& share);
  void check_look(const Step& step, GpuId gpu);
  void check_health(const Step& step, Key key, GpuId gpu);
  void check_charges(const Engine& engine);
  void check_accepted(const Engine& engine);
  void check_row(const live::Keeper& keeper, JobId job);
  void go_back_to(std::int64_t entry);
  void learn(const live::Keeper& keeper);

  const Plan& plan_;
  Machines& machines_;
  Report& report_;
  std::int64_t entry_ = 0;    ///< The latest in the journal.
  std::int64_t durable_ = 0;  ///< The latest that a power loss leaves.
  struct State {
    int rules = 0;
    std::size_t hash = 0;  ///< Of the engine.
  };
  std::map<std::int64_t, State> states_;  ///< After each entry.
  int rules_ = 0;
  Instant last_ = kStart;
  std::map<JobId, std::size_t> accepted_;  ///< With its script.
  std::set<JobId> cancelled_;
  std::map<JobId, Ended> ended_;
  std::map<Key, std::int64_t> granted_;  ///< With the entry.
  std::map<Key, std::int64_t> started_;
};

}  // namespace berth::dst
