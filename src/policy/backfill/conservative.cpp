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
        "to hold all of them at once. A job over its user's limits is not booked.",
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

/// A waiting job, booked or not.
struct Waiting {
  Standing at;
  Booking booking;

  JobId job() const { return booking.job; }
};

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
  void start_due(Walk& walk);
  std::optional<Placement> place_now(const Booking& booking, const Ask& ask, Walk& walk) const;
  void wake(Walk& walk) const;
  void show(Walk& walk) const;

  std::vector<Waiting> queue_;  ///< In rank order.
  std::set<JobId> queued_;
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
    for (Waiting& waiting : std::exchange(queue_, {})) {
      const JobId job = waiting.job();
      restored_.emplace(job, std::move(waiting.booking));
    }
    queued_.clear();
    for (const auto& [key, lane] : walk.context().index.lanes()) {
      for (const Position& position : lane.jobs) enter(position.job, walk);
    }
    is_freed_ = !restored_.empty();
    restored_.clear();
  } else {
    for (const Event& event : walk.context().events) {
      leave(event.job);
      enter(event.job, walk);
    }
  }
  const bool moves = walk.order().depends_on() != DependsOn::Job || walk.context().ranks_expired;
  if (moves || walk.context().is_fresh) sort(walk);
}

void Conservative::leave(JobId id) {
  if (queued_.erase(id) == 0) return;
  const auto found = std::ranges::find(queue_, id, &Waiting::job);
  is_freed_ = is_freed_ || found->booking.is_made();
  queue_.erase(found);
  if (profile_) profile_->remove(id);
}

void Conservative::enter(JobId id, Walk& walk) {
  if (walk.context().index.lane_of(id) == nullptr || !queued_.insert(id).second) return;
  Waiting waiting{.at = walk.standing_of(id), .booking = {.job = id}};
  if (const auto known = restored_.find(id); known != restored_.end()) {
    const Cluster& cluster = walk.view().cluster();
    const auto& [host_gpus, host] = known->second.place;
    const bool is_there = host.value() < cluster.nodes().size() &&
                          (host_gpus.empty() || host_gpus.back().value() < cluster.gpus().size()) &&
                          std::ssize(host_gpus) == walk.view().job(id).gpus().raw();
    if (is_there || !known->second.is_made()) {
      waiting.booking = std::move(known->second);
      restored_.erase(known);
    }
  }
  if (!waiting.booking.is_made()) arrived_.push_back(id);
  const auto at = walk.context().is_fresh  // then all are sorted in the end
                      ? queue_.end()
                      : std::ranges::upper_bound(queue_, waiting.at, {}, &Waiting::at);
  queue_.insert(at, std::move(waiting));
}

void Conservative::sort(Walk& walk) {
  std::erase_if(queue_, [&](const Waiting& waiting) {
    const bool is_out = walk.context().index.lane_of(waiting.job()) == nullptr;
    if (is_out) queued_.erase(waiting.job());
    if (is_out && profile_) profile_->remove(waiting.job());
    is_freed_ = is_freed_ || is_out;
    return is_out;
  });
  for (Waiting& waiting : queue_) waiting.at = walk.standing_of(waiting.job());
  std::ranges::sort(queue_, {}, &Waiting::at);
}

By Conservative::measure(const Walk& walk) const {
  const ClusterView& view = walk.view();
  const auto is_number = [&](JobId id) { return only_number_matters(*view.find(id)); };
  const bool all = walk.placer().is_fungible() && std::ranges::all_of(view.running(), is_number) &&
                   std::ranges::all_of(queue_, is_number, &Waiting::job);
  return all ? By::Number : By::Place;
}

/// Books the jobs that arrived; moves those booked before, where the outlook has changed.
void Conservative::book(Walk& walk) {
  const ClusterView& view = walk.view();
  const auto is_late = [&](const Waiting& waiting) { return waiting.booking.from < view.now(); };
  const By by = measure(walk);
  const bool measured_otherwise = std::exchange(by_, by) != by;
  const bool all_again =
      measured_otherwise || view.settings().limits.any() || std::ranges::any_of(queue_, is_late);
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
    for (const Waiting& waiting : queue_) {
      if (!is_kept && waiting.booking.is_made()) profile_->add(waiting.booking);
    }
    if (!none) move_forward(walk);
    book_arrived(walk);
  }
  guessed_ = profile_->guessed();
}

