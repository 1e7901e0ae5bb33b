// Headroom, the default policy. doc/adr/0023 argues its rule, 0013 its due times, doc/headroom.md
// its defaults.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/wide.hpp"
#include "policy/gates.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/user_services.hpp"
#include "policy/order/backlog.hpp"
#include "policy/order/class_judge.hpp"
#include "policy/order/running_work.hpp"
#include "policy/pipeline/gate.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kHeadroomKeys = std::to_array<Key>({
    kShortBoundKey,
    kMediumBoundKey,
    {.name = "fairness",
     .type = KeyType::Factor,
     .usual = "1",
     .least = 0,
     .most = 10'000,
     .what =
         "The jobs of a user with twice the service of another go as if they ran 2 ^ this times as "
         "long. 0: users do not matter."},
    {.name = "overdue_after",
     .type = KeyType::Factor,
     .usual = "10",
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
    .title = "Headroom: short jobs and users with little service first, and nobody for ever last.",
    .rule =
        "rank = lg(run time) + `fairness` x lg(service of the user / weight), least first; of "
        "equal "
        "ranks the earliest submitted. lg counts sixteenths of an octave. The run time is the "
        "estimate, else the time limit, else the bound of the class (a day for long). Service is "
        "that of `fair-share`, looked at every ten minutes, and at least a thousandth of the "
        "mean of all users. A job is due `overdue_after` x A after it began to wait, where A = the "
        "time that the cluster needs for all that runs and, of each user, for the work that is "
        "done before this user's is if users share the cluster by weight. Overdue jobs go before "
        "all others, the earliest due first. A is fixed when the job begins to wait, and again "
        "when its run time changes; a shorter one never makes it due later. A job that outlives "
        "its class joins the next one. A class that a user states is raised by one once (jobs of "
        "the user that outlived their class) - (jobs that kept to it) = `liar_after`. Backfill is "
        "EASY.",
    .reads =
        "Estimate, time limit, class, time of submission, GPUs and memory asked for, accounts "
        "(service, weight), run time, jobs that ended (run time, class).",
    .source =
        "berth's own. Its parts: shortest job first; fair share by decayed dominant service; due "
        "times as in the fair sojourn protocol (Friedman and Henderson, SIGMETRICS 2003), between "
        "users as in fair queueing (Demers, Keshav and Shenker, SIGCOMM 1989); EASY backfilling "
        "(Lifka, JSSPP 1995).",
    .differs = "Nothing to compare with: it is not published elsewhere.",
    .cost = "O(users + lanes) per pass, O(users + log running) per submission.",
    .proof =
        "None yet. Our own tests check its promises to users on simulated days "
        "(test/property/fairness_test.cpp, test/property/starvation_test.cpp).",
    .keys = kHeadroomKeys,
    .check = check_class_bounds};

namespace {

constexpr std::int64_t kLeastPartOfMean = 1000;

/// 16 x log2, rounded down, between powers of two a straight line. Requires: of >= 1.
constexpr std::int64_t lg(std::uint64_t of) {
  const int octave = static_cast<int>(std::bit_width(of)) - 1;
  const std::uint64_t sixteenths = octave >= 4 ? of >> (octave - 4) : of << (4 - octave);
  return 16 * octave + static_cast<std::int64_t>(sixteenths & 15U);
}

constexpr std::int64_t lg(std::int64_t of) {
  return lg(static_cast<std::uint64_t>(std::max<std::int64_t>(of, 1)));
}

Duration times(Duration time, std::int64_t milli) {
  constexpr Wide kMost = Wide{kYear} * 1000;
  return Duration(static_cast<std::int64_t>(std::min(kMost, Wide{micros(time)} * milli / 1000)));
}

/// When a job is overdue.
struct Due {
  Duration run{0};  ///< The run time that it rests on.
  Instant at;       ///< From then on it goes before all that are not overdue.
};
inline auto members(Due& v) { return std::tie(v.run, v.at); }

class Headroom final : public Order {
 public:
  explicit Headroom(const Keys& keys)
      : judge_(keys),
        fairness_milli_(keys.number("fairness")),
        overdue_milli_(keys.number("overdue_after")),
        keys_(keys) {}

  DependsOn depends_on() const override { return DependsOn::Lane; }

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
    const bool is_fresh = std::exchange(is_fresh_, false);
    running_.follow(view, events, judge_, is_fresh);
    if (is_fresh) recall(view);
    for (const Event& event : events) note(event.job, view);
    if (is_fresh) view.for_each_pending([&](const JobView& job) { note(job.id(), view); });
    if (const Instant before = had_.at; had_.follow(view), had_.at != before) ++lanes_version_;
    const bool any_waits = view.job_count() > view.running().size();
    if (any_waits)
      decisions.wake_at = std::min(decisions.wake_at.value_or(kNever), had_.next_look());
    return decisions;
  }

