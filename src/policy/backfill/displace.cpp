// Preemption by rank.
#include <algorithm>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/kit/coming_room.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/returning.hpp"
#include "policy/pipeline/victims.hpp"

namespace berth {

constexpr About kDisplace{
    .title = "Preemption: a job that does not fit may displace running jobs of worse rank.",
    .rule =
        "A job goes to what is free; else to what is being freed; else to what the fewest jobs of "
        "the worst ranks hold, of which only those in its way stop. A displaced job waits at its "
        "rank at once: it may displace others, is moved where it finds a place, and stays if the "
        "jobs that displaced it can go elsewhere. A job that finds nothing is passed. Where host "
        "memory for suspended jobs is bounded, a job displaces others only if what is left of it "
        "for each node on average would hold all that the job asks for.",
    .reads = "Ranks of running jobs, run times, host memory for suspended jobs.",
    .source = "Folklore; the rule of every preemptive order here.",
    .differs =
        "GPU memory is not free the moment a job is told to stop, so the job that displaced it is "
        "promised the place until it starts there. An order by what users hold (`drf`), which each "
        "start would change, and one in which ranks grow while jobs wait (`multifactor`) are "
        "refused: jobs would displace each other without end.",
    .cost =
        "O(lanes + victims) per pass, O(log victims) placements per job that displaces; O(victims) "
        "for a job that is submitted and waits, if the ranks of running jobs do not fall with "
        "time.",
    .proof = "None yet.",
    .needs = {.preemption = true},
    .passing = {.who = Passing::Who::Anybody,
                .returns_places = true,
                .by_holdings =
                    "orders users by what they hold, which every start changes, so that jobs would "
                    "displace each other without end",
                .by_lanes =
                    "ranks waiting jobs higher and higher, so that jobs would displace each other "
                    "without end"}};

namespace {

/// One pass.
class Displacement {
 public:
  Displacement(Walk& walk, const RunningIndex& running, const HostRoom& host, Vacancy& vacancy)
      : walk_(walk),
        view_(walk.view()),
        running_(running),
        host_(host),
        victims_(walk, running, host, vacancy),
        room_(walk.view(), walk.placer(), walk.trial(), vacancy),
        returning_(walk) {}

  void run();
  /// Requires: the pass is quiet, and the running jobs are still. Returns: true if all wait on, and
  /// the submitted jobs with them: none has a place, or displaces others. Else nothing has happened
  /// yet.
  bool all_wait_on();

 private:
  std::expected<void, Refusal> serve(const Head& head, const Ask& ask);
  Refusal refused(const Head& head, Refusal refusal) const;
  void serve(Returning& returning, const Head& head);
  bool displace_for(const Head& head, const Ask& ask);
  bool keep_promise(const Head& head, const Ask& ask);
  void promise(const Head& head, const Ask& ask, Placement placement);
  void start(JobId id, const Ask& ask, Placement placement);
  void wake_for_running();