void Conservative::book_again(const Walk& walk) {
  Tally tally(walk.view(), Tally::From::Now);
  for (auto& [at, booking] : queue_) {
    const Slot old{.from = std::exchange(booking.from, kNever),
                   .place = std::exchange(booking.place, {})};
    const JobView job = walk.view().job(booking.job);
    if (!tally.allows(job)) continue;
    auto slot = profile_->earliest(job, walk.placer(), kNever, old);
    if (!slot) continue;
    booking = {.job = booking.job, .from = slot->from, .place = std::move(slot->place)};
    profile_->add(booking);
    tally.take(job);
  }
}

void Conservative::book_arrived(const Walk& walk) {
  for (auto& [at, booking] : queue_) {
    if (booking.is_made() || std::ranges::find(arrived_, booking.job) == arrived_.end()) continue;
    auto slot = profile_->earliest(walk.view().job(booking.job), walk.placer(), kNever);
    if (!slot) continue;
    booking = {.job = booking.job, .from = slot->from, .place = std::move(slot->place)};
    profile_->add(booking);
  }
}

void Conservative::move_forward(const Walk& walk) {
  for (auto& [at, booking] : queue_) {
    if (booking.from <= walk.view().now()) continue;
    if (booking.is_made()) profile_->remove(booking.job);
    auto slot = profile_->earliest(walk.view().job(booking.job), walk.placer(), booking.from);
    if (slot) booking = {.job = booking.job, .from = slot->from, .place = std::move(slot->place)};
    if (booking.is_made()) profile_->add(booking);
  }
}

void Conservative::start_due(Walk& walk) {
  bool is_first = true;
  std::erase_if(queue_, [&](const Waiting& waiting) {
    const Ask ask = walk.ask_of(*walk.context().index.lane_of(waiting.job()));
    auto place = place_now(waiting.booking, ask, walk);
    is_first = is_first && place.has_value();
    if (!place) return false;
    if (profile_) profile_->remove(waiting.job());
    queued_.erase(waiting.job());
    walk.start(waiting.job(), ask, std::move(*place),
               is_first ? Because::ItsTurn : Because::Backfilled);
    return true;
  });
}

/// Where a job that is due starts; by number any place will do.
std::optional<Placement> Conservative::place_now(const Booking& booking, const Ask& ask,
                                                 Walk& walk) const {
  if (booking.from > walk.view().now()) return std::nullopt;
  if (walk.trial().look(booking.place, ask, booking.job) == Why::Fits) return booking.place;
  if (by_ == By::Place) return std::nullopt;
  Placed placed = walk.placer().place(ask, booking.job, walk.trial());
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

/// Usually a job ends then, but where bookings have moved none may. A job that waits for one that is
/// over its plan is looked at when that one ends.
void Conservative::wake(Walk& walk) const {
  for (const Waiting& waiting : queue_) {
    if (waiting.booking.from > later(walk.view().now(), kMoment)) walk.wake(waiting.booking.from);
  }
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
  for (const auto& [at, booking] : queue_) {
    writer.integer(static_cast<std::int64_t>(booking.job.value()));
    writer.integer(micros(booking.from));
    writer.integer(booking.place.host.value());
    writer.integer(std::ssize(booking.place.gpus));
    for (const GpuId gpu : booking.place.gpus) writer.integer(gpu.value());
  }
  return writer.take();
}

Expected<void> Conservative::restore(const Snapshot& bytes) {
  queue_.clear();
  queued_.clear();
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
    if (!queued_.insert(booking.job).second) reader.fail();
    queue_.push_back({.at = {}, .booking = std::move(booking)});
  }
  if (!reader.failed()) return {};
  return fail(ErrorCode::BadData, "policy memory: not the bookings of conservative");
}

}  // namespace

std::unique_ptr<Backfill> conservative() { return std::make_unique<Conservative>(); }

}  // namespace berth
