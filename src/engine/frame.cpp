// The bytes of a snapshot may be anybody's. Every amount is kept far from the ends of 64 bits, and
// so is every sum of them, so that what is built from a frame can be computed with.
#include "engine/frame.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/limits.hpp"
#include "engine/awaited.hpp"
#include "engine/possible.hpp"

namespace berth {

namespace {

using Fault = std::optional<std::string>;

constexpr std::int64_t kMost = std::int64_t{1} << 60;      ///< Of any amount, and of any sum.
constexpr std::int64_t kMostTime = std::int64_t{1} << 53;  ///< 285 years, of microseconds.
constexpr std::int64_t kMostCount = std::int64_t{1} << 30;
constexpr std::size_t kMostVacancies = std::size_t{1} << 26;  ///< Nodes x GPUs of the largest.

/// What the clock says, or somebody states, may have much added to it.
static_assert(kMostTime > micros(limits::kLastInstant + limits::kLongestTime));
static_assert(kMostTime <= kMost / static_cast<std::int64_t>(Company::kMostMeetings) * 2);

bool is_amount(std::int64_t value) { return value >= 0 && value <= kMost; }
template <class Tag>
bool is_amount(Quantity<Tag> value) {
  return is_amount(value.raw());
}
bool is_age(Duration value) { return value >= Duration::zero() && micros(value) <= kMostTime; }
/// Of a run, stated or learned: policies multiply it by GPUs and by weights.
bool is_span(Duration value) {
  return value == kForever || (value >= Duration::zero() && value <= limits::kLongestTime);
}
bool is_time(Instant value) { return micros(value) >= -kMostTime && micros(value) <= kMostTime; }

/// A sum that stays within kMost, or says that it does not.
class Total {
 public:
  /// Returns: whether `count` times `value` could be added.
  bool add(std::int64_t value, std::int64_t count = 1) {
    if (value < 0 || count < 0 || (count > 0 && value > (kMost - sum_) / count)) return false;
    sum_ += value * count;
    return true;
  }

