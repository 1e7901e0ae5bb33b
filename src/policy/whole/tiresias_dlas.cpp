// The Tiresias simulator's dlas and dlas-gpu, exactly: discretised least attained service.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "core/id_map.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/gittins.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kTiresiasDlasKeys = std::to_array<Key>({
    {.name = "thresholds",
     .type = KeyType::Service,
     .usual = "3250:7200",
     .least = 1,
     .most = 100'000'000,
     .what = "Executed seconds, or executed seconds x GPUs, at which the queues end."},
    {.name = "promote",
     .type = KeyType::Factor,
     .usual = "0",
     .least = 0,
     .most = 1'000'000,
     .what = "A waiting job returns to the first queue once it has waited this many times its "
             "executed time, and both count from there again; 0: never."},
});

constexpr About kTiresiasDlasGpu{
    .title = "Tiresias' simulator: queues by executed time x GPUs; preemptive.",
    .rule =
        "queue = number of `thresholds` that executed seconds x GPUs has reached. A running job at "
        "its threshold moves to the tail of the next queue, one level per event. Queues are served "
        "in order, and any job that fits runs; afterwards waiting jobs move to the tail of their "
        "queue.",
    .reads = "Run time, time waited, GPUs asked for, arrivals.",
    .source =
        "The simulator of Tiresias (Gu et al., NSDI 2019), artifact 959f9b0. Its `dlas-gpu-K` is "
        "`promote=K`.",
    .differs =
        "Nothing known. The simulator ignores places, so only the number of GPUs counts, and it "
        "computes the next demotion as floor((threshold - executed) / GPUs), which is late.",
    .cost = "O(jobs) per event; O(log jobs) while no job waits.",
    .proof =
        "Every start and end of the simulator's own runs: 60_job, which its authors published, "
        "Y480 and Y480t, which were derived from their duration samples; with promote 1, 2 and 8 "
        "on Y480 (test/sim/tiresias_oracle_test.cpp).",
    .needs = {.preemption = true},
    .keys = kTiresiasDlasKeys};

constexpr About kTiresiasDlas = like(
    kTiresiasDlasGpu,
    {.title = "Tiresias' simulator: queues by executed time; preemptive.",
     .rule = "As `tiresias/dlas-gpu`, with executed seconds instead of executed seconds x GPUs.",
     .source = "The simulator of Tiresias (Gu et al., NSDI 2019), artifact 959f9b0.",
     .differs = "Nothing known. The simulator ignores places, so only the number of GPUs counts.",
     .proof = "Every start and end of the simulator's own runs: 60_job, which its authors "
              "published, Y480 and Y480t, which were derived from their duration samples "
              "(test/sim/tiresias_oracle_test.cpp)."});

constexpr About kTiresiasDlasGpuFixjump = like(
    kTiresiasDlasGpu,
    {.title = "Tiresias' simulator: dlas-gpu with its late demotions mended; preemptive.",
     .rule = "As `tiresias/dlas-gpu`, with the next demotion at ceil(threshold / GPUs) - executed.",
     .differs = "The simulator's own demotions are late; this is the one line mended.",
     .proof = "Every start and end of runs of the simulator with that line mended: Y480 and Y480t, "
              "which were derived from its authors' duration samples "
              "(test/sim/tiresias_oracle_test.cpp)."});

constexpr About kTiresiasDlasGpuGittins = [] {
  About about =
      like(kTiresiasDlasGpu,
           {.title = "Tiresias' simulator: dlas-gpu, each queue by Gittins index; preemptive.",
            .rule = "As `tiresias/dlas-gpu`, with each queue sorted by the Gittins index of "
                    "executed seconds x GPUs first, over a sample of past jobs (`--service`).",
            .proof = "Every start and end of the simulator's own run on Y480, which was derived "
                     "from its authors' duration samples (test/sim/tiresias_oracle_test.cpp)."});
  about.needs.samples = true;
  return about;
}();