  Walk& walk_;
  const ClusterView& view_;
  const RunningIndex& running_;
  const HostRoom& host_;
  Victims victims_;
  ComingRoom room_;  ///< Of those that stop already, or are displaced in this pass.
  ReturningJobs returning_;
  std::size_t placed_ = 0;  ///< Waiting jobs that were started or promised a place.
};

void Displacement::run() {
  for (const JobId id : running_.leaving()) {
    room_.add(id);
    if (!view_.job(id).ending()) returning_.add(id, Returning::Stops::Already);
  }
  walk_.begin_open();
  for (;;) {
    returning_.join();
    const auto head = walk_.next();
    if (!head) break;
    const Ask ask = walk_.ask_of(*head->lane);
    if (head->is_guest) {
      serve(returning_.of(head->job()), *head);
    } else if (const auto served = serve(*head, ask); served) {
      walk_.pass_on(*head);
    } else {
      Walk::close(*head, served.error());
    }
  }
  walk_.end();
  returning_.stop(room_.promised());
  walk_.keep({room_.promised().begin(), room_.promised().end()});
  if (victims_.were_asked() || placed_ < walk_.context().index.size()) wake_for_running();
}

bool Displacement::all_wait_on() {
  for (const Event& event : walk_.context().events) {
    const Lane* const lane = walk_.context().index.lane_of(event.job);
    if (lane == nullptr || lane->closed) continue;  // it stands behind one that waits
    const auto head = walk_.head_of(lane->jobs.begin()->job);
    const Ask ask = walk_.ask_of(*head->lane);
    const Placed placed = walk_.place(head->job(), ask);
    if (placed || placed.error().is_personal()) return false;
    if (victims_.choose(*head, ask, {})) return false;
    Walk::close(*head, refused(*head, placed.error()));
  }
  walk_.end();
  if (!walk_.context().index.empty()) wake_for_running();
  return true;
}

/// Time alone may make a running job displaceable that is not now.
void Displacement::wake_for_running() {
  victims_.rank_others();
  if (const auto change = running_.next_change()) walk_.wake(*change);
  if (!running_.empty()) walk_.wake(later(view_.now(), running_.quantum()));
}

/// Returns: nothing if the job got a place, now or promised.
std::expected<void, Refusal> Displacement::serve(const Head& head, const Ask& ask) {
  const Why known = walk_.refused_before(head.job(), ask);
  if (known != Why::Fits) return std::unexpected(refused(head, {.why = known}));
  if (keep_promise(head, ask)) return {};
  Placed placed = walk_.find(head.job(), ask);
  if (placed) {
    start(head.job(), ask, std::move(*placed));
    return {};
  }
  if (auto place = room_.place(head.job(), ask)) {
    promise(head, ask, std::move(*place));
    return {};
  }
  if (displace_for(head, ask)) return {};
  walk_.rule_out(ask, placed.error());
  return std::unexpected(refused(head, placed.error()));
}

/// With the reason why nobody makes room, where it is not a matter of ranks.
Refusal Displacement::refused(const Head& head, Refusal refusal) const {
  if (refusal.why != Why::Capacity || !HostRoom::is_bounded(view_)) return refusal;
  const JobView job = view_.job(head.job());
  if (!walk_.order().is_settled(job) && !host_.has_room_for(job, view_)) {
    refusal.gate.what = GateWord::What::HostMemory;
  }
  return refusal;
}

/// As a job that waits, but for this: it cannot start yet, so whatever it gets is promised.
void Displacement::serve(Returning& returning, const Head& head) {
  const Ask ask = walk_.ask_of(*head.lane);
  if (walk_.why_ruled_out(ask) != Why::Fits || keep_promise(head, ask)) return;
  if (auto place = room_.place(head.job(), ask)) {
    if (returning.stops == Returning::Stops::Now && room_.spare(head.job(), ask)) {
      returning.stops = Returning::Stops::Never;
    } else {
      promise(head, ask, std::move(*place));
    }
  } else if (!displace_for(head, ask)) {
    walk_.rule_out(ask, Refusal{});
  }
}

void Displacement::start(JobId id, const Ask& ask, Placement placement) {
  walk_.start(id, ask, std::move(placement),
              room_.promised().empty() ? Because::ItsTurn : Because::Backfilled);
  ++placed_;
}

/// The place promised to this job in an earlier pass, if it is free by now; else any that is, since
/// whoever leaves may take long; else the promised one while it is being freed.
bool Displacement::keep_promise(const Head& head, const Ask& ask) {
  const JobId id = head.job();
  const auto hold = std::ranges::find(view_.holds(), id, &Hold::job);
  if (hold == view_.holds().end() || hold->ask.request != ask.request) return false;
  if (!head.is_guest && walk_.trial().look(hold->placement, ask, id) == Why::Fits) {
    start(id, ask, hold->placement);
    return true;
  }
  if (!head.is_guest) {
    if (Placed placed = walk_.find(id, ask)) {
      start(id, ask, std::move(*placed));
      return true;
    }
  }
  if (room_.look(hold->placement, ask, id) != Why::Fits) return false;
  promise(head, ask, hold->placement);
  return true;
}

/// One that is stopped in this pass is only moved by it.
void Displacement::promise(const Head& head, const Ask& ask, Placement placement) {
  room_.promise(head.job(), ask, std::move(placement));
  Walk::note(head, {.why = Why::Capacity});
  if (head.is_guest) return;  // its user's berth is counted already
  walk_.tally().take(head.job(), ask.gpus());
  ++placed_;
}

bool Displacement::displace_for(const Head& head, const Ask& ask) {
  auto chosen = victims_.choose(head, ask, room_.leaving());
  if (!chosen) return false;
  for (const JobId victim : chosen->jobs) {
    room_.add(victim);
    returning_.add(victim, Returning::Stops::Now);
  }
  promise(head, ask, std::move(chosen->placement));
  return true;
}

class Displace final : public Backfill {
 public:
  /// Ranks move, and with them what a job may displace.
  bool looks_again(const ClusterView& view, std::span<const Event> events) const override {
    const auto is_new = [](const Event& event) { return event.kind == EventKind::Submitted; };
    return !is_settled_ || !running_.is_still(view.now()) || HostRoom::is_bounded(view) ||
           !view.holds().empty() || !std::ranges::all_of(events, is_new);
  }

  void run(Walk& walk) override {
    const bool is_quiet =
        walk.context().is_quiet && !looks_again(walk.view(), walk.context().events);
    running_.follow(walk.context());
    host_.follow(walk.view(), walk.context().events, walk.context().is_fresh);
    if (is_quiet && Displacement(walk, running_, host_, vacancy_).all_wait_on()) return;
    walk.context().index.reopen();
    Displacement(walk, running_, host_, vacancy_).run();
    is_settled_ = walk.decisions().list.empty();
  }

 private:
  RunningIndex running_;
  HostRoom host_;
  Vacancy vacancy_;
  /// The last pass decided nothing: what starts may be displaced when it runs.
  bool is_settled_ = false;
};

}  // namespace

std::unique_ptr<Backfill> displace(const Keys&) { return std::make_unique<Displace>(); }

}  // namespace berth