 private:
  std::int64_t sum_ = 0;
};

// ---- The cluster -----------------------------------------------------------------------------

bool is_sane(const NodeShape& shape) {
  const NodeShape plain;
  const bool no_gpus = shape.vram == plain.vram && shape.context == plain.context &&
                       shape.type == plain.type && shape.share_mode == plain.share_mode &&
                       shape.slots == plain.slots;  // a node without GPUs has nothing to say
  if (!are_links(shape.links, shape.gpus)) return false;
  return is_amount(shape.vram) && is_amount(shape.context) && is_amount(shape.cpu) &&
         is_amount(shape.host) && (shape.gpus > 0 || no_gpus);
}

Fault cluster_fault(const Frame& frame) {
  if (frame.nodes.size() != frame.cluster.size()) return "health of other nodes";
  std::size_t gpus = 0;
  std::size_t largest = 0;
  Total vram;
  std::set<std::string> types;
  for (const NodeRecord& record : frame.cluster) {
    const NodeShape& shape = record.shape;
    if (!is_sane(shape) || !vram.add(shape.vram.raw(), shape.gpus)) return "a node";
    gpus += shape.gpus;
    largest = std::max<std::size_t>(largest, shape.gpus);
    const bool is_numbered = shape.type.ends_with('#') && shape.gpus <= limits::kMostTypes;
    for (std::uint32_t g = 0; g < (is_numbered ? shape.gpus : 1); ++g) {
      types.insert(shape.type + (is_numbered ? std::to_string(g) : ""));
    }
  }
  if (!frame.cluster.empty() && !frame.cluster.front().new_switch) return "a node of no switch";
  if (types.size() > limits::kMostTypes) return "too many types of GPU";
  if (gpus != frame.gpus.size()) return "figures of other GPUs";
  if ((largest + 1) * frame.cluster.size() > kMostVacancies) return "a node too large";
  for (const GpuUse& use : frame.gpus) {
    const GpuUse measured{.foreign = use.foreign,
                          .used = use.used,
                          .utilisation = use.utilisation,
                          .healthy = use.healthy,
                          .reachable = use.reachable};
    if (use != measured || !is_amount(use.foreign) || !is_amount(use.used)) return "a GPU's use";
    if (use.utilisation < kUnknownUtilisation || use.utilisation > 100) return "a GPU's use";
  }
  const bool binary = std::ranges::all_of(frame.nodes, [](std::uint8_t ok) { return ok <= 1; });
  return binary ? Fault() : "the health of a node";
}

// ---- Accounts --------------------------------------------------------------------------------

/// The share times the time it was held for must stay far from the ends too.
Fault account_fault(const Account& account, Instant now, Duration half_life) {
  if (!is_time(account.as_of) || account.as_of > now) return "an account";
  const bool weighs = account.weight_milli > 0 && account.weight_milli <= kMostWeight;
  // Service that decays is never more than in one and a half half-lives without decay.
  const Duration elapsed = now - account.as_of;
  const bool is_old = half_life < elapsed;
  const Duration counted = is_old ? std::min(elapsed, half_life + half_life / 2) : elapsed;
  Total service;
  const bool sane = weighs && is_amount(account.service) && is_amount(account.share_ppb) &&
                    service.add(account.share_ppb / 1000, micros(counted) / 1000);
  return sane ? Fault() : "an account";
}

// ---- Jobs ------------------------------------------------------------------------------------

bool is_sane(const JobSpec& spec, Bytes context) {
  Total contexts;
  return contexts.add(context.raw(), spec.request.gpu.processes) &&
         is_amount(spec.request.gpu.vram) && is_amount(spec.vram_estimate) &&
         is_span(spec.time_limit) && is_span(spec.estimate) && spec.learned_from >= 0;
}

bool is_sane(const Overrun& overrun, Instant now) {
  return is_amount(overrun.held) && is_amount(overrun.granted) && is_time(overrun.at) &&
         overrun.at <= now;
}

bool is_sane(const std::vector<Metric>& metrics) {
  return metrics.size() <= kMostMetrics &&
         std::ranges::adjacent_find(metrics, std::ranges::greater_equal(), &Metric::key) ==
             metrics.end();
}

/// All that a job's own counts and times promise.
bool is_sane(const Job& job, Instant now) {
  const bool times = is_time(job.submitted) && is_time(job.since) && job.submitted <= now &&
                     job.since <= now && is_age(job.ran) && is_age(job.waited) &&
                     job.ran_before >= Duration::zero() && job.ran_before <= job.ran &&
                     job.attained >= GpuTime(0) && (job.lease == kNever || is_time(job.lease)) &&
                     (job.first_start == kNever || is_time(job.first_start)) &&
                     (job.stays_until == kNever || is_time(job.stays_until)) &&
                     is_time(later(job.submitted, job.line_shift));
  const bool counts = job.preemptions >= 0 && job.preemptions <= kMostCount &&
                      job.failed_starts >= 0 && job.failed_starts <= kMostCount;
  const bool next = job.after_stop == JobState::Queued || job.after_stop == JobState::Suspended ||
                    (job.after_stop == JobState::Held && job.state == JobState::Stopping);
  const auto is_past = [&](const std::optional<Instant>& at) {
    return !at || (is_time(*at) && *at <= now);
  };
  const bool leaves = job.ending || job.migrating || job.ended || job.leaving || job.ran_out;
  const bool ends = is_past(job.ended) && is_past(job.leaving) &&
                    (!job.ended || *job.ended >= job.since) &&
                    (!job.ran_out || (job.ended && job.leaving));
  const bool stops = job.state == JobState::Stopping || !leaves;
  const bool hurt = !job.hurt_by || (holds_berth(job.state) && is_sane(*job.hurt_by, now));
  const bool leased = holds_berth(job.state) || job.lease == kNever;
  const bool stays = !is_adopted(job.spec) || (holds_berth(job.state) && job.lease == kNever);
  return times && counts && next && ends && stops && hurt && leased && stays &&
         is_amount(job.in_host) && is_sane(job.metrics);
}

bool is_sane(const Grant& grant, const Request& request, const Cluster& cluster) {
  const auto& shares = grant.shares;
  if (grant.gpus() < request.gpu.least() || grant.gpus() > request.gpu.most()) return false;
  if (grant.host.value() >= cluster.nodes().size()) return false;
  if (grant.cpu != request.cpu || grant.memory != request.host) return false;
  if (grant.milli < GpuMilli(0) || grant.milli > kWholeGpu) return false;
  const bool ascending =
      std::ranges::adjacent_find(shares, std::ranges::greater_equal(), &Share::gpu) == shares.end();
  if (shares.empty()) return true;
  return ascending && shares.back().gpu.value() < cluster.gpus().size() &&
         cluster.node_of(shares.front().gpu) == grant.host;
}

/// True for what some machine could have.
bool is_askable(const Request& request) {
  return !why_senseless(request) && request.gpu.most() <= GpuCount(limits::kMostGpus) &&
         is_amount(request.cpu) && is_amount(request.host);
}

/// True for a job that has something other than a place to wait for.
bool may_wait(const Job& job, Instant now) {
  const Conditions& asked = *job.spec.conditions;
  return !asked.after.empty() || asked.begin > now ||
         (asked.array.at_once > 0 && asked.array.first <= job.id);
}

std::string name_of_job(JobId id) { return "job " + std::to_string(id.value()); }

/// Checks the jobs in their order, and what they hold together.
class JobsCheck {
 public:
  JobsCheck(const Frame& frame, const Cluster& cluster)
      : frame_(frame),
        cluster_(cluster),
        tenants_(cluster.gpus().size(), 0),
        hosts_(cluster.nodes().size()) {
    for (const GpuSpec& gpu : cluster.gpus()) context_ = std::max(context_, gpu.context);
  }