namespace {

constexpr std::int64_t kMostArrivals = std::int64_t{1} << 60;

/// True for a time that a job may have run or waited.
bool is_age(Duration time) { return time >= Duration::zero() && time <= hours(24) * 365 * 150; }

struct Variant {
  bool by_gpu_time = true;
  bool fixed_jump = false;
  bool by_index = false;
};

class TiresiasDlas final : public Policy {
 public:
  TiresiasDlas(const Variant& variant, const Keys& keys, const Knobs& knobs)
      : variant_(variant),
        limits_(keys.list("thresholds").begin(), keys.list("thresholds").end()),
        promote_milli_(keys.number("promote")),
        index_(knobs.service, GittinsForm::Artifact),
        placer_(count({})),
        queues_(limits_.size() + 1) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    const std::size_t before = jobs_.ids().size();
    placer_->prepare(view, events);
    const std::size_t arrived = jobs_.update(view, events, *placer_);
    const bool ended = jobs_.ids().size() - arrived != before;
    if (ended) drop_ended();
    const std::span<const JobId> fresh = std::span(jobs_.ids()).last(arrived);
    for (const JobId id : fresh) enqueue(id);
    all_run_ = all_run_ && do_all_run(view, events);
    if (arrived > 0 || ended || view.now() > advanced_) all_run_ ? demote_due(view) : advance(view);
    advanced_ = view.now();
    std::optional<Decisions> decisions;
    if (all_run_) decisions = start(view, fresh);
    if (!decisions) decisions = schedule(view);
    jobs_.reject_impossible(*decisions);
    return std::move(*decisions);
  }

  Snapshot save() const override;
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  struct Standing {
    std::size_t queue = 0;
    std::int64_t arrival = 0;   ///< Orders jobs that move at one instant.
    Duration ran_before{0};     ///< Run time that no longer counts.
    Duration waited_before{0};  ///< Waiting that does not count.
  };

  std::size_t last_queue() const { return limits_.size(); }
  static std::int64_t whole_seconds(Duration time) { return time / seconds(1); }

  /// When something becomes of a job in this queue, if it runs on; not before.
  struct Due {
    Instant at;
    JobId job;
    std::size_t queue;
    auto operator<=>(const Due&) const = default;
  };
  using Dues = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  void drop_ended() {
    for (auto& queue : queues_) {
      std::erase_if(queue, [&](JobId id) {
        const bool gone = std::ranges::binary_search(jobs_.gone(), id);
        if (gone) standings_.erase(id);
        return gone;
      });
    }
  }

  void enqueue(JobId id) {
    standings_.insert(id, {.arrival = ++arrivals_});
    queues_[0].push_back(id);
  }

  void move(JobId id, std::size_t to) {
    Standing& standing = standings_.at(id);
    std::erase(queues_[standing.queue], id);
    queues_[to].push_back(id);
    standing.queue = to;
  }

  // While everybody runs, a pass need not look at those that go on running: when the first of them
  // changes its queue is known. What it comes to is the same as below.

  bool do_all_run(const ClusterView& view, std::span<const Event> events) const {
    const bool as_expected = std::ranges::all_of(events, [](const Event& event) {
      return event.kind == EventKind::Submitted || event.kind == EventKind::Granted ||
             event.kind == EventKind::Ended || event.kind == EventKind::Forgotten;
    });
    return as_expected && std::ranges::all_of(started_, [&](JobId id) {
             const Job* const job = view.find(id);
             return job == nullptr || holds_berth(job->state);
           });
  }

  /// Requires: all that are listed run or are about to, by number.
  void watch_all(const ClusterView& view) {
    demotions_ = {};
    jumps_ = {};
    for (const JobId id : jobs_.ids()) watch(view, id);
  }
  void watch(const ClusterView& view, JobId id) {
    const Standing& standing = standings_.at(id);
    if (standing.queue == last_queue()) return;
    const JobView job = view.job(id);
    if (weight(job) > 0) {
      const std::int64_t enough = (limits_[standing.queue] + weight(job) - 1) / weight(job);
      const Duration left = seconds(enough) - (job.ran() - standing.ran_before);
      demotions_.push({later(view.now(), left), id, standing.queue});
    }
    push_jump(view, id);
  }

