// Conservative backfilling.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/bytes.hpp"
#include "policy/backfills.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/kit/profile.hpp"
#include "policy/pipeline/backfill.hpp"

namespace berth {

constexpr About kConservative{
    .title =
        "Conservative backfilling: every job is booked on arrival, and none is delayed by another.",
    .rule =
        "booking = the earliest time from which GPUs are free for all of the job's planned run, "
        "beside running jobs and earlier bookings; it starts then at the latest. When a job leaves "
        "before its plan, bookings move forward one by one, in rank order, each to the "
        "earliest time there is; none moves back. When a job stays longer, or GPUs fail, all jobs "
        "are booked again in that order. A job that outlives its estimate is taken to need twice "
        "as long, and so on; one without a limit or an estimate is taken to run for a year.",
    .reads = "Time limit or else estimate, run time.",
    .source = "Mu'alem and Feitelson, TPDS 2001.",
    .differs =
        "GPUs are places, so a booking is one too; only with placement `count` and whole GPUs is "
        "it a number of them, as published. A GPU that is shared by successive bookings is taken "
        "to hold all of them at once. A job over its user's limits is not booked. An order by "
        "what users hold (`drf`) is refused, because each booking would change it.",
    .cost =
        "O(GPUs + running + waiting) per pass, O(running + waiting) per booking, and by place as "
        "many placements.",
    .proof =
        "An independent restatement of the published definition on 300 random traces: every job "
        "starts at the same second (test/paper/conservative_test.cpp).",
    .needs = {.estimates = true}};

namespace {

/// How many bookings are shown as places kept.
constexpr std::ptrdiff_t kShown = 16;

class Conservative final : public Backfill {
 public:
  void run(Walk& walk) override {
    update(walk);
    book(walk);
    start_due(walk);
    outlook_.note(walk.view(), walk.started());
    wake(walk);
    show(walk);
  }
  Snapshot save() const override;
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  void update(Walk& walk);
  void enter(JobId id, Walk& walk);
  void leave(JobId id);
  void sort(Walk& walk);
  By measure(const Walk& walk) const;
  void book(Walk& walk);
  void book_again(const Walk& walk);
  void book_arrived(const Walk& walk);
  void move_forward(const Walk& walk);
  bool set(Booking& booking, std::optional<Slot> slot);
  void start_due(Walk& walk);
  std::optional<Placement> place_now(const Booking& booking, const Ask& ask, Walk& walk) const;
  void wake(Walk& walk) const;
  void show(Walk& walk) const;

