// The Tiresias simulator's dlas and dlas-gpu, exactly: discretised least attained service.
//
// Rule: three queues with limits 3250 and 7200 on executed seconds (dlas) or executed seconds x
//   GPUs (dlas-gpu). A running job at its limit moves to the tail of the next queue, one level per
//   event. Queues are served in order; whoever fits runs. Afterwards those that wait move to the
//   tail of their queue. dlas-gpu-K: a waiting job beyond the first queue returns to it once it has
//   waited K x its executed time; both count from there again. dlas-gpu-gittins: each queue is
//   sorted by Gittins index of executed seconds x GPUs first (knob `service`; without it, as
//   dlas-gpu).
// Reads: ran, waited, gpus, arrivals.
// Differs from the paper: this is the simulator of Tiresias (Gu et al., NSDI 2019), artifact
//   959f9b0. It ignores placement, so only the number of GPUs counts. It computes the next demotion
//   of dlas-gpu as floor((limit - executed) / GPUs), which is late; `+fixjump` is right.
//   Cost: O(jobs) per event; O(log jobs) where nobody waits.
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
#include "policy/registry.hpp"

namespace berth {

std::unique_ptr<Placer> count();

namespace {

constexpr std::array<std::int64_t, 2> kLimits = {3250, 7200};
constexpr std::size_t kLast = kLimits.size();

constexpr std::int64_t kMostArrivals = std::int64_t{1} << 60;

/// True for a time that a job may have run or waited.
bool is_age(Duration time) { return time >= Duration::zero() && time <= hours(24) * 365 * 150; }

struct Variant {
  bool by_gpu_time = true;
  bool fixed_jump = false;
  bool by_index = false;
  std::int64_t promote_halves = 0;  ///< Twice the K of dlas-gpu-K; zero: no promotion.
};

class TiresiasDlas final : public Policy {
 public:
  TiresiasDlas(const Variant& variant, std::span<const std::int64_t> service)
      : variant_(variant), index_(service, GittinsForm::Artifact), placer_(count()) {}

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
    if (standing.queue == kLast) return;
    const JobView job = view.job(id);
    if (weight(job) > 0) {
      const std::int64_t enough = (kLimits[standing.queue] + weight(job) - 1) / weight(job);
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
    const std::int64_t limit = demotion_in(kLimits[standing.queue], 0, divides ? 1 : gpus);
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
    all_run_ = !variant_.by_index && variant_.promote_halves == 0 &&
               !view.settings().limits.any() && std::ranges::all_of(wanted, std::identity()) &&
               std::ranges::all_of(jobs_.ids(), is_by_number(view));
    if (!all_run_) return;
    started_ = jobs_.ids();
    watch_all(view);
  }

  /// Demotions, then promotions, each in order of arrival: they never enter the same queue.
  void advance(const ClusterView& view) {
    std::vector<std::pair<std::int64_t, JobId>> down;
    for (std::size_t q = 0; q < kLast; ++q) {
      for (const JobId id : queues_[q]) {
        const JobView job = view.job(id);
        if (!holds_berth(job.state())) continue;
        const Standing& standing = standings_.at(id);
        if (should_demote(job, standing)) down.emplace_back(standing.arrival, id);
      }
    }
    std::ranges::sort(down);
    for (const auto& [arrival, id] : down) move(id, standings_.at(id).queue + 1);
    if (variant_.promote_halves > 0) promote(view);
  }

  bool should_demote(const JobView& job, const Standing& standing) const {
    const Duration executed = job.ran() - standing.ran_before;
    return whole_seconds(executed) * weight(job) >= kLimits[standing.queue];
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
    return whole_seconds(executed) * variant_.promote_halves / 2;
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
    for (std::size_t q = 0; q <= kLast; ++q) {
      auto& queue = queues_[q];
      waiting_.clear();
      std::size_t runs = 0;
      for (const JobId id : queue) {
        const bool wanted = repacked.wanted[at++];
        if (wanted ? q < kLast : variant_.promote_halves > 0) {
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
      ahead = demotion_in(kLimits[standing.queue], executed, job.gpus().raw());
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
  GittinsIndex index_;
  std::unique_ptr<Placer> placer_;
  JobList jobs_;  ///< In order of arrival.
  std::array<std::vector<JobId>, kLast + 1> queues_;
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

/// `dlas`, `dlas-gpu`, `dlas-gpu-gittins`, `dlas-gpu+fixjump`, `dlas-gpu-K`; the peer writes a half
/// as 05.
Variant variant_of(std::string_view name) {
  const std::string_view suffix = name.substr(name.find("dlas") + 4);
  if (suffix.empty()) return {.by_gpu_time = false};
  const std::string_view option = suffix.substr(std::string_view("-gpu").size());
  if (option == "-gittins") return {.by_index = true};
  if (option == "+fixjump") return {.fixed_jump = true};
  if (option.empty()) return {};
  if (option == "-05") return {.promote_halves = 1};
  std::int64_t times = 0;
  for (const char digit : option.substr(1)) times = times * 10 + (digit - '0');
  return {.promote_halves = 2 * times};
}

}  // namespace

std::unique_ptr<Policy> tiresias_dlas(const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(variant_of(knobs.name), knobs.service);
}

}  // namespace berth