  /// Not later than the jump will ever be computed: with the time, what is computed only grows, but
  /// for whole seconds.
  void push_jump(const ClusterView& view, JobId id) {
    const JobView job = view.job(id);
    const Standing& standing = standings_.at(id);
    const std::int64_t gpus = job.gpus().raw();
    const bool divides = variant_.by_gpu_time && !variant_.fixed_jump && gpus > 0;
    const std::int64_t limit = demotion_in(limits_[standing.queue], 0, divides ? 1 : gpus);
    const Duration left = seconds(limit) - (job.ran() - standing.ran_before);
    const Duration ahead = left / (divides ? gpus : 1) - seconds(1) - Duration(1);
    jumps_.push({view.now() + ahead, id, standing.queue});
  }

  void demote_due(const ClusterView& view) {
    std::vector<std::pair<std::int64_t, JobId>> down;
    for (; !demotions_.empty() && demotions_.top().at <= view.now(); demotions_.pop()) {
      const Due due = demotions_.top();
      const Standing* const standing = standings_.find(due.job);
      if (standing == nullptr || standing->queue != due.queue) continue;
      down.emplace_back(standing->arrival, due.job);
    }
    std::ranges::sort(down);
    for (const auto& [arrival, id] : down) {
      move(id, standings_.at(id).queue + 1);
      watch(view, id);
    }
  }

  static auto is_by_number(const ClusterView& view) {
    return [&view](JobId id) { return only_number_matters(*view.find(id)); };
  }

  /// Nothing if these do not fit beside all that run.
  std::optional<Decisions> start(const ClusterView& view, std::span<const JobId> fresh) {
    Repacked repacked = repack(view, fresh, *placer_);
    all_run_ = std::ranges::all_of(fresh, is_by_number(view)) &&
               std::ranges::all_of(repacked.wanted, std::identity());
    if (!all_run_) return std::nullopt;
    started_.assign(fresh.begin(), fresh.end());
    for (const JobId id : fresh) watch(view, id);
    next_jump(view, repacked.decisions);
    return std::move(repacked.decisions);
  }

  /// Computes those jumps that may be the first.
  void next_jump(const ClusterView& view, Decisions& decisions) {
    std::vector<JobId> looked_at;
    while (!jumps_.empty() && jumps_.top().at <= decisions.wake_at.value_or(kNever)) {
      const Due due = jumps_.top();
      jumps_.pop();
      const Standing* const standing = standings_.find(due.job);
      if (standing == nullptr || standing->queue != due.queue) continue;
      if (jump(view, due.job, true, decisions)) looked_at.push_back(due.job);
    }
    for (const JobId id : looked_at) push_jump(view, id);
  }

  /// After a pass over all.
  void note_whether_all_run(const ClusterView& view, const std::vector<bool>& wanted) {
    all_run_ = !variant_.by_index && promote_milli_ == 0 && !view.settings().limits.any() &&
               std::ranges::all_of(wanted, std::identity()) &&
               std::ranges::all_of(jobs_.ids(), is_by_number(view));
    if (!all_run_) return;
    started_ = jobs_.ids();
    watch_all(view);
  }

  /// Demotions, then promotions, each in order of arrival: they never enter the same queue.
  void advance(const ClusterView& view) {
    std::vector<std::pair<std::int64_t, JobId>> down;
    for (std::size_t q = 0; q < last_queue(); ++q) {
      for (const JobId id : queues_[q]) {
        const JobView job = view.job(id);
        if (!holds_berth(job.state())) continue;
        const Standing& standing = standings_.at(id);
        if (should_demote(job, standing)) down.emplace_back(standing.arrival, id);
      }
    }
    std::ranges::sort(down);
    for (const auto& [arrival, id] : down) move(id, standings_.at(id).queue + 1);
    if (promote_milli_ > 0) promote(view);
  }

