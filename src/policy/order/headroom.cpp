// Headroom, the default policy. doc/adr/0013 argues its rule and doc/headroom.md its defaults.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/bytes.hpp"
#include "policy/gates.hpp"
#include "policy/kit/memory.hpp"
#include "policy/order/backlog.hpp"
#include "policy/order/class_judge.hpp"
#include "policy/pipeline/gate.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kHeadroomKeys = std::to_array<Key>({
    kShortBoundKey,
    kMediumBoundKey,
    {.name = "stretch",
     .type = KeyType::Factor,
     .usual = "10",
     .least = 0,
     .most = 1'000'000,
     .what =
         "An hour of run time counts as this many hours of later submission, for a user with the "
         "mean of service. 0: first come, first served."},
    {.name = "overdue_after",
     .type = KeyType::Factor,
     .usual = "1.5",
     .least = 0,
     .most = 1'000'000,
     .what =
         "A job is overdue after this many times the time in which an equal share of the cluster "
         "would have done it. 0: no job is."},
    kLiarAfterKey,
    kShareBelowKey,
    kSharePatienceKey,
    kShareAfterKey,
    kShareUnknownAfterKey,
});

constexpr About kHeadroom{
    .title = "Headroom: short jobs first, and no job long after its turn by an equal share.",
    .rule =
        "rank = time of submission + `stretch` x run time x sqrt(f), least first, where f = "
        "(service "
        "+ waiting work of the user) / weight, over the mean of that of all users, from 0.1 to 10. "
        "The run time is the estimate, else the time limit, else the bound of the class (a day for "
        "long). A job is due `overdue_after` x A after it began to wait, where A = the time that "
        "the "
        "cluster needs for all that runs and, of each user, for the work that is done before this "
        "user's is if users share the cluster by weight. Overdue jobs go before all others, the "
        "earliest due first. Both times are fixed when the job begins to wait, and again when its "
        "run time changes; a shorter one never makes it due later. A job that outlives its class "
        "joins the next one. A class that a user states is raised by one once (jobs of the user "
        "that outlived their class) - (jobs that kept to it) = `liar_after`. Backfill is EASY.",
    .reads =
        "Estimate, time limit, class, time of submission, GPUs and memory asked for, accounts "
        "(service, weight), run time, jobs that ended (run time, class).",
    .source =
        "berth's own. Its parts: short jobs first with ageing; due times as in the fair sojourn "
        "protocol (Friedman and Henderson, SIGMETRICS 2003), between users as in fair queueing "
        "(Demers, Keshav and Shenker, SIGCOMM 1989); EASY backfilling (Lifka, JSSPP 1995).",
    .differs = "Nothing to compare with: it is not published elsewhere.",
    .cost = "O(running) per pass, O(users + running) per submission.",
    .proof =
        "None yet. Our own tests check its promises to users on simulated days "
        "(test/property/fairness_test.cpp, test/property/starvation_test.cpp).",
    .keys = kHeadroomKeys,
    .check = check_class_bounds};

namespace {

constexpr double kLeastBurden = 0.1;
constexpr double kMostBurden = 10;

double thousandths(std::int64_t milli) { return static_cast<double>(milli) / 1000; }

/// Square roots and products of doubles are the same on every machine that berth runs on.
Duration times(Duration time, double factor) {
  constexpr auto kMost = static_cast<double>(kYear) * 1000;
  return Duration(
      static_cast<std::int64_t>(std::min(kMost, static_cast<double>(micros(time)) * factor)));
}

/// When it is the turn of a job.
struct Turn {
  Duration run{0};  ///< The run time that both rest on.
  Instant rank;     ///< The earlier goes first.
  Instant due;      ///< From then on it goes before all that are not overdue.
};
inline auto members(Turn& v) { return std::tie(v.run, v.rank, v.due); }

using Turns = std::map<JobId, Turn>;

class Headroom final : public Order {
 public:
  explicit Headroom(const Keys& keys)
      : judge_(keys),
        stretch_milli_(keys.number("stretch")),
        overdue_milli_(keys.number("overdue_after")),
        keys_(keys) {}