  Fault find_fault() {
    JobId last(0);
    for (const Job& job : frame_.jobs) {
      if (job.id <= last || job.id > kLastJob) return name_of_job(job.id) + " out of order";
      if (auto fault = fault_of(job)) return name_of_job(job.id) + ": " + *fault;
      last = job.id;
    }
    return std::nullopt;
  }

  /// Requires: the jobs before it were asked about, and were without fault or are gone.
  Fault fault_of(const Job& job) {
    if (const auto why = why_unkeepable(job.id, job.spec)) return why->substr(why->find(": ") + 2);
    if (!is_sane(job.spec, context_)) return "its amounts";
    if (!is_sane(job, frame_.now)) return "its counts or times";
    if (!is_possible(job)) return "its request";
    if (!holds(job)) return "its grant";
    if (!can_begin(job)) return "what it waits for";
    if (!is_there(*job.home)) return "the nodes of its processes";
    return std::nullopt;
  }

 private:
  /// What a job waits for happens: its jobs are there, and before it.
  bool can_begin(const Job& job) const {
    const Conditions& asked = *job.spec.conditions;
    const auto is_there = [&](const Dependency& on) {
      return on.job < job.id && std::ranges::binary_search(frame_.jobs, on.job, {}, &Job::id);
    };
    const bool waits = job.state == JobState::Deferred || job.state == JobState::Held;
    return std::ranges::all_of(asked.after, is_there) && (waits || asked.after.empty()) &&
           (job.state != JobState::Deferred || may_wait(job, frame_.now));
  }
  /// Many jobs ask for the same. What the machine has no more is asked for by a held job at most.
  bool is_possible(const Job& job) {
    if (last_possible_ == job.spec.request) return true;
    if (job.state == JobState::Held) return is_askable(job.spec.request);
    if (why_impossible(job.id, job.spec.request, cluster_)) return false;
    last_possible_ = job.spec.request;
    return true;
  }

  bool is_there(const std::vector<NodeId>& home) const {
    const bool is_in_order = std::ranges::is_sorted(home);
    return is_in_order && (home.empty() || home.back().value() < cluster_.nodes().size());
  }

  bool holds(const Job& job) {
    if (!holds_berth(job.state)) return job.grant == Grant{};
    if (!is_sane(job.grant, job.spec.request, cluster_)) return false;
    for (const Share& share : job.grant.shares) {
      if (share.granted < Bytes(0) || share.granted > share.charge) return false;
      if (!charges_.add(share.charge.raw())) return false;
      if (++tenants_[share.gpu.value()] > limits::kMostTenants) return false;
    }
    bool fits = true;
    const std::size_t all = job.grant.shares.size();
    for_each_node(cluster_, job.grant, [&](NodeId node, std::size_t here) {
      HostTotal& host = hosts_[node.value()];
      fits = fits && host.cpu.add(host_part(job.grant.cpu.raw(), here, all)) &&
             host.memory.add(host_part(job.grant.memory.raw(), here, all));
    });
    return fits;
  }