  bool should_demote(const JobView& job, const Standing& standing) const {
    const Duration executed = job.ran() - standing.ran_before;
    return whole_seconds(executed) * weight(job) >= limits_[standing.queue];
  }
  std::int64_t weight(const JobView& job) const {
    return variant_.by_gpu_time ? job.gpus().raw() : 1;
  }

  void promote(const ClusterView& view) {
    for (const JobId id : jobs_.ids()) {
      const JobView job = view.job(id);
      Standing& standing = standings_.at(id);
      const Duration executed = job.ran() - standing.ran_before;
      if (executed == Duration::zero()) standing.waited_before = job.waited();
      if (holds_berth(job.state()) || !should_promote(job, standing, executed)) continue;
      standing.ran_before = job.ran();
      standing.waited_before = job.waited();
      move(id, 0);
    }
  }

  bool should_promote(const JobView& job, const Standing& standing, Duration executed) const {
    if (standing.queue == 0 || executed == Duration::zero()) return false;
    return whole_seconds(job.waited() - standing.waited_before) >= patience(executed);
  }

  std::int64_t patience(Duration executed) const {
    return whole_seconds(executed) * promote_milli_ / 1000;
  }

  /// Largest index first, then first submitted; equals stay as they are.
  void sort_by_index(const ClusterView& view) {
    if (!variant_.by_index || !index_.is_known()) return;
    const auto rank = [&](JobId id) {
      const JobView job = view.job(id);
      const Duration executed = job.ran() - standings_.at(id).ran_before;
      return std::pair(-index_.at(whole_seconds(executed) * job.gpus().raw()), job.submitted());
    };
    for (auto& queue : queues_) std::ranges::stable_sort(queue, {}, rank);
  }

  Decisions schedule(const ClusterView& view) {
    sort_by_index(view);
    order_.clear();
    for (const auto& queue : queues_) order_.insert(order_.end(), queue.begin(), queue.end());
    Repacked repacked = repack(view, order_, *placer_);
    std::size_t at = 0;
    for (std::size_t q = 0; q <= last_queue(); ++q) {
      auto& queue = queues_[q];
      waiting_.clear();
      std::size_t runs = 0;
      for (const JobId id : queue) {
        const bool wanted = repacked.wanted[at++];
        if (wanted ? q < last_queue() : promote_milli_ > 0) {
          jump(view, id, wanted, repacked.decisions);
        }
        if (wanted) {
          queue[runs++] = id;
        } else {
          waiting_.push_back(id);
        }
      }
      std::ranges::copy(waiting_, queue.begin() + static_cast<std::ptrdiff_t>(runs));
    }
    note_whether_all_run(view, repacked.wanted);
    return std::move(repacked.decisions);
  }

  /// The next instant at which this job changes its queue, as the peer computes it. Returns:
  /// whether there is one.
  bool jump(const ClusterView& view, JobId id, bool runs, Decisions& decisions) const {
    const JobView job = view.job(id);
    const Standing& standing = standings_.at(id);
    const std::int64_t executed = whole_seconds(job.ran() - standing.ran_before);
    std::int64_t ahead = 0;
    if (runs) {
      ahead = demotion_in(limits_[standing.queue], executed, job.gpus().raw());
    } else if (standing.queue > 0 && executed > 0) {
      ahead = patience(seconds(executed)) - whole_seconds(job.waited() - standing.waited_before);
    }
    if (ahead <= 0) return false;
    const Instant at = view.now() + seconds(ahead);
    decisions.wake_at = std::min(decisions.wake_at.value_or(kNever), at);
    return true;
  }

