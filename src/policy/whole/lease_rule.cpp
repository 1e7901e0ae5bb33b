#include "policy/whole/lease_rule.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr std::int64_t kHoursSeen = 24;
constexpr Duration kHour = hours(1);

/// At most the largest 64-bit number. Requires: neither is negative.
std::int64_t ratio(std::int64_t part, Wide of) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (of == 0) return part == 0 ? 0 : kMost;
  return static_cast<std::int64_t>(std::min(Wide{part} * kWholeRatio / of, Wide{kMost}));
}

struct Fraction {
  Wide part = 1;
  Wide of = 1;
};
bool operator<(const Fraction& a, const Fraction& b) { return a.part * b.of < b.part * a.of; }

Fraction use_of(const Leases::Sums& sums) {
  if (sums.quota == GpuTime(0)) return {};
  return {.part = sums.used.raw(), .of = sums.quota.raw()};
}

/// Of the last whole hours.
Leases::Sums recent(const Leases::Use& use) {
  Leases::Sums all;
  for (const auto& hour : use.hours) all.add(hour);
  return all;
}

Instant hour_of(Instant at) { return at - at.time_since_epoch() % kHour; }

}  // namespace

std::int64_t fairness_of(const LeasedJob& job, Instant now) {
  if (job.deserved == GpuTime(0)) return 0;
  return ratio(std::max(GpuTime(0), job.used(now)).raw(), job.deserved.raw());
}

std::int64_t fairness_class(std::int64_t fairness) {
  // ASTRAEA takes h = -ln f / sqrt(1 + ln^2 f) and cuts [-1, 1] into five equal parts: at
  // h = 3/5 is f = exp(-3/4), at 1/5 exp(-1/sqrt(24)), and so on.
  constexpr auto kBounds = std::to_array<std::int64_t>(
      {519'372'517'311, 896'499'056'142, 1'348'496'477'862, 2'327'666'134'267});
  if (fairness == 0) return 0;
  return 1 + (std::ranges::upper_bound(kBounds, fairness) - kBounds.begin());
}

std::int64_t rho_of(const LeasedJob& job, Instant now) {
  if (job.deserved == GpuTime(0)) return kWholeRatio;
  const std::int64_t life = micros(std::max(job.executed, now - job.submitted));
  const Wide fair = Wide{micros(job.executed)} * job.used(now).raw() / job.deserved.raw();
  return ratio(life, fair + life - micros(job.executed) + micros(job.left));
}

void Leases::Sums::add(const Sums& more) {
  used = sum_of(used, more.used);
  quota = sum_of(quota, more.quota);
  deserved = sum_of(deserved, more.deserved);
}

/// A user in a pass.
struct Leases::Desk {
  UserId user;
  GpuCount quota;
  Use* use;
  std::int64_t jobs = 0;
  GpuCount asked{0};                   ///< By its jobs, together.
  GpuCount running{0};                 ///< Of that, by those with leases.
  std::vector<LeasedJob*> line = {};   ///< That wait, the first in order first.
  std::vector<LeasedJob*> young = {};  ///< Whose leases may be taken back, the first to lose last.
  std::size_t starving = 0;            ///< Of its line.
  std::size_t started = 0;
  GpuCount limit{0};  ///< It may have so many GPUs.
};

namespace {

template <class Desks>
auto& desk_of(Desks& desks, const LeasedJob& job) {
  return *std::ranges::lower_bound(desks, job.user, {}, [](const auto& desk) { return desk.user; });
}

}  // namespace

LeasePass Leases::pass(Instant now, const std::map<UserId, GpuCount>& quotas,
                       std::span<const LeasedJob> arrivals, LeaseRoom& room) {
  LeasePass done;
  Desks all = desks(quotas);
  count(now, all);
  end_leases(now, room, done);
  waiting_.insert(waiting_.end(), arrivals.begin(), arrivals.end());
  line_up(now, all);
  do {
    lend(room.free(), all);
  } while (start(now, room, all, done));
  sort_out(done);
  return done;
}

