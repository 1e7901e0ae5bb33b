#include "policy/whole/leases.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/members.hpp"
#include "policy/allocate/work_left.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/seats.hpp"

namespace berth {

namespace {

using SeatOfJob = std::map<JobId, Placement>;

struct LeasesMemory {
  Snapshot jobs;
  Leases::Memory leases;
  Instant next_pass = kStart;
  SeatOfJob seats;
};
inline auto members(LeasesMemory& v) { return std::tie(v.jobs, v.leases, v.next_pass, v.seats); }

bool is_sane(const LeasesMemory& memory) {
  return memory.next_pass >= kStart && is_sane(memory.leases) &&
         std::ranges::all_of(memory.seats, [](const auto& entry) {
           const auto& gpus = entry.second.gpus;
           return std::ranges::adjacent_find(gpus, std::greater_equal()) == gpus.end();
         });
}

/// True if it runs and may not be moved or stopped.
bool stays_put(const ClusterView& view, JobId id) {
  const Job* const job = view.find(id);
  return job != nullptr && is_running(job->state) && view.is_left_alone(view.job(id));
}

/// The places of jobs in a pass. Those of jobs that ended, but have their leases still, only count.
class LeasedPlaces final : public LeaseRoom {
 public:
  LeasedPlaces(const ClusterView& view, const Placer& placer, SeatOfJob& seats, GpuCount ended)
      : view_(view), placer_(placer), trial_(view.trial()), seats_(seats), ended_(ended) {
    clear(trial_, view);
    empty_ = trial_.mark();
    seat_again();
  }

  GpuCount free() override {
    if (is_stale_) seat_again();
    return std::max(GpuCount(0), trial_.use().vacant() - ended_);
  }
  bool take(const LeasedJob& job) override {
    if (stays_put(view_, job.id)) return true;
    if (ended_ > GpuCount(0) && job.gpus > free()) return false;
    return take_any(job.id);
  }
  void release(const LeasedJob& job) override {
    if (job.fate == LeasedJob::Fate::Ended) ended_ -= job.gpus;
    if (seats_.erase(job.id) > 0) is_stale_ = true;
  }

  /// Where it runs now.
  bool keep(JobId id) {
    if (is_stale_) seat_again();
    return seating_->keep(id, ask_of(view_.job(id))) && note();
  }
  /// There, or elsewhere.
  bool take_any(JobId id) {
    return keep(id) || (seating_->seat(id, ask_of(view_.job(id))) && note());
  }

  /// Places the same jobs so that few of them move. `jobs` in order of start.
  void settle(std::span<const JobId> jobs) {
    std::vector<Seat> seats;
    bool moves = false;
    for (const JobId id : jobs) {
      if (stays_put(view_, id)) continue;
      seats.push_back({.jobs = {id}, .ask = ask_of(view_.job(id)), .place = seats_.at(id)});
      const Job& job = *view_.find(id);
      moves = moves || (is_running(job.state) && placement_of(job.grant) != seats_.at(id));
    }
    if (!moves) return;
    trial_.rollback(empty_);
    Seating again(view_, placer_, trial_);
    for (const auto& [id, place] : seats_) {
      if (stays_put(view_, id)) again.stay(id);
    }
    for (Seat& seat : with_fewest_moves(std::move(seats), std::move(again))) {
      seats_[seat.jobs.front()] = std::move(seat.place);
    }
    seat_again();
  }

 private:
  bool note() {
    Seat seat = std::move(seating_->take().back());
    seats_[seat.jobs.front()] = std::move(seat.place);
    return true;
  }