  std::int64_t demotion_in(std::int64_t limit, std::int64_t executed, std::int64_t gpus) const {
    if (!variant_.by_gpu_time || gpus == 0) return limit - executed;
    if (variant_.fixed_jump) return (limit + gpus - 1) / gpus - executed;
    return (limit - executed) / gpus;
  }

  Variant variant_;
  std::vector<std::int64_t> limits_;  ///< Where queues end.
  std::int64_t promote_milli_;        ///< Thousandths of the executed time; zero: no promotion.
  GittinsIndex index_;
  std::unique_ptr<Placer> placer_;
  JobList jobs_;  ///< In order of arrival.
  std::vector<std::vector<JobId>> queues_;
  IdMap<JobId, Standing> standings_;
  std::int64_t arrivals_ = 0;
  std::vector<JobId> order_;    ///< Scratch: all queues, one after the other.
  std::vector<JobId> waiting_;  ///< Scratch: those of a queue that do not run.
  Instant advanced_ = Instant::min();
  bool all_run_ = false;        ///< Whoever is listed runs, if those of `started_` do.
  std::vector<JobId> started_;  ///< In the last pass.
  Dues demotions_;
  Dues jumps_;
};

Snapshot TiresiasDlas::save() const {
  ByteWriter writer;
  writer.text(jobs_.save());
  writer.integer(micros(advanced_));
  writer.integer(arrivals_);
  for (const auto& queue : queues_) {
    writer.integer(static_cast<std::int64_t>(queue.size()));
    for (const JobId id : queue) {
      const Standing& standing = standings_.at(id);
      writer.integer(static_cast<std::int64_t>(id.value()));
      writer.integer(standing.arrival);
      writer.integer(micros(standing.ran_before));
      writer.integer(micros(standing.waited_before));
    }
  }
  return writer.take();
}

Expected<void> TiresiasDlas::restore(const Snapshot& bytes) {
  ByteReader reader(bytes);
  auto restored = jobs_.restore(std::string(reader.text()));
  if (!restored) return restored;
  advanced_ = instant_from_micros(reader.integer());
  all_run_ = false;
  arrivals_ = reader.integer();
  standings_ = {};
  std::vector<JobId> listed = jobs_.ids();
  std::ranges::sort(listed);
  std::size_t queued = 0;
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    queues_[q].clear();
    for (std::int64_t left = reader.integer(); left > 0 && !reader.failed(); --left) {
      const JobId id(static_cast<JobId::rep>(reader.integer()));
      const std::int64_t arrival = reader.integer();
      const Duration ran(reader.integer());
      const Duration waited(reader.integer());
      const bool sane = is_age(ran) && is_age(waited) && ++queued <= listed.size();
      const bool known = sane && std::ranges::binary_search(listed, id);
      if (!known || standings_.find(id) != nullptr) reader.fail();
      if (reader.failed()) break;
      queues_[q].push_back(id);
      standings_.insert(
          id, {.queue = q, .arrival = arrival, .ran_before = ran, .waited_before = waited});
    }
  }
  const bool whole = !reader.failed() && reader.at_end() && queued == listed.size();
  if (!whole || arrivals_ < 0 || arrivals_ > kMostArrivals) {
    return fail(ErrorCode::BadData, "policy memory: not a tiresias dlas state");
  }
  return {};
}

}  // namespace

std::unique_ptr<Policy> tiresias_dlas(const Keys& keys, std::unique_ptr<Placer>,
                                      const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{.by_gpu_time = false}, keys, knobs);
}

std::unique_ptr<Policy> tiresias_dlas_gpu(const Keys& keys, std::unique_ptr<Placer>,
                                          const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{}, keys, knobs);
}

std::unique_ptr<Policy> tiresias_fixjump(const Keys& keys, std::unique_ptr<Placer>,
                                         const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{.fixed_jump = true}, keys, knobs);
}

std::unique_ptr<Policy> tiresias_gittins(const Keys& keys, std::unique_ptr<Placer>,
                                         const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{.by_index = true}, keys, knobs);
}

}  // namespace berth
