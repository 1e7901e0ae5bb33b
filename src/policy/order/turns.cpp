// Turns, the order for machines that can suspend jobs. doc/adr/0024 argues its rule.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/wide.hpp"
#include "policy/kit/host_room.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/user_services.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kTurnsKeys = std::to_array<Key>({
    {.name = "first_queue",
     .type = KeyType::Time,
     .usual = "15m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what =
         "Run time on one GPU after which a job leaves the first queue; each further one is four "
         "times as long."},
    {.name = "quantum",
     .type = KeyType::Time,
     .usual = "15m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "A job keeps its GPUs for this long."},
    {.name = "promise_after",
     .type = KeyType::Time,
     .usual = "60h",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "A job of a whole node that has waited this long in all gets its GPUs to its end; a "
             "smaller one after as many times this as it would fit on the node."},
});

constexpr About kTurns{
    .title = "Turns: young jobs first; jobs that prove long lend them their GPUs. Preemptive.",
    .rule =
        "queue = number of ends at or below a job's service, which is GPUs, but no more than those "
        "of a node, x run time so far; the ends are `first_queue` and 4, 16, 64... times that. "
        "Jobs of a lower queue go first and displace jobs of a higher one, which are suspended. "
        "Inside a queue running jobs go first, so that jobs of one queue do not displace each "
        "other, then waiting jobs by the decayed service / weight of their users, looked at every "
        "ten minutes. Any job that fits may pass a job that does not. A job that must not be "
        "suspended, or waits and could not be for lack of host memory, stands where it would after "
        "its time limit or its user's estimate, or after four hours without either. A job that has "
        "waited for `promise_after` in all, of fewer "
        "GPUs than a node accordingly longer, is promised a turn: it goes before all others, and "
        "is not suspended again. Those who waited longest are promised first, as many as have half "
        "of the GPUs beyond those of one node, or a quarter of all if that is more.",
    .reads =
        "Attained service, GPUs asked for, time waited, accounts (service, weight), host memory "
        "for suspended jobs, time limit and estimate of jobs that must not or cannot be suspended.",
    .source =
        "berth's own. Its parts: multi-level feedback (Corbato et al., AFIPS 1962), with the "
        "service of Tiresias (Gu et al., NSDI 2019); fair share by decayed dominant service.",
    .differs = "Nothing to compare with: it is not published elsewhere.",
    .cost = "O(lanes + victims) per pass, O(users) every ten minutes.",
    .proof =
        "None yet. doc/evaluation.md compares it with `las`, `dlas` and what does not preempt.",
    .needs = {.preemption = true},
    .keys = kTurnsKeys};

namespace {

constexpr std::int64_t kAhead = std::numeric_limits<std::int64_t>::min();  ///< Of running jobs.
constexpr std::int64_t kPromised = -1;                                     ///< Before any queue.
constexpr std::int64_t kQueues = 16;
constexpr std::int64_t kLanes = kQueues + 1;  ///< Jobs stand in 0 to kQueues.
constexpr std::int64_t kLastEnd = std::numeric_limits<std::int64_t>::max() / 4;
constexpr Duration kIfUnknown = hours(4);  ///< Of a job that must not be suspended.

/// Where a job stands among the queues.
struct Level {
  std::int64_t queue = 0;
  std::int64_t left = 0;  ///< Service, in GPU-microseconds, to its end; 0: it has none.
};

class Turns final : public Order {
 public:
  explicit Turns(const Keys& keys)
      : first_end_(keys.time("first_queue")), promise_after_(keys.time("promise_after")) {}