  /// Jobs that must stay, then the others where they are; those that have no place there lose it.
  void seat_again() {
    is_stale_ = false;
    trial_.rollback(empty_);
    seating_.emplace(view_, placer_, trial_);
    for (const JobId id : view_.running()) {
      if (!stays_put(view_, id)) continue;
      seating_->stay(id);
      seats_[id] = placement_of(view_.find(id)->grant);
    }
    std::erase_if(seats_, [&](const auto& entry) { return !is_held(entry.first, entry.second); });
  }
  bool is_held(JobId id, const Placement& place) {
    if (!view_.knows(id)) return false;
    if (stays_put(view_, id)) return true;
    const Job& job = *view_.find(id);
    const bool is_there = is_running(job.state) && placement_of(job.grant) == place;
    return seating_->hold(id, ask_of(view_.job(id)), place) || (is_there && seating_->stay(id));
  }

  const ClusterView& view_;
  const Placer& placer_;
  Trial trial_;
  Trial::Mark empty_ = 0;
  SeatOfJob& seats_;
  std::optional<Seating> seating_;
  GpuCount ended_;
  bool is_stale_ = false;
};

class LeasePolicy final : public Policy {
 public:
  LeasePolicy(std::string_view name, const LeaseRules& rules, std::unique_ptr<Placer> placer)
      : name_(name), rules_(rules), placer_(std::move(placer)), leases_(rules) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, *placer_);
    drop_unknown_places(view.cluster());
    if (is_due(view.now())) pass(view);
    Decisions decisions = carry_out(view);
    jobs_.reject_impossible(decisions);
    const bool has_jobs = !jobs_.ids().empty() || !leases_.empty();
    if (has_jobs) decisions.wake_at = std::max(next_pass_, later(view.now(), Duration(1)));
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    return waits_its_turn(job, view, seats_.contains(job) ? What::Freed : What::Ahead);
  }

  Snapshot save() const override {
    return saved(LeasesMemory{.jobs = jobs_.save(),
                              .leases = leases_.memory(),
                              .next_pass = next_pass_,
                              .seats = seats_});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    LeasesMemory memory;
    const auto sane = [](const LeasesMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, name_, sane); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    leases_.remember(std::move(memory.leases));
    next_pass_ = memory.next_pass;
    seats_ = std::move(memory.seats);
    unchecked_ = true;
    return {};
  }

 private:
  void drop_unknown_places(const Cluster& cluster) {
    if (!std::exchange(unchecked_, false)) return;
    std::erase_if(seats_, [&](const auto& entry) { return !exists(entry.second, cluster); });
  }

  bool is_own() const { return rules_.form == LeaseRules::Form::Own; }
  /// No two passes are at one instant, so what comes after the first waits for the next period.
  bool is_due(Instant now) const {
    const bool has_changed = !jobs_.arrived().empty() || !jobs_.gone().empty();
    return leases_.may_pass(now) && (now >= next_pass_ || (is_own() && has_changed));
  }

  void pass(const ClusterView& view) {
    std::set<JobId> news;
    std::set<JobId> seated;
    for (const JobId id : jobs_.ids()) (asks_gpus(view, id) ? news : seated).insert(id);
    GpuCount ended(0);
    leases_.for_each_job([&](LeasedJob& job) {
      const bool is_there = news.erase(job.id) > 0;
      if (is_there && job.has_lease) seated.insert(job.id);
      if (!is_there && job.has_lease) ended += job.gpus;
    });
    std::erase_if(seats_, [&](const auto& entry) { return !seated.contains(entry.first); });
    LeasedPlaces places(view, *placer_, seats_, ended);
    leases_.for_each_job([&](LeasedJob& job) { look_at(view, job); });
    std::vector<LeasedJob> arrivals;
    for (const JobId id : jobs_.ids()) {
      if (news.contains(id)) arrivals.push_back(arrival(view, id));
    }
    leases_.pass(view.now(), quotas(view), arrivals, places);
    seat_others(view, places);
    next_pass_ = next_period(view.now());
  }

  static bool asks_gpus(const ClusterView& view, JobId id) {
    return view.job(id).request().gpu.count > GpuCount(0);
  }
  Instant next_period(Instant now) const {
    return later(now, rules_.period - now.time_since_epoch() % rules_.period);
  }