Leases::Desks Leases::desks(const std::map<UserId, GpuCount>& quotas) {
  std::erase_if(uses_, [&](const auto& entry) { return !quotas.contains(entry.first); });
  Desks all;
  for (const auto& [user, quota] : quotas) {
    all.push_back({.user = user, .quota = quota, .use = &uses_[user]});
  }
  return all;
}

/// What was used and deserved since the pass before.
void Leases::count(Instant now, Desks& all) {
  for_each_job([&](const LeasedJob& job) {
    Desk& desk = desk_of(all, job);
    ++desk.jobs;
    desk.asked += job.gpus;
    if (job.has_lease) desk.running += job.gpus;
  });
  const Instant until = later(now, rules_.period);
  for_each_job([&](LeasedJob& job) {
    const Desk& desk = desk_of(all, job);
    const Duration time = until - seen_until_;
    const Wide shared = (Wide{(desk.quota * time).raw()} + desk.jobs / 2) / desk.jobs;
    const GpuTime most(static_cast<std::int64_t>(shared));
    job.deserved = sum_of(job.deserved, std::min(job.gpus * time, most));
  });
  // Older hours would not be seen.
  Instant from = std::max(seen_until_, hour_of(until) - kHour * kHoursSeen);
  while (from < until) {
    const bool begins_hour = from == hour_of(from) && from > kStart;
    const Duration time = std::min(until, hour_of(from) + kHour) - from;
    for (Desk& desk : all) {
      Use& use = *desk.use;
      if (begins_hour) use.hours.push_back(std::exchange(use.hour, {}));
      if (std::ssize(use.hours) > kHoursSeen) use.hours.erase(use.hours.begin());
      use.hour.add({.used = desk.running * time,
                    .quota = desk.quota * time,
                    .deserved = std::min(desk.asked, desk.quota) * time});
    }
    from += time;
  }
  seen_until_ = until;
}

void Leases::end_leases(Instant now, LeaseRoom& room, LeasePass& done) {
  using Fate = LeasedJob::Fate;
  std::vector<LeasedJob> stay;
  std::vector<LeasedJob> wait;
  for (LeasedJob& job : waiting_) {
    if (job.fate == Fate::Stays) job.has_lease = true, job.since = now;
    if (job.fate != Fate::Ended) (job.has_lease ? stay : wait).push_back(job);
  }
  bool passes_over = false;
  for (LeasedJob& job : leased_) {
    const bool is_over = job.fate == Fate::Ended || job.fate == Fate::NoPlace ||
                         (job.fate == Fate::GoesOn && job.in_lease(now) >= rules_.lease);
    if (std::exchange(passes_over, false) || !is_over) {
      stay.push_back(job);
      continue;
    }
    passes_over = rules_.form == LeaseRules::Form::Artifact;
    room.release(job);
    if (job.fate == Fate::Ended) {
      done.ended.push_back(job);
      continue;
    }
    job.has_lease = false;
    job.lapsed = true;
    job.since = now;
    done.lapsed.push_back(job.id);
    wait.push_back(job);
  }
  leased_ = std::move(stay);
  waiting_ = std::move(wait);
}

/// The jobs of each user that wait and that may lose their leases, each in order.
void Leases::line_up(Instant now, Desks& all) {
  const auto is_starving = [&](const LeasedJob& job) {
    return now - job.since >= rules_.starvation;
  };
  for (Desk& desk : all) desk.running = GpuCount(0);
  for (LeasedJob& job : leased_) {
    Desk& desk = desk_of(all, job);
    desk.running += job.gpus;
    const bool is_tried = job.lapsed || job.in_lease(now) >= rules_.tried;
    const bool is_young = is_tried && job.in_lease(now) < rules_.young;
    if (is_young && job.fate == LeasedJob::Fate::GoesOn) desk.young.push_back(&job);
  }
  for (LeasedJob& job : waiting_) {
    Desk& desk = desk_of(all, job);
    job.rho = rho_of(job, now);
    desk.starving += is_starving(job) ? 1 : 0;
    desk.line.push_back(&job);
  }
  const auto rank = [&](const LeasedJob* job) { return rules_.rank(*job, now); };
  const auto place = [&](const LeasedJob* job) {
    const LeaseRank starving{micros(job->submitted)};
    return is_starving(*job) ? std::pair(0, starving) : std::pair(1, rank(job));
  };
  for (Desk& desk : all) {
    std::ranges::stable_sort(desk.line, {}, place);
    std::ranges::stable_sort(desk.young, std::greater(), rank);
    std::ranges::reverse(desk.young);
  }
}

