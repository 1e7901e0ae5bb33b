#include "policy/backfill/bookings.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/members.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/tally.hpp"

namespace berth {

constexpr By last_of(By) { return By::Place; }
constexpr Bookings::How last_of(Bookings::How) { return Bookings::How::Again; }
inline auto members(Profile::Stay& v) {
  return std::tie(v.job, v.from, v.to, v.is_guess, v.gpus, v.grant);
}
inline auto members(Profile::Bars& v) { return std::tie(v.foreign, v.reserved, v.is_usable); }
inline auto members(Profile::Memory& v) { return std::tie(v.stays, v.removed, v.gpus, v.holes); }
inline auto members(Booking& v) { return std::tie(v.job, v.from, v.place); }

namespace {

struct BookingsMemory {
  By by = By::Place;
  Instant guessed = kNever;
  std::vector<Booking> bookings;  ///< Ascending by job.
  Bookings::How asked = Bookings::How::New;
  bool is_again = false;
  std::set<JobId> added;
  std::vector<JobId> to_visit;
  std::vector<Booking> before;  ///< Ascending by job.
  bool has_rest = false;
  std::optional<Instant> rests_until;
  std::optional<Profile::Memory> profile;
};
inline auto members(BookingsMemory& v) {
  return std::tie(v.by, v.guessed, v.bookings, v.asked, v.is_again, v.added, v.to_visit, v.before,
                  v.has_rest, v.rests_until, v.profile);
}

bool is_sane(std::span<const Booking> bookings) {
  const auto is_sane_place = [](const Booking& booking) {
    const auto& gpus = booking.place.gpus;
    return std::ranges::adjacent_find(gpus, std::ranges::greater_equal()) == gpus.end();
  };
  return std::ranges::all_of(bookings, is_sane_place) &&
         std::ranges::adjacent_find(bookings, std::ranges::greater_equal(), &Booking::job) ==
             bookings.end();
}

/// True if there are such GPUs, as many as the job asks for.
bool can_be(const Placement& place, const JobView& job, const Cluster& cluster) {
  return place.host.value() < cluster.nodes().size() &&
         (place.gpus.empty() || place.gpus.back().value() < cluster.gpus().size()) &&
         std::ssize(place.gpus) == job.gpus().raw();
}

}  // namespace

/// What one pass works with, and how much it may still look at.
struct Bookings::Pass {
  const ClusterView& view;
  const Placer& placer;
  Tally tally;
  std::int64_t most_looks;  ///< Of the profile, in all.
};

// ---- The jobs --------------------------------------------------------------------------------

void Bookings::add(const Turn& turn, const ClusterView& view) {
  turns_.emplace(turn.job, turn);
  Booking& booking = queue_.emplace(turn, Booking{.job = turn.job}).first->second;
  if (const auto known = restored_.find(turn.job); known != restored_.end()) {
    Booking& before = known->second;
    if (!before.is_made() || can_be(before.place, view.job(turn.job), view.cluster())) {
      set(booking, Slot{before.from, std::move(before.place)});
      restored_.erase(known);
      return;
    }
  }
  added_.insert(turn.job);
}

bool Bookings::remove(JobId job) {
  const auto turn = turns_.find(job);
  if (turn == turns_.end()) return false;
  const auto found = queue_.find(turn->second);
  const bool was_made = found->second.is_made();
  due_.erase({found->second.from, job});
  queue_.erase(found);
  turns_.erase(turn);
  added_.erase(job);
  before_.erase(job);
  if (profile_) profile_->remove(job);
  leave_recalled(job);
  return was_made;
}

/// As Profile::remove(), of a profile that is still to be made.
void Bookings::leave_recalled(JobId job) {
  if (!recalled_) return;
  const auto is_its = [&](const Profile::Stay& stay) { return stay.job == job && !stay.runs(); };
  const auto stay = std::ranges::find_if(recalled_->stays, is_its);
  if (stay == recalled_->stays.end()) return;
  recalled_->leave(std::move(*stay));
  recalled_->stays.erase(stay);
}

bool Bookings::forget_others() {
  const auto is_made = [](const auto& entry) { return entry.second.is_made(); };
  const auto others = std::exchange(restored_, {});
  for (const auto& [job, booking] : others) leave_recalled(job);
  std::erase_if(added_, [&](JobId job) { return !has(job); });
  std::erase_if(before_, [&](const auto& entry) { return !has(entry.first); });
  return std::ranges::any_of(others, is_made);
}

// ---- Their bookings --------------------------------------------------------------------------

void Bookings::book(const ClusterView& view, const Placer& placer, How how,
                    std::int64_t most_looks) {
  const By by = measure(view, placer);
  const bool is_other = std::exchange(by_, by) != by;
  if (is_other) is_again_ = false;  // what the walk under way has booked is of the other kind
  const bool went_on = has_rest_;
  if (!has_work(view.now(), is_other ? How::Again : how)) return;

  const bool interrupts = asked_ == How::Again && !is_again_;
  const bool begins = asked_ != How::New && (interrupts || !is_walking());
  if (begins) {
    begin_walk(view);
  } else {
    fill_profile(view);
  }
  Pass pass{.view = view,
            .placer = placer,
            .tally = {view, Tally::From::Now},
            .most_looks = profile_->looks() + most_looks};
  for (const auto& [turn, booking] : queue_) {
    if (!view.settings().has_limits()) break;
    if (booking.is_made()) pass.tally.take(booking.job, view.job(booking.job).gpus());
  }
  has_rest_ = !walk_on(pass) || !book_new(pass) || asked_ != How::New;
  if (has_rest_ || went_on) {
    rests_until_ = later(view.now(), kPause);
  } else if (begins && is_again_) {
    rests_until_.reset();
  }
  guessed_ = profile_->guessed();
}

/// Remembers what is asked for. Returns: whether some of it is to be done now.
bool Bookings::has_work(Instant now, How how) {
  asked_ = std::max(asked_, how);
  if (queue_.empty()) {
    asked_ = How::New;
    to_visit_.clear();
    rests_until_.reset();
  }
  const bool rests = now < rests_until_.value_or(now);
  const bool is_remade = is_walking() && is_again_;
  const bool is_late = !is_remade && !due_.empty() && due_.begin()->first < now;
  if (is_late && !rests) asked_ = How::Again;
  has_rest_ = is_walking() || asked_ != How::New || !added_.empty();
  return has_rest_ && !rests;
}

/// Brings the profile up to date, with all bookings. By number it is made in every pass.
void Bookings::fill_profile(const ClusterView& view) {
  const bool is_kept = profile_ && profile_->by() == by_ && by_ == By::Place;
  if (!is_kept) {
    profile_.emplace(by_);
    auto memory = std::exchange(recalled_, std::nullopt);
    if (memory && by_ == By::Place) profile_->recall(std::move(*memory), view.cluster());
  }
  profile_->look(view);
  if (is_kept) return;
  for (const auto& [turn, booking] : queue_) {
    if (booking.is_made()) profile_->add(booking);
  }
}

void Bookings::begin_walk(const ClusterView& view) {
  is_again_ = std::exchange(asked_, How::New) == How::Again;
  if (is_again_) {
    drop_all(view);
  } else {
    before_.clear();
    fill_profile(view);
  }
  profile_->begin_walk();
  added_.clear();
  to_visit_.clear();
  for (const auto& [turn, booking] : queue_) to_visit_.push_back(booking.job);
  std::ranges::reverse(to_visit_);
}

void Bookings::drop_all(const ClusterView& view) {
  for (auto& [turn, booking] : queue_) {
    if (!booking.is_made()) continue;
    before_.insert_or_assign(booking.job, Slot{booking.from, std::move(booking.place)});
    set(booking, std::nullopt);
  }
  recalled_.reset();
  profile_.emplace(by_);
  profile_->look(view);
}

By Bookings::measure(const ClusterView& view, const Placer& placer) const {
  const auto is_number = [&](JobId job) { return only_number_matters(*view.find(job)); };
  const auto job_of = [](const auto& entry) { return entry.second.job; };
  const bool all = placer.is_fungible() && std::ranges::all_of(view.running(), is_number) &&
                   std::ranges::all_of(queue_, is_number, job_of);
  return all ? By::Number : By::Place;
}

/// Returns: whether it is booked now.
bool Bookings::set(Booking& booking, std::optional<Slot> slot) {
  due_.erase({booking.from, booking.job});
  booking.from = slot ? slot->from : kNever;
  booking.place = slot ? std::move(slot->place) : Placement{};
  if (booking.is_made()) due_.insert({booking.from, booking.job});
  return booking.is_made();
}

/// Returns: whether no walk is under way any more.
bool Bookings::walk_on(Pass& pass) {
  if (!is_walking()) return true;
  for (; is_walking() && profile_->looks() < pass.most_looks; to_visit_.pop_back()) {
    visit(to_visit_.back(), pass);
  }
  if (is_walking()) return false;
  profile_->end_walk();
  before_.clear();
  return true;
}

/// Returns: whether all that were added have been looked at.
bool Bookings::book_new(Pass& pass) {
  std::vector<JobId> added(added_.begin(), added_.end());
  std::ranges::sort(added, {}, [&](JobId job) { return turns_.at(job); });
  for (const JobId job : added) {
    if (profile_->looks() >= pass.most_looks) break;
    if (!of(job).is_made()) visit(job, pass);
    added_.erase(job);
  }
  return added_.empty();
}

/// It may be gone.
void Bookings::visit(JobId job, Pass& pass) {
  const auto turn = turns_.find(job);
  if (turn == turns_.end()) return;
  added_.erase(job);
  Booking& booking = queue_.at(turn->second);
  if (!booking.is_made()) return make(booking, pass);
  if (booking.from > pass.view.now()) move(booking, pass);
}

void Bookings::make(Booking& booking, Pass& pass) {
  const JobView job = pass.view.job(booking.job);
  if (!pass.tally.allows(booking.job, job.gpus())) return;
  const auto before = before_.extract(booking.job);
  const bool is_usable = !before.empty() && can_be(before.mapped().place, job, pass.view.cluster());
  const Slot old = is_usable ? before.mapped() : Slot();
  if (!set(booking, profile_->earliest(job, pass.placer, {}, old))) return;
  profile_->add(booking);
  pass.tally.take(booking.job, job.gpus());
}

/// To the earliest time there is before its own.
void Bookings::move(Booking& booking, Pass& pass) {
  const JobView job = pass.view.job(booking.job);
  const auto from = profile_->may_begin(job, pass.placer, booking.from);
  if (!from) return;
  const auto lifted = profile_->lift(booking.job);
  auto slot = profile_->earliest(job, pass.placer, {.from = *from, .before = booking.from});
  if (slot && lifted) profile_->leave(*lifted);
  if (slot) set(booking, std::move(slot));
  profile_->add(booking);
}

std::vector<JobId> Bookings::due(Instant now) const {
  std::vector<JobId> due;
  for (const auto& [from, job] : due_) {
    if (from > now) break;
    due.push_back(job);
  }
  std::ranges::sort(due, {}, [&](JobId job) { return turns_.at(job); });
  return due;
}

Instant Bookings::next_after(Instant time) const {
  const auto next = due_.upper_bound({time, kLastJob});
  return next == due_.end() ? kNever : next->first;
}

std::vector<Hold> Bookings::as_holds(const ClusterView& view, std::size_t most) const {
  std::vector<Hold> holds;
  holds.reserve(std::min(most, due_.size()));
  for (const auto& [turn, booking] : queue_) {
    if (holds.size() == most) break;
    if (!booking.is_made()) continue;
    holds.push_back({.job = booking.job,
                     .ask = ask_of(view.job(booking.job)),
                     .placement = booking.place,
                     .from = begins_at(booking.job)});
  }
  return holds;
}

// ---- Their memory ----------------------------------------------------------------------------

Snapshot Bookings::save() const {
  BookingsMemory memory{.by = by_,
                        .guessed = guessed_,
                        .bookings = {},
                        .asked = asked_,
                        .is_again = is_again_,
                        .added = added_,
                        .to_visit = to_visit_,
                        .before = {},
                        .has_rest = has_rest_,
                        .rests_until = rests_until_,
                        .profile = recalled_};
  if (profile_ && profile_->by() == By::Place) memory.profile = profile_->memory();
  for (const auto& [job, slot] : before_) memory.before.push_back({job, slot.from, slot.place});
  for (const auto& [job, booking] : restored_) memory.bookings.push_back(booking);
  for (const auto& [job, turn] : turns_) memory.bookings.push_back(queue_.at(turn));
  return saved(memory);
}

Expected<void> Bookings::restore(std::string_view bytes, std::string_view whose) {
  BookingsMemory memory;
  const auto sane = [](const BookingsMemory& read) {
    return is_sane(read.bookings) && is_sane(read.before);
  };
  if (auto done = restore_into(memory, bytes, whose, sane); !done) return done;
  queue_.clear();
  turns_.clear();
  due_.clear();
  restored_.clear();
  before_.clear();
  profile_.reset();
  by_ = memory.by;
  guessed_ = memory.guessed;
  asked_ = memory.asked;
  is_again_ = memory.is_again;
  added_ = std::move(memory.added);
  to_visit_ = std::move(memory.to_visit);
  has_rest_ = memory.has_rest;
  rests_until_ = memory.rests_until;
  recalled_ = std::move(memory.profile);
  for (Booking& booking : memory.before) {
    before_.emplace(booking.job, Slot{booking.from, std::move(booking.place)});
  }
  for (Booking& booking : memory.bookings) restored_.emplace(booking.job, std::move(booking));
  return {};
}

}  // namespace berth