  struct HostTotal {
    Total cpu;
    Total memory;
  };

  const Frame& frame_;
  const Cluster& cluster_;
  std::vector<std::size_t> tenants_;
  Bytes context_{0};  ///< The largest.
  std::optional<Request> last_possible_;
  Total charges_;
  std::vector<HostTotal> hosts_;
};

/// Jobs that were put aside count as lost for those that wait for them. Returns: what can never be.
Fault drop_gone(Job& job, const std::set<JobId>& gone, Instant now) {
  const auto is_gone = [&](const Dependency& on) { return gone.contains(on.job); };
  if (gone.empty() || std::ranges::none_of(job.spec.conditions->after, is_gone)) return Fault();
  const auto fate_of = [&](const Dependency& on) {
    return is_gone(on) ? Fate{.is_open = false, .outcome = Outcome::Lost} : Fate();
  };
  std::vector<JobId> met;
  const auto never = settle_ends(job.spec.conditions.edit().after, fate_of, met);
  if (job.state == JobState::Deferred && !may_wait(job, now)) job.state = JobState::Queued;
  if (!never) return Fault();
  return "it waits for " + name_of_job(never->on.job) + ", which is put aside";
}

Fault history_fault(const Frame& frame) {
  if (frame.ended.size() > History::kMost || frame.ended.size() > frame.ended_count) {
    return "the number of jobs that ended";
  }
  const bool sane = std::ranges::all_of(frame.ended, [&](const Ended& ended) {
    return is_age(ended.ran) && ended.attained >= GpuTime(0) && ended.gpus >= GpuCount(0) &&
           is_time(ended.at) && ended.at <= frame.now;
  });
  if (!sane) return "a job that ended";
  const auto is_short = [](const PastRun& run) { return is_age(run.ran); };
  for (const auto& [user, programs] : frame.past_runs) {
    for (const auto& [what, program] : programs) {
      if (!std::ranges::all_of(program.runs, is_short)) return "a past run";
    }
  }
  return PastRuns::is_sane(frame.past_runs) ? Fault() : "the past runs";
}

bool is_sane(const PairRate& rate) {
  return rate.ppm >= 0 && rate.ppm <= 1'000'000 && rate.times >= 0 && rate.times <= kMostCount &&
         rate.spread >= 0 && rate.spread <= 1'000'000;
}

bool is_busy_share(std::int16_t percent) { return percent >= kUnknownBusy && percent <= 100; }

bool is_sane(const Lesson& lesson) {
  return is_age(lesson.alone) && is_age(lesson.spread) && is_busy_share(lesson.busy) &&
         lesson.times >= 0 && lesson.times <= kMostCount &&
         lesson.beside.size() <= Company::kMostBeside &&
         std::ranges::all_of(lesson.beside, [](const auto& pair) { return is_sane(pair.second); });
}

bool is_sane(const Advance& advance) { return advance.done >= 0 && is_age(advance.time); }

bool is_sane(const Meeting& meeting) {
  return is_age(meeting.together) && is_sane(meeting.advance);
}

bool is_sane(const Stint& stint, Instant now) {
  const bool is_told =
      stint.reported == kNever || (is_time(stint.reported) && stint.reported <= now);
  return is_time(stint.since) && stint.since <= now && is_told && stint.done >= 0 &&
         is_sane(stint.alone) && is_busy_share(stint.busy);
}

/// Requires: the jobs are checked, and ascend.
Fault company_fault(const Frame& frame) {
  const CompanyRecord& company = frame.company;
  const auto is_known = [&](JobId id) {
    return std::ranges::binary_search(frame.jobs, id, {}, &Job::id);
  };
  JobId last(0);
  for (const Identity& one : company.jobs) {
    if (one.job <= last || !is_known(one.job)) return "a job's fingerprint";
    last = one.job;
  }
  for (const auto& [job, meetings] : company.meetings) {
    const auto is_good = [](const Meeting& meeting) { return is_sane(meeting); };
    if (!is_known(job) || !std::ranges::all_of(meetings, is_good)) return "a job's company";
    if (meetings.size() > Company::kMostMeetings) return "a job's company";
  }
  for (const auto& [job, stint] : company.stints) {
    if (!is_known(job) || !is_sane(stint, frame.now)) return "a job's neighbours";
  }
  for (const auto& [duty, rate] : company.by_duty) {
    if (std::max(duty.first, duty.second) > kMostDuty || !is_sane(rate)) return "a speed by duty";
  }
  if (company.lessons.size() > Company::kMostLessons) return "the number of lessons";
  for (const auto& [what, lesson] : company.lessons) {
    if (!is_sane(lesson)) return "a lesson";
  }
  return std::nullopt;
}

Fault fault_before_jobs(const Frame& frame) {
  if (!is_time(frame.now)) return "the time";
  if (auto fault = cluster_fault(frame)) return fault;
  if (!is_sensible(frame.settings)) return "the settings";
  if (!is_sensible(frame.bounds)) return "the bounds of preemption";
  for (const auto& [user, account] : frame.accounts) {
    auto fault = account_fault(account, frame.now, frame.settings.service_half_life);
    if (fault) return fault;
  }
  return std::nullopt;
}

Fault calendar_fault(const Frame& frame) {
  ReservationBits taken = 0;
  for (const auto& [id, reservation] : frame.calendar) {
    if (!is_sensible(reservation, frame.gpus.size())) return "a reservation";
    if ((taken & bit_of(id)) != 0 || id > frame.last_reservation) return "a reservation's number";
    taken |= bit_of(id);
  }
  for (const auto& [id, reservation] : frame.past_terms.calendar) {
    const bool is_known = id <= frame.last_reservation && !frame.calendar.contains(id);
    if (!is_known || !is_sensible(reservation, frame.gpus.size())) return "a past reservation";
  }
  if (frame.past_terms.calendar.size() > kMostReservations) return "the past reservations";
  const auto& drains = frame.past_terms.drains;
  const bool are_there = drains.empty() || drains.rbegin()->first.value() < frame.gpus.size();
  return are_there ? Fault() : "a GPU drained once";
}

}  // namespace

std::vector<PutAside> put_bad_jobs_aside(Frame& frame) {
  if (fault_before_jobs(frame)) return {};
  const Cluster cluster = cluster_of(frame.cluster);
  JobsCheck check(frame, cluster);
  std::vector<PutAside> aside;
  std::set<JobId> gone;
  for (Job& job : std::exchange(frame.jobs, {})) {
    const JobId last = frame.jobs.empty() ? JobId(0) : frame.jobs.back().id;
    Fault fault = drop_gone(job, gone, frame.now);
    if (job.id <= last || job.id > kLastJob) fault = "its number is out of order";
    if (!fault) fault = check.fault_of(job);
    if (!fault) {
      frame.jobs.push_back(std::move(job));
      continue;
    }
    gone.insert(job.id);
    aside.push_back({.job = std::move(job), .why = *fault});
  }
  if (aside.empty()) return aside;
  const auto is_gone = [&](JobId id) {
    return !std::ranges::binary_search(frame.jobs, id, {}, &Job::id);
  };
  std::erase_if(frame.holds, [&](const Hold& hold) { return is_gone(hold.job); });
  std::erase_if(frame.company.jobs, [&](const Identity& one) { return is_gone(one.job); });
  std::erase_if(frame.company.meetings, [&](const auto& one) { return is_gone(one.first); });
  std::erase_if(frame.company.stints, [&](const auto& one) { return is_gone(one.first); });
  return aside;
}

std::optional<std::string> find_fault(const Frame& frame) {
  if (auto fault = fault_before_jobs(frame)) return fault;
  if (auto fault = JobsCheck(frame, cluster_of(frame.cluster)).find_fault()) return fault;
  if (auto fault = company_fault(frame)) return fault;
  if (!frame.speeds.is_sane()) return "the table of speeds";
  if (!frame.drains.empty() && frame.drains.rbegin()->first.value() >= frame.gpus.size()) {
    return "a drained GPU";
  }
  if (auto fault = calendar_fault(frame)) return fault;
  return history_fault(frame);
}

void set_back(Frame& frame, Instant to) {
  const Duration by = frame.now - to;
  const auto past = [&](Instant& at) {
    if (at > to) at -= by;
  };
  const auto ahead = [&](Instant& at) {
    if (at != kNever && at > to) at -= by;
  };
  for (Job& job : frame.jobs) {
    Instant in_line = later(job.submitted, job.line_shift);
    past(in_line), past(job.submitted), past(job.since);
    job.line_shift = in_line - job.submitted;
    ahead(job.first_start), ahead(job.lease), ahead(job.stays_until);
    if (job.ended) past(*job.ended), job.ended = std::max(*job.ended, job.since);
    if (job.leaving) past(*job.leaving);
    if (job.hurt_by) past(job.hurt_by->at);
    const bool was_to_begin = job.state == JobState::Queued && job.attempt == Attempt(0) &&
                              job.spec.conditions->begin > to;
    if (was_to_begin) job.state = JobState::Deferred;
  }
  for (auto& [user, account] : frame.accounts) past(account.as_of);
  for (Ended& ended : frame.ended) past(ended.at);
  for (auto& [job, stint] : frame.company.stints) past(stint.since), ahead(stint.reported);
  ReservationBits taken = 0;
  for (const auto& [id, reservation] : frame.calendar) taken |= bit_of(id);
  std::erase_if(frame.past_terms.calendar, [&](const auto& entry) {
    if (entry.second.until <= to || (taken & bit_of(entry.first)) != 0) return false;
    taken |= bit_of(entry.first);
    return frame.calendar.insert(entry).second;
  });
  std::erase_if(frame.past_terms.drains, [&](const auto& entry) {
    return entry.second.until > to && frame.drains.insert(entry).second;
  });
  frame.now = to;
}

namespace {

/// The same types by name. Those that are no more stand for a type that there is not.
GpuTypes types_there(GpuTypes types, const Cluster& before, const Cluster& now) {
  GpuTypes there = 0;
  const auto names = before.type_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((types >> i & 1) == 0) continue;
    const auto found = std::ranges::find(now.type_names(), names[i]);
    const std::size_t bit = found == now.type_names().end()
                                ? limits::kMostTypes - 1
                                : static_cast<std::size_t>(found - now.type_names().begin());
    there |= GpuTypes{1} << bit;
  }
  return there;
}

}  // namespace