/// How many GPUs each user may have: those it has, and of the free ones what it is lent. Each in
/// turn is lent what its next job asks for that fits: first who has least of its quota, below a
/// fifth of it; then who used least of its quota lately, what it is lent now included.
void Leases::lend(GpuCount free, Desks& all) const {
  if (rules_.quotas == LeaseRules::Quotas::Fixed) {
    // A job larger than the quota would never run.
    for (Desk& desk : all) {
      desk.limit = desk.line.empty() ? desk.quota : std::max(desk.quota, desk.line.front()->gpus);
    }
    return;
  }
  struct Borrower {
    Desk* desk;
    Sums sums;
    Fraction used;
    std::size_t next = 0;  ///< In the line.

    Fraction held() const { return {.part = desk->limit.raw(), .of = desk->quota.raw()}; }
  };
  std::vector<Borrower> borrowers;
  for (Desk& desk : all) {
    desk.limit = desk.running;
    const Sums sums = recent(*desk.use);
    if (!desk.line.empty())
      borrowers.push_back({.desk = &desk, .sums = sums, .used = use_of(sums)});
  }
  while (free > GpuCount(0) && !borrowers.empty()) {
    auto next = std::ranges::min_element(borrowers, std::less(), &Borrower::held);
    if (!(next->held() < Fraction{.part = 1, .of = 5})) {
      next = std::ranges::min_element(borrowers, std::less(), &Borrower::used);
    }
    Desk& desk = *next->desk;
    const auto fits = [&](const LeasedJob* job) { return job->gpus <= free; };
    const auto from = desk.line.begin() + static_cast<std::ptrdiff_t>(next->next);
    const auto found = std::find_if(from, desk.line.end(), fits);
    next->next = static_cast<std::size_t>(found - desk.line.begin()) + 1;
    if (found != desk.line.end()) {
      const GpuCount gpus = (*found)->gpus;
      desk.limit += gpus;
      free -= gpus;
      next->sums.used = sum_of(next->sums.used, gpus * rules_.lease);
      Sums with = next->sums;
      with.quota = sum_of(with.quota, desk.quota * rules_.lease);
      next->used = use_of(with);
    }
    if (next->next >= desk.line.size()) borrowers.erase(next);
  }
}

/// Returns: whether a job that might have run had no place, so that others may have its GPUs.
bool Leases::start(Instant now, LeaseRoom& room, Desks& all, LeasePass& done) {
  bool lacked_place = false;
  for (Desk& desk : all) {
    std::vector<LeasedJob*> line = std::exchange(desk.line, {});
    for (auto next = line.begin(); next != line.end(); ++next) {
      LeasedJob& job = **next;
      const bool may_run = make_way(job, now, room, desk, done);
      if (may_run && room.take(job)) {
        ++desk.started;
        job.has_lease = true;
        job.since = now;
        desk.running += job.gpus;
        done.started.push_back(job.id);
        continue;
      }
      lacked_place = lacked_place || may_run;
      const bool ends_turn =
          rules_.behind == LeaseRules::Behind::Wait || desk.starving > desk.started;
      // Those that lack GPUs of their user's are asked again if another lacks a place.
      if (!may_run) desk.line.insert(desk.line.end(), next, ends_turn ? line.end() : next + 1);
      if (ends_turn) break;
    }
  }
  return lacked_place;
}

