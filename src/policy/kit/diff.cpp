#include "policy/kit/diff.hpp"

#include <algorithm>

#include "policy/kit/filler.hpp"
#include "policy/kit/tally.hpp"

namespace berth {

namespace {

/// Calls keep(position, job) for those that must not give way, and so go before all others.
template <class Keep>
void for_each_left_alone(const ClusterView& view, std::span<const Job* const> jobs, Keep keep) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobView job(*jobs[i], view.now());
    if (view.is_left_alone(job)) keep(i, job);
  }
}

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

/// Where each job would be if the cluster were filled from nothing; no place for those that do not
/// fit.
std::vector<std::optional<Placement>> fill(const ClusterView& view,
                                           std::span<const Job* const> jobs, const Placer& placer) {
  Trial trial = view.trial();
  for (const JobId id : view.running()) trial.take(view.find(id)->grant);
  Tally tally(view, Tally::From::Nothing);
  std::vector<std::optional<Placement>> places(jobs.size());
  for_each_left_alone(view, jobs, [&](std::size_t i, const JobView& job) {
    trial.put(job.grant());
    tally.take(job.id(), job.gpus());
    places[i] = placement_of(job.grant());
  });
  Filler filler(placer, trial);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (places[i]) continue;
    const JobView job = view.job(jobs[i]->id);
    const Ask ask = ask_of(job);
    if (!tally.allows(job.id(), ask.gpus())) continue;
    places[i] = filler.place(ask, job.id());
    if (!places[i]) continue;
    trial.put(ask, *places[i]);
    tally.take(job.id(), ask.gpus());
  }
  return places;
}

bool is_at(const Grant& grant, const Placement& place) {
  return grant.host == place.host && std::ranges::equal(grant.shares, place.gpus, {}, &Share::gpu);
}

/// One that was adopted is where it is, whatever the policy had in mind when it came.
bool may_leave(const Job& job) { return is_running(job.state) && !is_adopted(job.spec); }

Decisions lead_to(const ClusterView& view, std::span<const Job* const> jobs,
                  std::span<const std::optional<Placement>> places) {
  Decisions decisions;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!places[i] && may_leave(*jobs[i])) decisions.list.push_back(Preempt{.job = jobs[i]->id});
  }
  Starter starter(view);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = *jobs[i];
    if (!places[i]) continue;
    if (is_waiting(job.state)) {
      starter.start_at(job, *places[i], decisions);
    } else if (may_leave(job) && !is_at(job.grant, *places[i])) {
      decisions.list.push_back(Migrate{.job = job.id, .placement = *places[i]});
    }
  }
  return decisions;
}

/// As only_number_matters(), within a loop over all jobs.
inline bool is_of_number_alone(const Job& job) {
  const Request& request = job.spec.request;
  const GpuRequest& gpu = request.gpu;
  return gpu.sharing == Sharing::Alone && gpu.vram == Bytes(0) && gpu.count > GpuCount(0) &&
         !is_choosy(gpu) && job.barred == 0 && job.rooted == 0 && request.cpu == CpuMilli(0) &&
         request.host == Bytes(0) && (holds_berth(job.state) || job.home.is_default());
}

Repacked repack_by_place(const ClusterView& view, std::span<const Job* const> jobs,
                         const Placer& placer) {
  const auto places = fill(view, jobs, placer);
  Repacked repacked{.wanted = std::vector<bool>(jobs.size()), .decisions = {}};
  for (std::size_t i = 0; i < jobs.size(); ++i) repacked.wanted[i] = places[i].has_value();
  repacked.decisions = lead_to(view, jobs, places);
  return repacked;
}

}  // namespace

bool only_number_matters(const Job& job) { return is_of_number_alone(job); }

Repacked repack(const ClusterView& view, std::span<const JobId> list, const Placer& placer) {
  std::vector<const Job*> jobs;
  std::vector<Counted> counted;
  jobs.reserve(list.size());
  counted.reserve(list.size());
  bool by_number = placer.is_fungible();
  GpuCount held(0);
  for (const JobId id : list) {
    const Job* const job = view.find(id);
    by_number = by_number && is_of_number_alone(*job);
    const bool holds = holds_berth(job->state);
    const GpuCount gpus = holds ? job->grant.gpus() : job->spec.request.gpu.count;
    if (holds) held += gpus;
    jobs.push_back(job);
    counted.push_back({.gpus = gpus, .runs = is_running(job->state)});
  }
  return by_number ? repack_by_number(view, jobs, counted, held, placer)
                   : repack_by_place(view, jobs, placer);
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
  std::vector<const Job*> jobs;
  jobs.reserve(list.size());
  for (const JobId id : list) jobs.push_back(view.find(id));
  return lead_to(view, jobs, places);
}

}  // namespace berth