void move_to(Frame& frame, const Cluster& cluster) {
  const Cluster before = cluster_of(frame.cluster);
  frame.cluster = records_of(cluster);
  frame.gpus.assign(cluster.gpus().size(), GpuUse{});
  frame.nodes.assign(cluster.nodes().size(), 1);
  frame.holds.clear();
  for (Job& job : frame.jobs) {
    GpuTypes& types = job.spec.request.gpu.types;
    types = types_there(types, before, cluster);
    job.bound = types_there(job.bound, before, cluster);
    if (why_impossible(job.id, job.spec.request, cluster)) job.state = JobState::Held;
    Request learned = job.spec.request;
    learned.gpu.vram = job.spec.vram_estimate;
    if (why_impossible(job.id, learned, cluster)) job.spec.vram_estimate = Bytes(0);
  }
  const auto is_gone = [&](GpuId gpu) { return gpu.value() >= cluster.gpus().size(); };
  for (auto* const drains : {&frame.drains, &frame.past_terms.drains}) {
    std::erase_if(*drains, [&](const auto& entry) { return is_gone(entry.first); });
  }
  for (auto* const calendar : {&frame.calendar, &frame.past_terms.calendar}) {
    for (auto& [id, reservation] : *calendar) std::erase_if(reservation.gpus, is_gone);
    std::erase_if(*calendar, [](const auto& entry) { return entry.second.gpus.empty(); });
  }
}

std::vector<NodeRecord> records_of(const Cluster& cluster) {
  std::vector<NodeRecord> records;
  std::optional<SwitchId> last;
  for (const NodeId id : cluster.node_ids()) {
    const SwitchId its_switch = cluster.node(id).switch_id;
    records.push_back({its_switch != last, cluster.shape_of(id)});
    last = its_switch;
  }
  return records;
}

Cluster cluster_of(const std::vector<NodeRecord>& records) {
  Cluster cluster;
  for (const NodeRecord& record : records) {
    if (record.new_switch) cluster.add_switch();
    cluster.add_node(record.shape);
  }
  return cluster;
}

}  // namespace berth