/// Takes leases back so that a job that never ran may. Returns: whether its user may have so many
/// GPUs more.
bool Leases::make_way(const LeasedJob& job, Instant now, LeaseRoom& room, Desk& desk,
                      LeasePass& done) {
  const auto fits = [&](GpuCount back) { return desk.running + job.gpus <= desk.limit + back; };
  const bool is_new = job.executed == Duration::zero() && !job.taken_back;
  if (!is_new || rules_.quotas == LeaseRules::Quotas::Fixed) return fits(GpuCount(0));
  GpuCount most(0);
  for (const LeasedJob* other : desk.young) most += other->gpus;
  if (rules_.form == LeaseRules::Form::Own && !fits(most)) return false;
  while (!fits(GpuCount(0)) && !desk.young.empty()) {
    LeasedJob& other = *desk.young.back();
    desk.young.pop_back();
    room.release(other);
    other.has_lease = false;
    other.taken_back = true;
    other.since = now;
    desk.running -= other.gpus;
    done.taken_back.push_back(other.id);
  }
  return fits(GpuCount(0));
}

/// Moves jobs between the lists, to the end of each in the order in which the pass went.
void Leases::sort_out(const LeasePass& done) {
  const auto move = [](std::vector<LeasedJob>& from, std::vector<LeasedJob>& to, const auto& ids,
                       const auto& goes) {
    const auto gone = std::ranges::stable_partition(from, std::not_fn(goes));
    std::map<JobId, LeasedJob> moved;
    for (const LeasedJob& job : gone) moved[job.id] = job;
    from.erase(gone.begin(), gone.end());
    for (const JobId id : ids) to.push_back(moved.at(id));
  };
  std::vector<LeasedJob> back;
  move(leased_, back, done.taken_back, [](const LeasedJob& job) { return !job.has_lease; });
  move(waiting_, leased_, done.started, &LeasedJob::has_lease);
  waiting_.insert(waiting_.end(), back.begin(), back.end());
}

double Leases::long_term_fairness(UserId user) const {
  const Sums sums = recent(uses_.at(user));
  return static_cast<double>(sums.used.raw()) / static_cast<double>(sums.deserved.raw());
}

void Leases::remember(Memory memory) {
  leased_ = std::move(memory.leased);
  waiting_ = std::move(memory.waiting);
  uses_ = std::move(memory.uses);
  seen_until_ = memory.seen_until;
}

bool is_sane(const Leases::Memory& memory) {
  constexpr Duration kMostTime = hours(24) * 365 * 150;
  constexpr GpuCount kMostGpus(std::int64_t{1} << 32);
  const auto is_service = [](GpuTime time) { return time >= GpuTime(0); };
  const auto is_time = [&](Duration time) { return time >= Duration::zero() && time <= kMostTime; };
  const auto is_instant = [&](Instant at) { return is_time(at - kStart); };
  std::set<JobId> ids;
  const auto is_job = [&](const LeasedJob& job) {
    return ids.insert(job.id).second && job.gpus >= GpuCount(0) && job.gpus <= kMostGpus &&
           is_instant(job.submitted) && is_instant(job.since) && is_service(job.deserved) &&
           job.rho >= 0 && memory.uses.contains(job.user);
  };
  const auto are_sums = [&](const Leases::Sums& sums) {
    return is_service(sums.used) && is_service(sums.quota) && is_service(sums.deserved);
  };
  const auto is_use = [&](const auto& entry) {
    const Leases::Use& use = entry.second;
    return are_sums(use.hour) && std::ssize(use.hours) <= kHoursSeen &&
           std::ranges::all_of(use.hours, are_sums);
  };
  const auto has_lease = [](const LeasedJob& job) { return job.has_lease; };
  return is_instant(memory.seen_until) && std::ranges::all_of(memory.leased, is_job) &&
         std::ranges::all_of(memory.leased, has_lease) &&
         std::ranges::all_of(memory.waiting, is_job) &&
         std::ranges::none_of(memory.waiting, has_lease) &&
         std::ranges::all_of(memory.uses, is_use);
}

}  // namespace berth
