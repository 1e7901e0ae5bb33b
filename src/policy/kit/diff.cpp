#include "policy/kit/diff.hpp"

#include <algorithm>
#include <utility>

#include "policy/kit/filler.hpp"
#include "policy/kit/tally.hpp"

namespace berth {

namespace {

void start(const Job& job, Placement placement, Decisions& decisions) {
  decisions.list.push_back(Start{.job = job.id, .placement = std::move(placement)});
}

/// Starts those wanted that wait and fit beside what is there.
class Starter {
 public:
  explicit Starter(const ClusterView& view)
      : view_(view), trial_(view.trial()), tally_(view, Tally::From::Now) {}

  void place_and_start(const Job& job, const Placer& placer, Decisions& decisions) {
    const Ask ask = ask_of(view_.job(job.id));
    if (!tally_.allows(job.id, ask.gpus())) return;
    if (Placed placed = placer.place(ask, job.id, trial_)) {
      take(job, ask, *placed);
      start(job, std::move(*placed), decisions);
    }
  }
  void start_at(const Job& job, const Placement& placement, Decisions& decisions) {
    const GpuCount gpus(std::ssize(placement.gpus));
    const GpuRequest& asked = job.spec.request.gpu;
    if (gpus < asked.least() || gpus > asked.most() || !tally_.allows(job.id, gpus)) return;
    const Ask ask = ask_of(view_.job(job.id), gpus);
    if (trial_.look(placement, ask, job.id) != Why::Fits) return;
    take(job, ask, placement);
    start(job, placement, decisions);
  }

 private:
  void take(const Job& job, const Ask& ask, const Placement& placement) {
    trial_.put(ask, placement);
    tally_.take(job.id, ask.gpus());
  }

  const ClusterView& view_;
  Trial trial_;
  Tally tally_;
};

/// Of each job of a list what counts where only numbers do: thousands are gone through at each
/// decision, more than once, and a job is large.
struct Counted {
  GpuCount gpus;  ///< One that stays keeps what it holds.
  bool runs = false;
};

/// `held` GPUs have tenants among the jobs.
Repacked repack_by_number(const ClusterView& view, std::span<const Job* const> jobs,
                          std::span<const Counted> counted, GpuCount held, const Placer& placer) {
  Repacked repacked{.wanted = std::vector<bool>(jobs.size()), .decisions = {}};
  GpuCount free = view.use().vacant() + held;
  const bool limited = view.settings().has_limits();  // most often none
  Tally tally(view, Tally::From::Nothing);
  const auto take = [&](std::size_t i) {
    repacked.wanted[i] = true;
    free -= counted[i].gpus;
    if (limited) tally.take(jobs[i]->id, counted[i].gpus);
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool stays = counted[i].runs && view.is_left_alone(JobView(*jobs[i], view.now()));
    if (stays) take(i);
  }
  std::vector<const Job*> starts;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (repacked.wanted[i]) continue;
    const auto& [gpus, runs] = counted[i];
    if (gpus <= free && (!limited || tally.allows(jobs[i]->id, gpus))) {
      take(i);
      if (!runs && is_waiting(jobs[i]->state)) starts.push_back(jobs[i]);
    } else if (runs) {
      repacked.decisions.list.push_back(Preempt{.job = jobs[i]->id});
    }
  }
  if (starts.empty()) return repacked;
  Starter starter(view);
  for (const Job* job : starts) starter.place_and_start(*job, placer, repacked.decisions);
  return repacked;
}

/// A job that runs or is to run.
struct Wanted {
  const Job* job;
  std::size_t position;  ///< In the list.
  std::optional<Placement> place;
};

bool is_at(const Grant& grant, const Placement& place) {
  return grant.host == place.host && std::ranges::equal(grant.shares, place.gpus, {}, &Share::gpu);
}

/// One that was adopted is where it is, whatever the policy had in mind when it came.
bool may_leave(const Job& job) { return is_running(job.state) && !is_adopted(job.spec); }

Decisions lead_to(const ClusterView& view, std::span<const Wanted> jobs) {
  Decisions decisions;
  for (const Wanted& wanted : jobs) {
    const bool goes = !wanted.place && may_leave(*wanted.job);
    if (goes) decisions.list.push_back(Preempt{.job = wanted.job->id});
  }
  Starter starter(view);
  for (const auto& [job, position, place] : jobs) {
    if (!place) continue;
    if (is_waiting(job->state)) {
      starter.start_at(*job, *place, decisions);
    } else if (may_leave(*job) && !is_at(job->grant, *place)) {
      decisions.list.push_back(Migrate{.job = job->id, .placement = *place});
    }
  }
  return decisions;
}

/// Fills the cluster from nothing.
class Fill {
 public:
  Fill(const ClusterView& view, const Placer& placer)
      : view_(view),
        trial_(view.trial()),
        tally_(view, Tally::From::Nothing),
        filler_(placer, trial_) {
    for (const JobId id : view.running()) trial_.take(view.find(id)->grant);
  }

