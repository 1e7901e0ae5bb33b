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
inline auto members(Booking& v) { return std::tie(v.job, v.from, v.place); }

namespace {

struct BookingsMemory {
  By by = By::Place;
  Instant guessed = kNever;
  std::vector<Booking> bookings;  ///< Ascending by job.
};
inline auto members(BookingsMemory& v) { return std::tie(v.by, v.guessed, v.bookings); }

bool is_sane(const BookingsMemory& memory) {
  const auto is_sane_place = [](const Booking& booking) {
    const auto& gpus = booking.place.gpus;
    return std::ranges::adjacent_find(gpus, std::ranges::greater_equal()) == gpus.end();
  };
  return std::ranges::all_of(memory.bookings, is_sane_place) &&
         std::ranges::adjacent_find(memory.bookings, std::ranges::greater_equal(), &Booking::job) ==
             memory.bookings.end();
}

/// True if there are such GPUs, as many as the job asks for.
bool can_be(const Placement& place, const JobView& job, const Cluster& cluster) {
  return place.host.value() < cluster.nodes().size() &&
         (place.gpus.empty() || place.gpus.back().value() < cluster.gpus().size()) &&
         std::ssize(place.gpus) == job.gpus().raw();
}

}  // namespace

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
  added_.push_back(turn.job);
}

bool Bookings::remove(JobId job) {
  const auto turn = turns_.find(job);
  if (turn == turns_.end()) return false;
  const auto found = queue_.find(turn->second);
  const bool was_made = found->second.is_made();
  due_.erase({found->second.from, job});
  queue_.erase(found);
  turns_.erase(turn);
  std::erase(added_, job);
  if (profile_) profile_->remove(job);
  return was_made;
}

bool Bookings::forget_others() {
  const auto is_made = [](const auto& entry) { return entry.second.is_made(); };
  const auto others = std::exchange(restored_, {});
  return std::ranges::any_of(others, is_made);
}

// ---- Their bookings --------------------------------------------------------------------------

void Bookings::book(const ClusterView& view, const Placer& placer, How how) {
  const By by = measure(view, placer);
  const bool is_late = !due_.empty() && due_.begin()->first < view.now();
  if (std::exchange(by_, by) != by || is_late) how = How::Again;
  if (queue_.empty() || (how == How::New && added_.empty())) return;
  const bool is_kept = profile_ && profile_->by() == by && by == By::Place && how != How::Again;
  if (!is_kept) profile_.emplace(by);
  profile_->look(view);
  if (how == How::Again) {
    profile_->begin_walk();
    book_again(view, placer);
    profile_->end_walk();
  } else {
    for (const auto& [turn, booking] : queue_) {
      if (!is_kept && booking.is_made()) profile_->add(booking);
    }
    if (how == How::Forward) move_forward(view, placer);
    book_new(view, placer);
  }
  added_.clear();
  guessed_ = profile_->guessed();
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

void Bookings::book_again(const ClusterView& view, const Placer& placer) {
  Tally tally(view, Tally::From::Now);
  for (auto& [turn, booking] : queue_) {
    const Slot old{.from = booking.from, .place = std::move(booking.place)};
    set(booking, std::nullopt);
    const JobView job = view.job(booking.job);
    if (!tally.allows(booking.job, job.gpus())) continue;
    if (!set(booking, profile_->earliest(job, placer, {}, old))) continue;
    profile_->add(booking);
    tally.take(booking.job, job.gpus());
  }
}

void Bookings::book_new(const ClusterView& view, const Placer& placer) {
  std::ranges::sort(added_, {}, [&](JobId job) { return turns_.at(job); });
  for (const JobId job : added_) {
    Booking& booking = queue_.at(turns_.at(job));
    if (booking.is_made()) continue;
    if (set(booking, profile_->earliest(view.job(job), placer, {}))) profile_->add(booking);
  }
}

void Bookings::move_forward(const ClusterView& view, const Placer& placer) {
  profile_->begin_walk();
  for (auto& [turn, booking] : queue_) {
    const JobView job = view.job(booking.job);
    if (booking.from <= view.now()) continue;
    Profile::Between when{.before = booking.from};
    if (booking.is_made()) {
      const auto from = profile_->may_begin(job, placer, booking.from);
      if (!from) continue;
      when.from = *from;
    }
    const auto lifted = profile_->lift(booking.job);
    auto slot = profile_->earliest(job, placer, when);
    if (slot && lifted) profile_->leave(*lifted);
    if (slot) set(booking, std::move(slot));
    if (booking.is_made()) profile_->add(booking);
  }
  profile_->end_walk();
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
  BookingsMemory memory{.by = by_, .guessed = guessed_, .bookings = {}};
  for (const auto& [job, booking] : restored_) memory.bookings.push_back(booking);
  for (const auto& [job, turn] : turns_) memory.bookings.push_back(queue_.at(turn));
  return saved(memory);
}

Expected<void> Bookings::restore(std::string_view bytes, std::string_view whose) {
  BookingsMemory memory;
  const auto sane = [](const BookingsMemory& read) { return is_sane(read); };
  if (auto done = restore_into(memory, bytes, whose, sane); !done) return done;
  queue_.clear();
  turns_.clear();
  due_.clear();
  added_.clear();
  restored_.clear();
  profile_.reset();
  by_ = memory.by;
  guessed_ = memory.guessed;
  for (Booking& booking : memory.bookings) restored_.emplace(booking.job, std::move(booking));
  return {};
}

}  // namespace berth