  void configure(PipelineOptions& options, Gates& gates) const override {
    options.classes = judge_.bounds();
    gates.list.push_back(idle_by({.below_percent = keys_.number(kShareBelowKey.name),
                                  .after = keys_.time(kShareAfterKey.name),
                                  .unknown = keys_.time(kShareUnknownAfterKey.name),
                                  .patience_milli = keys_.number(kSharePatienceKey.name),
                                  .classes = judge_.bounds()}));
  }

  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    Decisions decisions = judge_.judge(view, events);
    running_work_.reset();
    const bool is_fresh = std::exchange(is_fresh_, false);
    if (is_fresh) recall(view);
    for (const Event& event : events) note(event.job, view);
    if (is_fresh) view.for_each_pending([&](const JobView& job) { note(job.id(), view); });
    return decisions;
  }

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const auto found = turns_.find(job.id());
    if (found == turns_.end()) return {.rank = {.major = micros(job.in_line_since())}};
    const Turn& turn = found->second;
    if (turn.due <= view.now()) {
      return {.rank = {.major = micros(Instant::min()), .minor = micros(turn.due)}};
    }
    const Duration moved = job.in_line_since() - job.submitted();
    return {.rank = {.major = micros(turn.rank) + micros(moved)}, .valid_until = turn.due};
  }

  Snapshot save() const override {
    ByteWriter writer;
    writer.text(judge_.save());
    writer.text(saved(turns_));
    return writer.take();
  }
  Expected<void> restore(const Snapshot& bytes) override {
    is_fresh_ = true;
    ByteReader reader(bytes);
    const Snapshot judge(bytes.empty() ? "" : reader.text());
    const Snapshot turns(bytes.empty() ? "" : reader.text());
    if (reader.failed() || !reader.at_end()) {
      return fail(ErrorCode::BadData, "policy memory: not that of headroom");
    }
    if (auto done = judge_.restore(judge, "headroom"); !done) return done;
    return restore_into(turns_, turns, "headroom", [](const Turns&) { return true; });
  }

 private:
  /// The backlog as it was before the events of this pass, from the turns.
  void recall(const ClusterView& view) {
    std::erase_if(turns_, [&](const auto& turn) { return !view.knows(turn.first); });
    backlog_.clear();
    view.for_each_pending([&](const JobView& job) {
      const auto turn = turns_.find(job.id());
      if (turn != turns_.end()) add_to_backlog(job, turn->second.run, view);
    });
  }

  void add_to_backlog(const JobView& job, Duration run, const ClusterView& view) {
    const Work work = part_of(ask_of(job), view.cluster()) * Work{micros(run)};
    backlog_.add(job.id(), job.user(), work);
  }

  void note(JobId id, const ClusterView& view) {
    const Job* const job = view.find(id);
    if (job == nullptr) turns_.erase(id);
    backlog_.remove(id);
    if (job == nullptr || !is_waiting(job->state)) return;
    const JobView waiting = view.job(id);
    const Duration run = run_time(waiting);
    add_to_backlog(waiting, run, view);
    const auto found = turns_.find(id);
    if (found != turns_.end() && found->second.run == run) return;
    Turn turn = turn_of(waiting, run, view);
    const bool is_shorter = found != turns_.end() && run < found->second.run;
    if (is_shorter) turn.due = std::min(turn.due, found->second.due);
    turns_[id] = turn;
  }

  Duration run_time(const JobView& job) const {
    return supposed_run(job, judge_.class_of(job), judge_.bounds());
  }

  double burden_of(const JobView& job, const ClusterView& view) const {
    return std::clamp(backlog_.burden(job.user(), view), kLeastBurden, kMostBurden);
  }

  Turn turn_of(const JobView& job, Duration run, const ClusterView& view) {
    const double stretch = std::sqrt(burden_of(job, view)) * thousandths(stretch_milli_);
    const Duration ahead = backlog_.until_done(job.user(), running_work(view), view);
    return {.run = run,
            .rank = later(job.submitted(), times(run, stretch)),
            .due = overdue_milli_ == 0
                       ? kNever
                       : later(view.now(), times(ahead, thousandths(overdue_milli_)))};
  }

  /// What is left to do of the jobs that run; looked up once in a pass.
  Work running_work(const ClusterView& view) {
    if (running_work_) return *running_work_;
    Work sum = 0;
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      const Duration left = std::max(run_time(job) - job.progressed(), Duration::zero());
      sum += part_of(ask_of(job), view.cluster()) * Work{micros(left)};
    }
    return running_work_.emplace(sum);
  }

  ClassJudge judge_;
  std::int64_t stretch_milli_;
  std::int64_t overdue_milli_;
  Keys keys_;
  Turns turns_;
  Backlog backlog_;
  bool is_fresh_ = true;              ///< The waiting jobs were not looked at yet.
  std::optional<Work> running_work_;  ///< In this pass.
};

}  // namespace

std::unique_ptr<Order> headroom(const Keys& keys, const Knobs&) {
  return std::make_unique<Headroom>(keys);
}

}  // namespace berth