  /// Of a user's jobs, whose service moves them all together: a lane has all that ask for as much.
  Ranked rank(const JobView& job, const ClusterView&) const override {
    const Due* const due = dues_.find(job.id());
    if (due != nullptr && due->at <= had_.at) return {.rank = rank_of(*due), .valid_until = {}};
    return {.rank = {.major = lg(micros(run_time(job))), .minor = micros(job.in_line_since())},
            .valid_until = due == nullptr || due->at == kNever
                               ? std::nullopt
                               : std::optional(UserServices::look_from(due->at))};
  }
  Rank lane_rank(const JobView& job, const ClusterView&) const override {
    const Due* const due = dues_.find(job.id());
    if (due != nullptr && due->at <= had_.at) return rank_of(*due);
    const std::int64_t had = std::max(had_.mean / kLeastPartOfMean, had_.of(job.user()));
    return {.major = 1000 * lg(micros(run_time(job))) + fairness_milli_ * lg(had),
            .minor = micros(job.in_line_since())};
  }

  std::optional<std::uint64_t> lanes_version() const override { return lanes_version_; }

  Snapshot save() const override {
    ByteWriter writer;
    writer.text(judge_.save());
    std::map<JobId, Due> dues;
    dues_.for_each([&](JobId id, const Due& due) { dues.emplace_hint(dues.end(), id, due); });
    writer.text(saved(dues));
    writer.text(saved(had_));
    return writer.take();
  }
  Expected<void> restore(const Snapshot& bytes) override {
    is_fresh_ = true;
    ByteReader reader(bytes);
    const Snapshot judge(bytes.empty() ? "" : reader.text());
    const Snapshot dues(bytes.empty() ? "" : reader.text());
    const Snapshot had(bytes.empty() ? "" : reader.text());
    if (reader.failed() || !reader.at_end()) {
      return fail(ErrorCode::BadData, "policy memory: not that of headroom");
    }
    if (auto done = judge_.restore(judge, "headroom"); !done) return done;
    const auto any = [](const auto&) { return true; };
    if (auto done = restore_into(had_, had, "headroom", any); !done) return done;
    std::map<JobId, Due> known;
    if (auto done = restore_into(known, dues, "headroom", any); !done) return done;
    dues_ = {};
    for (const auto& [id, due] : known) dues_.insert(id, due);
    return {};
  }

 private:
  /// The backlog as it was before the events of this pass, from the due times.
  void recall(const ClusterView& view) {
    std::vector<JobId> gone;
    dues_.for_each([&](JobId id, const Due&) {
      if (!view.knows(id)) gone.push_back(id);
    });
    for (const JobId id : gone) dues_.erase(id);
    backlog_.clear();
    view.for_each_pending([&](const JobView& job) {
      if (const Due* const due = dues_.find(job.id())) add_to_backlog(job, due->run, view);
    });
  }

  void add_to_backlog(const JobView& job, Duration run, const ClusterView& view) {
    const Work work = part_of(ask_of(job), view.cluster()) * Work{micros(run)};
    backlog_.add(job.id(), job.user(), work);
  }

  void note(JobId id, const ClusterView& view) {
    const Job* const job = view.find(id);
    Due* const known = dues_.find(id);
    if (job == nullptr && known != nullptr) dues_.erase(id);
    backlog_.remove(id);
    if (job == nullptr || !is_waiting(job->state)) return;
    const JobView waiting = view.job(id);
    const Duration run = run_time(waiting);
    add_to_backlog(waiting, run, view);
    if (known != nullptr && known->run == run) return;
    Due due = due_of(waiting, run, view);
    if (known != nullptr && run < known->run) due.at = std::min(due.at, known->at);
    if (known == nullptr) {
      dues_.insert(id, due);
    } else {
      *known = due;
    }
  }

  Duration run_time(const JobView& job) const {
    return supposed_run(job, judge_.class_of(job), judge_.bounds());
  }

  /// Of one that is overdue: before all that are not.
  static Rank rank_of(const Due& due) {
    return {.major = micros(Instant::min()), .minor = micros(due.at)};
  }

  Due due_of(const JobView& job, Duration run, const ClusterView& view) {
    const Duration ahead = backlog_.until_done(job.user(), running_.left(view.now()), view);
    const Instant due = later(view.now(), times(ahead, overdue_milli_));
    return {.run = run, .at = overdue_milli_ == 0 ? kNever : due};
  }

  ClassJudge judge_;
  std::int64_t fairness_milli_;
  std::int64_t overdue_milli_;
  Keys keys_;
  IdMap<JobId, Due> dues_;
  Backlog backlog_;
  RunningWork running_;
  UserServices had_;
  std::uint64_t lanes_version_ = 0;  ///< Of what users had.
  bool is_fresh_ = true;             ///< No job was looked at yet.
};

}  // namespace

std::unique_ptr<Order> headroom(const Keys& keys, const Knobs&) {
  return std::make_unique<Headroom>(keys);
}

}  // namespace berth