  DependsOn depends_on() const override { return DependsOn::Lane; }

  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    host_.follow(view, events, is_fresh_);
    if (std::exchange(is_fresh_, false)) {
      line_.clear();
      lines_.clear();
      view.for_each_pending([&](const JobView& job) { note(job.id(), view); });
    }
    for (const Event& event : events) note(event.job, view);
    if (const Instant before = had_.at; had_.follow(view), had_.at != before) {
      promise(view);
      ++looks_;
    }
    moves_by_looks_ = !HostRoom::is_bounded(view);
    const bool any_waits = view.job_count() > view.running().size();
    return {.list = {}, .wake_at = any_waits ? std::optional(had_.next_look()) : std::nullopt};
  }

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    if (!holds_berth(job.state())) {
      return {.rank = {place_in_line(job), micros(job.in_line_since())},
              .valid_until = std::nullopt};
    }
    const std::int64_t ahead = kAhead + micros(job.in_line_since());
    if (is_promised(job.id())) {
      return {.rank = {kPromised, ahead}, .valid_until = std::nullopt, .drift = Drift{}};
    }
    const Level level = level_of(job, view);
    const std::int64_t gpus = counted_gpus(job, view);
    std::optional<Instant> until;
    if (gpus > 0 && level.left > 0) {
      until =
          later(view.now(), ceil_div(GpuTime(level.left), GpuCount(gpus)));  // earlier would spin
    }
    return {.rank = {level.queue, ahead},
            .valid_until = until,
            .drift = Drift{.until = until.value_or(kNever)}};
  }
  std::int64_t lane(const JobView& job, const ClusterView& view) const override {
    const std::int64_t staying = level_of(job, service_if_it_stays(job, view)).queue;
    if (job.stays()) return staying;
    const std::int64_t queue = level_of(job, service_of(job, view)).queue;
    // It stands in the one or the other as host memory comes and goes.
    return view.settings().suspend_room ? (1 + queue) * kLanes + staying : queue;
  }
  Rank lane_rank(const JobView& job, const ClusterView& view) const override {
    if (is_promised(job.id())) return {kPromised, place_in_line(job)};
    return {level_of(job, view).queue, had_.of(job.user())};
  }

  std::optional<std::uint64_t> lanes_version() const override {
    return moves_by_looks_ ? std::optional(looks_) : std::nullopt;
  }

  bool is_settled(const JobView& job) const override { return is_promised(job.id()); }

  Snapshot save() const override {
    ByteWriter writer;
    writer.text(saved(had_));
    writer.text(saved(promised_));
    return writer.take();
  }
  Expected<void> restore(const Snapshot& bytes) override {
    is_fresh_ = true;
    ByteReader reader(bytes);
    const Snapshot had(bytes.empty() ? "" : reader.text());
    const Snapshot promised(bytes.empty() ? "" : reader.text());
    if (reader.failed() || !reader.at_end()) {
      return fail(ErrorCode::BadData, "policy memory: not that of turns");
    }
    const auto any = [](const auto&) { return true; };
    if (auto done = restore_into(had_, had, "turns", any); !done) return done;
    return restore_into(promised_, promised, "turns", any);
  }

 private:
  bool is_promised(JobId id) const { return promised_.contains(id); }

  /// Of a waiting job: as if it had begun to wait so much later as it ran. Fixed while it waits.
  static std::int64_t place_in_line(const JobView& job) {
    return micros(later(job.in_line_since(), job.ran()));
  }

  static std::int64_t node_size(const ClusterView& view) {
    return std::max<std::int64_t>(view.cluster().largest_node(), 1);
  }
  static std::int64_t counted_gpus(const JobView& job, const ClusterView& view) {
    return std::min(job.gpus().raw(), node_size(view));
  }

  static GpuTime service_of(const JobView& job, const ClusterView& view) {
    const std::int64_t gpus = job.gpus().raw();
    const std::int64_t counted = counted_gpus(job, view);
    if (counted == gpus) return job.attained();
    return GpuTime(static_cast<std::int64_t>(Wide{job.attained().raw()} * counted / gpus));
  }
  static GpuTime service_if_it_stays(const JobView& job, const ClusterView& view) {
    const GpuCount counted(counted_gpus(job, view));
    return sum_of(service_of(job, view), counted * supposed(job));
  }

  /// One that could not be suspended for lack of host memory stands as one that must not be.
  Level level_of(const JobView& job, const ClusterView& view) const {
    const bool waits = !holds_berth(job.state());
    const bool stays = job.stays() || (waits && !host_.has_room_for(job, view));
    return level_of(job, stays ? service_if_it_stays(job, view) : service_of(job, view));
  }

  Level level_of(const JobView& job, GpuTime service) const {
    if (job.gpus() == GpuCount(0)) return {};
    Level level;
    std::int64_t end = micros(first_end_);
    for (; service.raw() >= end; end *= 4) {
      if (++level.queue == kQueues || end > kLastEnd) return level;
    }
    level.left = end - service.raw();
    return level;
  }

  /// How long a job that must not be suspended is taken to keep its GPUs.
  static Duration supposed(const JobView& job) {
    const bool is_learned = job.spec().learned_from > 0;
    const Duration told = is_learned ? job.spec().time_limit : job.estimate();
    return told == kForever ? kIfUnknown : told;
  }

  /// Where a waiting job stands in the line of those who may be promised a turn.
  void note(JobId id, const ClusterView& view) {
    const auto found = lines_.find(id);
    if (found != lines_.end()) {
      line_.erase({found->second, id});
      lines_.erase(found);
    }
    const Job* const waiting = view.find(id);
    if (waiting == nullptr || !is_waiting(waiting->state)) return;
    const JobView job = view.job(id);
    const std::int64_t gpus = counted_gpus(job, view);
    if (gpus == 0) return;
    const Wide patience = Wide{micros(promise_after_)} * node_size(view) / gpus;
    const Duration least(static_cast<std::int64_t>(std::min(patience, Wide{kYear} * 100)));
    const Instant due = later(view.now(), least - job.waited());
    line_.emplace(due, id);
    lines_.emplace(id, due);
  }

  /// Those that are due get a turn while there is room for them.
  void promise(const ClusterView& view) {
    std::int64_t held = 0;
    std::erase_if(promised_, [&](JobId id) {
      const Job* const job = view.find(id);
      const bool is_over = job == nullptr || !(is_waiting(job->state) || holds_berth(job->state));
      if (!is_over) held += view.job(id).gpus().raw();
      return is_over;
    });
    const auto all = static_cast<std::int64_t>(view.cluster().gpus().size());
    const std::int64_t most = std::max(all / 4, (all - node_size(view)) / 2);
    for (const auto& [due, id] : line_) {
      if (due > had_.at) break;
      const Job* const job = view.find(id);
      if (job == nullptr || !is_waiting(job->state) || is_promised(id)) continue;
      const std::int64_t gpus = view.job(id).gpus().raw();
      if (gpus > most) continue;  // it would never be its turn
      if (held + gpus > most) break;
      held += gpus;
      promised_.insert(id);
    }
  }

  Duration first_end_;
  Duration promise_after_;
  UserServices had_;
  HostRoom host_;
  std::uint64_t looks_ = 0;      ///< At what users had.
  bool moves_by_looks_ = false;  ///< Lanes of jobs that no event names, that is.
  std::set<JobId> promised_;
  bool is_fresh_ = true;                      ///< The waiting jobs were not looked at yet.
  std::set<std::pair<Instant, JobId>> line_;  ///< Waiting jobs, by when they may be promised.
  std::map<JobId, Instant> lines_;            ///< The same, by job.
};

}  // namespace

std::unique_ptr<Order> turns(const Keys& keys, const Knobs&) {
  return std::make_unique<Turns>(keys);
}

}  // namespace berth