  /// Jobs that must not give way, where they are: before all others.
  void keep_left_alone(std::span<Wanted> holders) {
    for (Wanted& one : holders) {
      const JobView job(*one.job, view_.now());
      if (!view_.is_left_alone(job)) continue;
      trial_.put(job.grant());
      tally_.take(job.id(), job.gpus());
      one.place = placement_of(job.grant());
    }
  }
  enum class Found : std::uint8_t { Place, NotForIt, NotForItsKind };
  Found place(Wanted& one) {
    const JobView job(*one.job, view_.now());
    const Ask ask = ask_of(job);
    if (!tally_.allows(job.id(), ask.gpus())) return Found::NotForIt;
    one.place = filler_.place(ask, job.id());
    if (!one.place) return trial_.has_holds() ? Found::NotForIt : Found::NotForItsKind;
    trial_.put(ask, *one.place);
    tally_.take(job.id(), ask.gpus());
    return Found::Place;
  }

 private:
  const ClusterView& view_;
  Trial trial_;
  Tally tally_;
  Filler filler_;
};

/// The jobs that hold a berth or get a place if the cluster is filled from nothing, in the order of
/// the list. Most others are not looked at.
std::vector<Wanted> fill(const ClusterView& view, std::span<const JobId> list, const Placer& placer,
                         AskKinds& kinds) {
  std::vector<AskKinds::Kind> kind_of;
  kind_of.reserve(list.size());
  std::vector<Wanted> holders;
  for (std::size_t i = 0; i < list.size(); ++i) {
    kind_of.push_back(kinds.of(list[i], view));
    if (kind_of[i] == AskKinds::kNone) holders.push_back({view.find(list[i]), i, {}});
  }
  Fill cluster(view, placer);
  cluster.keep_left_alone(holders);
  std::vector<bool> refused(kinds.size());
  std::vector<Wanted> wanted;
  wanted.reserve(2 * holders.size());
  auto holder = holders.begin();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const AskKinds::Kind kind = kind_of[i];
    if (kind == AskKinds::kNone) {
      Wanted& one = wanted.emplace_back(std::move(*holder++));
      if (!one.place) cluster.place(one);
    } else if (!refused[kind]) {
      Wanted one{view.find(list[i]), i, {}};
      refused[kind] = cluster.place(one) == Fill::Found::NotForItsKind;
      if (one.place) wanted.push_back(std::move(one));
    }
  }
  return wanted;
}

/// As only_number_matters(), within a loop over all jobs.
inline bool is_of_number_alone(const Job& job) {
  const Request& request = job.spec.request;
  const GpuRequest& gpu = request.gpu;
  return gpu.sharing == Sharing::Alone && gpu.vram == Bytes(0) && gpu.count > GpuCount(0) &&
         !is_choosy(gpu) && job.barred == 0 && job.rooted == 0 && request.cpu == CpuMilli(0) &&
         request.host == Bytes(0) && (holds_berth(job.state) || job.home.is_default());
}

Repacked repack_by_place(const ClusterView& view, std::span<const JobId> list, const Placer& placer,
                         AskKinds& kinds) {
  const std::vector<Wanted> wanted = fill(view, list, placer, kinds);
  Repacked repacked{.wanted = std::vector<bool>(list.size()), .decisions = lead_to(view, wanted)};
  for (const Wanted& one : wanted) repacked.wanted[one.position] = one.place.has_value();
  return repacked;
}

}  // namespace

bool only_number_matters(const Job& job) { return is_of_number_alone(job); }

void Repacker::follow(const ClusterView& view, std::span<const Event> events) {
  kinds_.follow(view, events);
}

Repacked Repacker::repack(const ClusterView& view, std::span<const JobId> list,
                          const Placer& placer) {
  if (!placer.is_fungible()) return repack_by_place(view, list, placer, kinds_);
  std::vector<const Job*> jobs;
  std::vector<Counted> counted;
  jobs.reserve(list.size());
  counted.reserve(list.size());
  GpuCount held(0);
  for (const JobId id : list) {
    const Job* const job = view.find(id);
    if (!is_of_number_alone(*job)) return repack_by_place(view, list, placer, kinds_);
    const bool holds = holds_berth(job->state);
    const GpuCount gpus = holds ? job->grant.gpus() : job->spec.request.gpu.count;
    if (holds) held += gpus;
    jobs.push_back(job);
    counted.push_back({.gpus = gpus, .runs = is_running(job->state)});
  }
  return repack_by_number(view, jobs, counted, held, placer);
}

Refused waits_its_turn(JobId job, const ClusterView& view, GateWord::What what) {
  const Ask ask = ask_of(view.job(job));
  if (!Tally(view, Tally::From::Now).allows(job, ask.gpus())) {
    return {.ask = ask, .refusal = {.why = Why::Limit}};
  }
  return {.ask = ask, .refusal = {.why = Why::Order, .gate = {.what = what}}};
}

bool stays_as_it_is(const Job& job, const Placement* place) {
  return !may_leave(job) || (place != nullptr && is_at(job.grant, *place));
}

Decisions rearrange(const ClusterView& view, std::span<const JobId> list,
                    std::span<const std::optional<Placement>> places) {
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Job* const job = view.find(list[i]);
    if (places[i] || holds_berth(job->state)) wanted.push_back({job, i, places[i]});
  }
  return lead_to(view, wanted);
}

}  // namespace berth