  std::map<Standing, Booking> queue_;        ///< Every job that waits, booked or not.
  std::map<JobId, Standing> standings_;      ///< Where each is in it.
  std::set<std::pair<Instant, JobId>> due_;  ///< The bookings, by when they begin.
  std::map<JobId, Booking> restored_;  ///< Of a snapshot: it may name jobs and GPUs there are not.
  bool is_unseen_ = true;              ///< No pass yet: look at everything.
  bool is_empty_ = true;               ///< Neither a pass nor a memory yet.
  By by_ = By::Place;                  ///< How they were booked.
  std::optional<Profile> profile_;     ///< With what is booked, if it is there.
  Outlook outlook_;                    ///< What the bookings rest on.
  std::vector<JobId> arrived_;         ///< In this pass: waiting, and not booked yet.
  bool is_freed_ = false;              ///< In this pass a booking was given up.
  Instant guessed_ = kNever;  ///< Of the last booking: from then on, times rest on guesses.
};

/// A job that an event names is booked again, if it waits.
void Conservative::update(Walk& walk) {
  arrived_.clear();
  is_freed_ = false;
  is_empty_ = false;
  if (std::exchange(is_unseen_, false)) {
    for (const auto& [key, lane] : walk.context().index.lanes()) {
      for (const Position& position : lane.jobs) enter(position.job, walk);
    }
    is_freed_ =
        std::ranges::any_of(restored_, [](const auto& entry) { return entry.second.is_made(); });
    restored_.clear();
  }
  for (const Event& event : walk.context().events) {
    leave(event.job);
    enter(event.job, walk);
  }
  const bool moves = walk.order().depends_on() != DependsOn::Job || walk.context().ranks_expired;
  if (moves || walk.context().is_fresh) sort(walk);
}

void Conservative::leave(JobId id) {
  const auto standing = standings_.find(id);
  if (standing == standings_.end()) return;
  const auto found = queue_.find(standing->second);
  is_freed_ = is_freed_ || found->second.is_made();
  due_.erase({found->second.from, id});
  queue_.erase(found);
  standings_.erase(standing);
  if (profile_) profile_->remove(id);
}

void Conservative::enter(JobId id, Walk& walk) {
  if (walk.context().index.lane_of(id) == nullptr || standings_.contains(id)) return;
  const Standing standing = walk.standing_of(id);
  standings_.emplace(id, standing);
  Booking& booking = queue_.emplace(standing, Booking{.job = id}).first->second;
  if (const auto known = restored_.find(id); known != restored_.end()) {
    const Cluster& cluster = walk.view().cluster();
    const auto& [gpus, host] = known->second.place;
    const bool is_there = host.value() < cluster.nodes().size() &&
                          (gpus.empty() || gpus.back().value() < cluster.gpus().size()) &&
                          std::ssize(gpus) == walk.view().job(id).gpus().raw();
    if (is_there || !known->second.is_made()) {
      set(booking, Slot{known->second.from, std::move(known->second.place)});
      restored_.erase(known);
      return;
    }
  }
  arrived_.push_back(id);
}

/// Ranks have moved: every job goes where it stands now. One that is not in the index is gone.
void Conservative::sort(Walk& walk) {
  std::map<Standing, Booking> before = std::exchange(queue_, {});
  for (auto& [was, booking] : before) {
    if (walk.context().index.lane_of(booking.job) == nullptr) {
      is_freed_ = is_freed_ || booking.is_made();
      due_.erase({booking.from, booking.job});
      standings_.erase(booking.job);
      if (profile_) profile_->remove(booking.job);
      continue;
    }
    const Standing standing = walk.standing_of(booking.job);
    standings_[booking.job] = standing;
    queue_.emplace(standing, std::move(booking));
  }
}

By Conservative::measure(const Walk& walk) const {
  const ClusterView& view = walk.view();
  const auto is_number = [&](JobId id) { return only_number_matters(*view.find(id)); };
  const auto job_of = [](const auto& entry) { return entry.second.job; };
  const bool all = walk.placer().is_fungible() && std::ranges::all_of(view.running(), is_number) &&
                   std::ranges::all_of(queue_, is_number, job_of);
  return all ? By::Number : By::Place;
}

/// Books the jobs that arrived; moves those booked before, where the outlook has changed.
void Conservative::book(Walk& walk) {
  const ClusterView& view = walk.view();
  const By by = measure(walk);
  const bool measured_otherwise = std::exchange(by_, by) != by;
  const bool is_late = !due_.empty() && due_.begin()->first < view.now();
  const bool all_again = measured_otherwise || view.settings().limits.any() || is_late;
  const Outlook::Change change = all_again ? Outlook::Change::Other : outlook_.look(view);
  const bool none = change == Outlook::Change::None && !is_freed_;
  if (queue_.empty() || (none && arrived_.empty())) return;
  const bool is_kept =
      profile_ && profile_->by() == by && by == By::Place && change != Outlook::Change::Other;
  if (!is_kept) profile_.emplace(by);
  profile_->look(view);
  if (change == Outlook::Change::Other) {
    book_again(walk);
  } else {
    for (const auto& [at, booking] : queue_) {
      if (!is_kept && booking.is_made()) profile_->add(booking);
    }
    if (!none) move_forward(walk);
    book_arrived(walk);
  }
  guessed_ = profile_->guessed();
}

/// Returns: whether it is booked now.
bool Conservative::set(Booking& booking, std::optional<Slot> slot) {
  due_.erase({booking.from, booking.job});
  booking.from = slot ? slot->from : kNever;
  booking.place = slot ? std::move(slot->place) : Placement{};
  if (booking.is_made()) due_.insert({booking.from, booking.job});
  return booking.is_made();
}

void Conservative::book_again(const Walk& walk) {
  Tally tally(walk.view(), Tally::From::Now);
  for (auto& [at, booking] : queue_) {
    const Slot old{.from = booking.from, .place = std::move(booking.place)};
    set(booking, std::nullopt);
    const JobView job = walk.view().job(booking.job);
    if (!tally.allows(job)) continue;
    if (!set(booking, profile_->earliest(job, walk.placer(), kNever, old))) continue;
    profile_->add(booking);
    tally.take(job);
  }
}

void Conservative::book_arrived(const Walk& walk) {
  std::ranges::sort(arrived_, {}, [&](JobId id) { return standings_.at(id); });
  for (const JobId id : arrived_) {
    Booking& booking = queue_.at(standings_.at(id));
    if (booking.is_made()) continue;
    auto slot = profile_->earliest(walk.view().job(id), walk.placer(), kNever);
    if (set(booking, std::move(slot))) profile_->add(booking);
  }
}

void Conservative::move_forward(const Walk& walk) {
  for (auto& [at, booking] : queue_) {
    if (booking.from <= walk.view().now()) continue;
    if (booking.is_made()) profile_->remove(booking.job);
    auto slot = profile_->earliest(walk.view().job(booking.job), walk.placer(), booking.from);
    if (slot) set(booking, std::move(slot));
    if (booking.is_made()) profile_->add(booking);
  }
}

void Conservative::start_due(Walk& walk) {
  std::vector<Standing> due;
  for (const auto& [from, id] : due_) {
    if (from > walk.view().now()) break;
    due.push_back(standings_.at(id));
  }
  std::ranges::sort(due);
  for (const Standing& standing : due) {
    const auto at = queue_.find(standing);
    const Booking& booking = at->second;
    const Ask ask = walk.ask_of(*walk.context().index.lane_of(booking.job));
    auto place = place_now(booking, ask, walk);
    if (!place) continue;
    const JobId id = booking.job;
    walk.start(id, ask, std::move(*place),
               at == queue_.begin() ? Because::ItsTurn : Because::Backfilled);
    if (profile_) profile_->remove(id);
    due_.erase({booking.from, id});
    standings_.erase(id);
    queue_.erase(at);
  }
}

/// Where a job that is due starts; by number any place will do.
std::optional<Placement> Conservative::place_now(const Booking& booking, const Ask& ask,
                                                 Walk& walk) const {
  if (walk.trial().look(booking.place, ask, booking.job) == Why::Fits) return booking.place;
  if (by_ == By::Place) return std::nullopt;
  Placed placed = walk.placer().place(ask, booking.job, walk.trial());
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

/// Usually a job ends then, but where bookings have moved none may. A job that waits for one that
/// is over its plan is looked at when that one ends.
void Conservative::wake(Walk& walk) const {
  const Instant soon = later(walk.view().now(), kMoment);
  const auto next = due_.upper_bound({soon, kLastJob});
  if (next != due_.end()) walk.wake(next->first);
}

void Conservative::show(Walk& walk) const {
  std::vector<Hold> holds;
  for (const auto& [at, booking] : queue_) {
    if (std::ssize(holds) == kShown) break;
    if (!booking.is_made()) continue;
    holds.push_back({.job = booking.job,
                     .ask = ask_of(walk.view().job(booking.job)),
                     .placement = booking.place,
                     .from = booking.from < guessed_ ? booking.from : kNever});
  }
  walk.keep(std::move(holds));
}

Snapshot Conservative::save() const {
  ByteWriter writer;
  if (is_empty_) return {};
  outlook_.save(writer);
  writer.integer(by_ == By::Number ? 1 : 0);
  writer.integer(micros(guessed_));
  const auto write = [&](const Booking& booking) {
    writer.integer(static_cast<std::int64_t>(booking.job.value()));
    writer.integer(micros(booking.from));
    writer.integer(booking.place.host.value());
    writer.integer(std::ssize(booking.place.gpus));
    for (const GpuId gpu : booking.place.gpus) writer.integer(gpu.value());
  };
  for (const auto& [id, booking] : restored_) write(booking);
  for (const auto& [id, standing] : standings_) write(queue_.at(standing));
  return writer.take();
}

Expected<void> Conservative::restore(const Snapshot& bytes) {
  queue_.clear();
  standings_.clear();
  due_.clear();
  restored_.clear();
  profile_.reset();
  is_unseen_ = true;
  is_empty_ = bytes.empty();
  outlook_ = {};
  if (bytes.empty()) return {};
  ByteReader reader(bytes);
  outlook_.restore(reader);
  by_ = reader.integer() == 1 ? By::Number : By::Place;
  guessed_ = instant_from_micros(reader.integer());
  while (!reader.at_end()) {
    Booking booking{.job = JobId(static_cast<JobId::rep>(reader.integer()))};
    booking.from = instant_from_micros(reader.integer());
    booking.place.host = NodeId(static_cast<NodeId::rep>(reader.integer()));
    for (std::int64_t left = reader.integer(); left > 0 && !reader.failed(); --left) {
      const GpuId gpu(static_cast<GpuId::rep>(reader.integer()));
      auto& gpus = booking.place.gpus;
      if (!gpus.empty() && gpu <= gpus.back()) reader.fail();
      gpus.push_back(gpu);
    }
    const JobId job = booking.job;
    if (!restored_.emplace(job, std::move(booking)).second) reader.fail();
  }
  if (!reader.failed()) return {};
  return fail(ErrorCode::BadData, "policy memory: not the bookings of conservative");
}

}  // namespace

std::unique_ptr<Backfill> conservative() { return std::make_unique<Conservative>(); }

}  // namespace berth