  void look_at(const ClusterView& view, LeasedJob& job) const {
    using Fate = LeasedJob::Fate;
    const Job* const there = view.find(job.id);
    job.fate = Fate::Ended;
    if (there == nullptr || !is_live(*there)) return;
    const JobView known = view.job(job.id);
    job.executed = known.progressed();
    job.left = work_left(known, job.executed);
    job.fate = stays_put(view, job.id)                     ? Fate::Stays
               : job.has_lease && !seats_.contains(job.id) ? Fate::NoPlace
                                                           : Fate::GoesOn;
  }

  static LeasedJob arrival(const ClusterView& view, JobId id) {
    const JobView job = view.job(id);
    LeasedJob leased{.id = id,
                     .user = job.user(),
                     .gpus = job.request().gpu.count,
                     .submitted = job.in_line_since(),
                     .executed = job.progressed(),
                     .since = job.in_line_since()};
    leased.left = work_left(job, leased.executed);
    if (stays_put(view, id)) leased.fate = LeasedJob::Fate::Stays;
    return leased;
  }

  /// By weight, of all users that are known, at least one GPU.
  std::map<UserId, GpuCount> quotas(const ClusterView& view) {
    std::map<UserId, GpuCount> quotas;
    for (const auto& [user, account] : view.accounts()) quotas[user] = {};
    for (const JobId id : jobs_.ids()) quotas[view.job(id).user()] = {};
    leases_.for_each_job([&](const LeasedJob& job) { quotas[job.user] = {}; });
    std::int64_t all = 0;
    for (const auto& [user, quota] : quotas) all += view.account(user).weight_milli;
    for (auto& [user, quota] : quotas) {
      const std::int64_t gpus = view.cluster().gpu_count().raw();
      quota = GpuCount(std::max(std::int64_t{1}, gpus * view.account(user).weight_milli / all));
    }
    return quotas;
  }

  /// Jobs without a lease run on where nobody got their GPUs, until the next pass; and jobs that
  /// ask for none run.
  void seat_others(const ClusterView& view, LeasedPlaces& places) {
    std::vector<JobId> leased;
    std::vector<JobId> without;
    leases_.for_each_job([&](const LeasedJob& job) {
      if (job.fate == LeasedJob::Fate::Ended) return;
      if (job.has_lease ? seats_.contains(job.id) : is_running(view.find(job.id)->state)) {
        (job.has_lease ? leased : without).push_back(job.id);
      }
    });
    places.settle(leased);
    for (const JobId id : without) {
      if (is_own() && !seats_.contains(id)) places.keep(id);
    }
    for (const JobId id : jobs_.ids()) {
      if (!asks_gpus(view, id) && !seats_.contains(id)) places.take_any(id);
    }
  }

  Decisions carry_out(const ClusterView& view) const {
    std::vector<JobId> jobs;
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs_.ids()) {
      const auto found = seats_.find(id);
      const Placement* const seat = found == seats_.end() ? nullptr : &found->second;
      const Job& job = *view.find(id);
      const bool is_there =
          holds_berth(job.state) && (stays_put(view, id) || stays_as_it_is(job, seat));
      if (is_there || (seat == nullptr && !holds_berth(job.state))) continue;
      jobs.push_back(id);
      places.push_back(seat == nullptr ? std::nullopt : std::optional(*seat));
    }
    return rearrange(view, jobs, places);
  }

  std::string name_;
  LeaseRules rules_;
  std::unique_ptr<Placer> placer_;
  JobList jobs_;  ///< In order of arrival.
  Leases leases_;
  Instant next_pass_ = kStart;
  SeatOfJob seats_;
  bool unchecked_ = false;  ///< As restored: seats may be of GPUs that are gone.
};

}  // namespace

std::unique_ptr<Policy> by_leases(std::string_view name, const LeaseRules& rules,
                                  std::unique_ptr<Placer> placer) {
  return std::make_unique<LeasePolicy>(name, rules, std::move(placer));
}

}  // namespace berth
