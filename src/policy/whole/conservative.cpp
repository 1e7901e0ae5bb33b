// Conservative backfilling.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/feasible.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/kit/tally.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kConservative{
    .title = "Conservative backfilling: first in, first out, and every job is booked on arrival.",
    .rule =
        "booking = the earliest time from which GPUs are free for all of the job's planned run, "
        "beside running jobs and earlier bookings; it starts then at the latest. When a job leaves "
        "before its plan, bookings move forward one by one, in order of submission, each to the "
        "earliest time there is; none moves back. When a job stays longer, or GPUs fail, all jobs "
        "are booked again in that order. A job that outlives its estimate is taken to need twice "
        "as long, and so on; one without a limit or an estimate is taken to run for a year.",
    .reads = "Time of submission, time limit or else estimate, run time.",
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

/// One that is over its limit is taken to leave in a moment, but not now.
constexpr Duration kMoment = Duration(1);

/// How many bookings are shown as places kept.
constexpr std::ptrdiff_t kShown = 16;

/// A time and a place for a waiting job.
struct Booking {
  JobId job;
  Instant submitted;
  Instant from = kNever;  ///< kNever: there is no place as things are.
  Placement place;

  auto order() const { return std::pair(submitted, job); }
  bool is_made() const { return from != kNever; }
};

/// A plan of nothing is taken for this, lest it be looked at all the time.
constexpr Duration kShortest = seconds(1);

Duration booked_for(const JobView& job) { return std::max(counted_on(job), kShortest); }

struct Slot {
  Instant from = kNever;
  Placement place = {};
};

/// Whether bookings are numbers of GPUs, or places.
enum class By : std::uint8_t { Number, Place };

/// Who is, or will be, on which GPUs, and for how long. Places are kept from pass to pass: most
/// passes change one or two of hundreds.
class Profile {
 public:
  explicit Profile(By by) : by_(by) {}
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  By by() const { return by_; }

  /// Brings those that run up to date: in every pass, before anything else but remove(), and once
  /// only by number.
  void look(const ClusterView& view);
  void add(const Booking& booking);
  /// Requires nothing: a job without a booking changes nothing.
  void remove(JobId job);

  /// The first time before `before` from which the job can stay as long as it plans, and where. By
  /// number the place is one that those who run now will have left; by place it is `old` if that
  /// will do, so that looking twice changes nothing whatever the placer draws.
  std::optional<Slot> earliest(const JobView& job, const Placer& placer, Instant before,
                               const Slot& old = {}) {
    return by_ == By::Number ? by_number(job, placer, before) : by_place(job, placer, before, old);
  }

  /// From then on, times rest on guesses.
  Instant guessed() const { return guesses_.empty() ? kNever : *guesses_.begin(); }

 private:
  struct Stay;
  using Times = std::multimap<Instant, Stay*>;
  struct Stay {
    JobId job;
    Instant from;  ///< Long ago for those that run.
    Instant to;
    bool is_guess = false;  ///< There is no plan.
    GpuCount gpus{0};       ///< By number: of a running job, those that others can have after it.
    Grant grant = {};       ///< Of one that is booked by place.
    std::uint64_t put_in = 0;  ///< The latest search in which it was put.
    Times::iterator by_from = {};
    Times::iterator by_to = {};
  };
  using Stays = std::map<JobId, Stay>;

  static bool runs(const Stay& stay) { return stay.from == Instant::min(); }
  Stay stay_of(const JobView& running) const;
  GpuCount left_by(const Grant& grant) const;
  void insert(Stays& stays, Stay stay);
  Stays::iterator erase(Stays& stays, Stays::iterator at);
  void count(const Stay& stay, GpuCount gpus);
  std::optional<Slot> by_number(const JobView& job, const Placer& placer, Instant before) const;
  std::optional<Slot> by_place(const JobView& job, const Placer& placer, Instant before,
                               const Slot& old);
  std::optional<Placement> free_of_running(const JobView& job, const Placer& placer,
                                           Instant at) const;

  By by_;
  const ClusterView* view_ = nullptr;  ///< Of the pass under way.
  Stays running_;
  Stays booked_;
  Times by_from_;  ///< Of those booked.
  Times by_to_;
  std::multiset<Instant> guesses_;  ///< When those without a plan are taken to leave.
  std::uint64_t searches_ = 0;
  GpuCount all_{0};                    ///< GPUs there will be once nobody runs.
  std::map<Instant, GpuCount> taken_;  ///< By number: how the number of GPUs taken changes.
};

void Profile::look(const ClusterView& view) {
  view_ = &view;
  all_ = view.use().vacant();
  auto known = running_.begin();
  for (const JobId id : view.running()) {
    while (known != running_.end() && known->first < id) known = erase(running_, known);
    Stay stay = stay_of(view.job(id));
    const bool is_known = known != running_.end() && known->first == id;
    const bool is_same = is_known && known->second.to == stay.to &&
                         known->second.is_guess == stay.is_guess && by_ == By::Place;
    if (is_known) known = is_same ? std::next(known) : erase(running_, known);
    if (is_same) continue;
    all_ += stay.gpus;
    insert(running_, std::move(stay));
  }
  while (known != running_.end()) known = erase(running_, known);
}

Profile::Stay Profile::stay_of(const JobView& running) const {
  const Instant now = view_->now();
  return {.job = running.id(),
          .from = Instant::min(),
          .to = std::max({foreseen_end(running, now), later(now, kMoment),
                          later(running.granted_at(), kShortest)}),
          .is_guess = !has_plan(running) || has_outlived(running),
          .gpus = by_ == By::Number ? left_by(running.grant()) : GpuCount(0)};
}

/// GPUs of a grant that others can have after it.
GpuCount Profile::left_by(const Grant& grant) const {
  return GpuCount(std::ranges::count_if(grant.shares, [&](const Share& share) {
    GpuUse use = view_->use().gpu(share.gpu);
    use.tenants = 0;
    return is_vacant(view_->use().admission(), view_->cluster().gpu(share.gpu), use);
  }));
}

void Profile::add(const Booking& booking) {
  const JobView job = view_->job(booking.job);
  Stay stay{.job = booking.job,
            .from = booking.from,
            .to = later(booking.from, booked_for(job)),
            .is_guess = !has_plan(job),
            .gpus = job.gpus()};
  if (by_ == By::Place) {
    stay.grant = view_->use().grant_for(view_->cluster(), ask_of(job), booking.place);
  }
  insert(booked_, std::move(stay));
}

void Profile::remove(JobId job) {
  const auto found = booked_.find(job);
  if (found != booked_.end()) erase(booked_, found);
}

void Profile::insert(Stays& stays, Stay made) {
  Stay& stay = stays.emplace(made.job, std::move(made)).first->second;
  if (!runs(stay)) stay.by_from = by_from_.emplace(stay.from, &stay);
  stay.by_to = by_to_.emplace(stay.to, &stay);
  if (stay.is_guess) guesses_.insert(stay.to);
  count(stay, stay.gpus);
}

Profile::Stays::iterator Profile::erase(Stays& stays, Stays::iterator at) {
  const Stay& stay = at->second;
  if (!runs(stay)) by_from_.erase(stay.by_from);
  by_to_.erase(stay.by_to);
  if (stay.is_guess) guesses_.erase(guesses_.find(stay.to));
  count(stay, GpuCount(0) - stay.gpus);
  return stays.erase(at);
}

void Profile::count(const Stay& stay, GpuCount gpus) {
  if (by_ == By::Place) return;
  taken_[stay.from] += gpus;
  taken_[stay.to] -= gpus;
}

/// The anchor point of the paper: wherever there are too few GPUs, the stay can begin after that at
/// best.
std::optional<Slot> Profile::by_number(const JobView& job, const Placer& placer,
                                       Instant before) const {
  GpuCount taken(0);
  auto change = taken_.begin();
  for (; change != taken_.end() && change->first <= view_->now(); ++change) {
    taken += change->second;
  }
  Instant from = view_->now();
  for (;; ++change) {
    const Instant next = change == taken_.end() ? kNever : change->first;
    if (taken + job.gpus() > all_) from = next;
    if (from >= before) return std::nullopt;
    if (next >= later(from, booked_for(job))) break;
    taken += change->second;
  }
  auto place = free_of_running(job, placer, from);
  return place ? std::optional(Slot{from, std::move(*place)}) : std::nullopt;
}

std::optional<Placement> Profile::free_of_running(const JobView& job, const Placer& placer,
                                                  Instant at) const {
  Scratch scratch{view_->use(), {}};
  for (const auto& [id, stay] : running_) {
    if (stay.to <= at) scratch.use.take(view_->cluster(), view_->job(id).grant());
  }
  const Trial trial(view_->cluster(), scratch);
  Placed placed = placer.place(ask_of(job), job.id(), trial);
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

/// Those who come before the stay would be over are put, those gone when it begins are taken off:
/// what is left is free all the time.
std::optional<Slot> Profile::by_place(const JobView& job, const Placer& placer, Instant before,
                                      const Slot& old) {
  const Cluster& cluster = view_->cluster();
  const Ask ask = ask_of(job);
  const bool needs_vacant =
      takes_whole(ask) && view_->use().admission().mode == AdmissionMode::Guarantee;
  Scratch scratch{view_->use(), {}};
  ++searches_;
  auto coming = by_from_.begin();
  auto going = by_to_.begin();
  for (Instant at = view_->now(); at < before; at = going->first) {
    const Instant end = later(at, booked_for(job));
    for (; coming != by_from_.end() && coming->first < end; ++coming) {
      Stay& stay = *coming->second;
      if (stay.to <= at) continue;
      scratch.use.put(cluster, stay.grant);
      stay.put_in = searches_;
    }
    for (; going != by_to_.end() && going->first <= at; ++going) {
      const Stay& stay = *going->second;
      if (runs(stay)) scratch.use.take(cluster, view_->job(stay.job).grant());
      if (stay.put_in == searches_) scratch.use.take(cluster, stay.grant);
    }
    if (!needs_vacant || scratch.use.vacant() >= ask.gpus()) {
      const Trial trial(cluster, scratch);
      if (at == old.from && trial.look(old.place, ask, job.id()) == Why::Fits) return old;
      if (Placed placed = placer.place(ask, job.id(), trial)) return Slot{at, std::move(*placed)};
    }
    if (going == by_to_.end()) break;
  }
  return std::nullopt;
}

class Conservative final : public Policy {
 public:
  explicit Conservative(std::unique_ptr<Placer> placer) : placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override;
  Snapshot save() const override;
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  void update(const ClusterView& view, std::span<const Event> events);
  void enter(const ClusterView& view, JobId id);
  void drop_unknown(const ClusterView& view);
  By measure(const ClusterView& view) const;
  void book(const ClusterView& view);
  void book_again(const ClusterView& view, Profile& profile);
  void move_forward(const ClusterView& view, Profile& profile);
  void start_due(const ClusterView& view, Decisions& decisions);
  std::optional<Placement> place_now(const ClusterView& view, const Booking& booking,
                                     const Trial& trial) const;
  std::optional<Instant> next_due(const ClusterView& view) const;
  std::optional<Decision> changed_holds(const ClusterView& view) const;

  std::unique_ptr<Placer> placer_;
  Feasibility feasibility_;
  bool is_fresh_ = true;            ///< Nothing seen yet: look at everything.
  bool is_unchecked_ = false;       ///< As restored: it may name jobs and GPUs there are not.
  std::vector<Booking> booked_;     ///< In order of submission.
  By by_ = By::Place;               ///< How they were booked.
  std::optional<Profile> profile_;  ///< With what is booked, if it is there.
  Outlook outlook_;                 ///< What the bookings rest on.
  std::vector<JobId> arrived_;      ///< In this pass: waiting, and not booked yet.
  std::vector<JobId> impossible_;
  bool is_freed_ = false;     ///< In this pass a booking was given up.
  Instant guessed_ = kNever;  ///< Of the last booking: from then on, times rest on guesses.
};

Decisions Conservative::decide(const ClusterView& view, std::span<const Event> events) {
  placer_->prepare(view, events);
  update(view, events);
  book(view);
  Decisions decisions;
  start_due(view, decisions);
  decisions.wake_at = next_due(view);
  if (auto reserve = changed_holds(view)) decisions.list.push_back(std::move(*reserve));
  for (const JobId id : impossible_) decisions.list.push_back(Reject{id});
  return decisions;
}

/// Whom the events name is booked anew, as far as it waits.
void Conservative::update(const ClusterView& view, std::span<const Event> events) {
  arrived_.clear();
  impossible_.clear();
  is_freed_ = false;
  if (std::exchange(is_unchecked_, false)) drop_unknown(view);
  const auto leave = [&](JobId id) {
    const auto found = std::ranges::find(booked_, id, &Booking::job);
    if (found == booked_.end()) return;
    is_freed_ = is_freed_ || found->is_made();
    booked_.erase(found);
    if (profile_) profile_->remove(id);
  };
  if (std::exchange(is_fresh_, false)) {
    view.for_each_pending([&](const JobView& job) { enter(view, job.id()); });
    return;
  }
  for (const Event& event : events) {
    leave(event.job);
    enter(view, event.job);
  }
}

void Conservative::enter(const ClusterView& view, JobId id) {
  const Job* const job = view.find(id);
  if (job == nullptr || !is_waiting(job->state)) return;
  if (std::ranges::find(impossible_, id) != impossible_.end()) return;
  if (!feasibility_.allows(view.job(id), view, *placer_)) return impossible_.push_back(id);
  Booking booking{.job = id, .submitted = job->submitted, .place = {}};
  const auto at = std::ranges::upper_bound(booked_, booking.order(), {}, &Booking::order);
  booked_.insert(at, std::move(booking));
  arrived_.push_back(id);
}

void Conservative::drop_unknown(const ClusterView& view) {
  const auto is_possible = [&](const Booking& booking) {
    const Job* const job = view.find(booking.job);
    if (job == nullptr || !is_waiting(job->state) || job->submitted != booking.submitted) {
      return false;
    }
    if (!booking.is_made()) return true;
    const auto& gpus = booking.place.gpus;
    return std::ssize(gpus) == job->spec.request.gpu.count.raw() &&
           booking.place.host.value() < view.cluster().nodes().size() &&
           (gpus.empty() || gpus.back().value() < view.cluster().gpus().size());
  };
  std::erase_if(booked_, [&](const Booking& booking) {
    const bool drop = !is_possible(booking);
    is_freed_ = is_freed_ || (drop && booking.is_made());
    return drop;
  });
}

By Conservative::measure(const ClusterView& view) const {
  const auto is_number = [&](JobId id) { return only_number_matters(*view.find(id)); };
  const bool all = placer_->is_fungible() && std::ranges::all_of(view.running(), is_number) &&
                   std::ranges::all_of(booked_, is_number, &Booking::job);
  return all ? By::Number : By::Place;
}

/// Books whoever arrived; moves those booked before, where the outlook has changed.
void Conservative::book(const ClusterView& view) {
  const auto is_late = [&](const Booking& booking) { return booking.from < view.now(); };
  const By by = measure(view);
  const bool measured_otherwise = std::exchange(by_, by) != by;
  const bool all_anew =
      measured_otherwise || view.settings().limits.any() || std::ranges::any_of(booked_, is_late);
  const Outlook::Change change = all_anew ? Outlook::Change::Other : outlook_.look(view);
  const bool none = change == Outlook::Change::None && !is_freed_;
  if (booked_.empty() || (none && arrived_.empty())) return;
  const bool is_kept =
      profile_ && profile_->by() == by && by == By::Place && change != Outlook::Change::Other;
  if (!is_kept) profile_.emplace(by);
  Profile& profile = *profile_;
  profile.look(view);
  if (change == Outlook::Change::Other) {
    book_again(view, profile);
  } else {
    for (const Booking& booking : booked_) {
      if (!is_kept && booking.is_made()) profile.add(booking);
    }
    if (!none) move_forward(view, profile);
    for (Booking& booking : booked_) {
      if (booking.is_made() || std::ranges::find(arrived_, booking.job) == arrived_.end()) continue;
      const JobView job = view.job(booking.job);
      auto slot = profile.earliest(job, *placer_, kNever);
      if (!slot) continue;
      booking.from = slot->from;
      booking.place = std::move(slot->place);
      profile.add(booking);
    }
  }
  guessed_ = profile.guessed();
}

void Conservative::book_again(const ClusterView& view, Profile& profile) {
  Tally tally(view, Tally::From::Now);
  for (Booking& booking : booked_) {
    const Slot old{.from = std::exchange(booking.from, kNever),
                   .place = std::exchange(booking.place, {})};
    const JobView job = view.job(booking.job);
    if (!tally.allows(job)) continue;
    auto slot = profile.earliest(job, *placer_, kNever, old);
    if (!slot) continue;
    booking.from = slot->from;
    booking.place = std::move(slot->place);
    profile.add(booking);
    tally.take(job);
  }
}

void Conservative::move_forward(const ClusterView& view, Profile& profile) {
  for (Booking& booking : booked_) {
    if (booking.from <= view.now()) continue;
    if (booking.is_made()) profile.remove(booking.job);
    auto slot = profile.earliest(view.job(booking.job), *placer_, booking.from);
    if (slot) {
      booking.from = slot->from;
      booking.place = std::move(slot->place);
    }
    if (booking.is_made()) profile.add(booking);
  }
}

void Conservative::start_due(const ClusterView& view, Decisions& decisions) {
  std::vector<Fresh> fresh;
  {
    Trial trial = view.trial();
    bool is_first = true;
    std::erase_if(booked_, [&](const Booking& booking) {
      auto place = place_now(view, booking, trial);
      is_first = is_first && place.has_value();
      if (!place) return false;
      if (profile_) profile_->remove(booking.job);
      const JobView job = view.job(booking.job);
      fresh.push_back({counted_on(job), trial.put(ask_of(job), *place), booking.job});
      const Because because = is_first ? Because::ItsTurn : Because::Backfilled;
      if (job.state() == JobState::Suspended) {
        decisions.list.push_back(Resume{booking.job, std::move(*place), because});
      } else {
        decisions.list.push_back(
            Start{.job = booking.job, .placement = std::move(*place), .because = because});
      }
      return true;
    });
  }
  outlook_.note(view, fresh);
}

/// Where a job that is due starts; by number any place will do.
std::optional<Placement> Conservative::place_now(const ClusterView& view, const Booking& booking,
                                                 const Trial& trial) const {
  if (booking.from > view.now()) return std::nullopt;
  const Ask ask = ask_of(view.job(booking.job));
  if (trial.look(booking.place, ask, booking.job) == Why::Fits) return booking.place;
  if (by_ == By::Place) return std::nullopt;
  Placed placed = placer_->place(ask, booking.job, trial);
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

/// Usually somebody ends then, but where bookings have moved nobody may. Who waits for one that is
/// over its plan is looked at when that one ends.
std::optional<Instant> Conservative::next_due(const ClusterView& view) const {
  Instant next = kNever;
  for (const Booking& booking : booked_) {
    if (booking.from > later(view.now(), kMoment)) next = std::min(next, booking.from);
  }
  return next == kNever ? std::nullopt : std::optional(next);
}

/// The first bookings, where they are not those shown before.
std::optional<Decision> Conservative::changed_holds(const ClusterView& view) const {
  std::vector<Hold> holds;
  for (const Booking& booking : booked_) {
    if (std::ssize(holds) == kShown) break;
    if (!booking.is_made()) continue;
    holds.push_back({.job = booking.job,
                     .ask = ask_of(view.job(booking.job)),
                     .placement = booking.place,
                     .from = booking.from < guessed_ ? booking.from : kNever,
                     .awaited = {},
                     .lent = {},
                     .lent_tenants = {},
                     .lent_milli = {}});
  }
  if (std::ranges::equal(holds, view.holds())) return std::nullopt;
  return Reserve{.holds = std::move(holds)};
}

Snapshot Conservative::save() const {
  ByteWriter writer;
  if (is_fresh_) return {};
  outlook_.save(writer);
  writer.integer(by_ == By::Number ? 1 : 0);
  writer.integer(micros(guessed_));
  for (const Booking& booking : booked_) {
    writer.integer(static_cast<std::int64_t>(booking.job.value()));
    writer.integer(micros(booking.submitted));
    writer.integer(micros(booking.from));
    writer.integer(booking.place.host.value());
    writer.integer(std::ssize(booking.place.gpus));
    for (const GpuId gpu : booking.place.gpus) writer.integer(gpu.value());
  }
  return writer.take();
}

Expected<void> Conservative::restore(const Snapshot& bytes) {
  booked_.clear();
  outlook_ = {};
  is_fresh_ = bytes.empty();
  profile_.reset();
  is_unchecked_ = true;
  if (is_fresh_) return {};
  ByteReader reader(bytes);
  outlook_.restore(reader);
  by_ = reader.integer() == 1 ? By::Number : By::Place;
  guessed_ = instant_from_micros(reader.integer());
  while (!reader.at_end()) {
    Booking booking{.job = JobId(static_cast<JobId::rep>(reader.integer())), .place = {}};
    booking.submitted = instant_from_micros(reader.integer());
    booking.from = instant_from_micros(reader.integer());
    booking.place.host = NodeId(static_cast<NodeId::rep>(reader.integer()));
    for (std::int64_t left = reader.integer(); left > 0 && !reader.failed(); --left) {
      const GpuId gpu(static_cast<GpuId::rep>(reader.integer()));
      auto& gpus = booking.place.gpus;
      if (!gpus.empty() && gpu <= gpus.back()) reader.fail();
      gpus.push_back(gpu);
    }
    if (!booked_.empty() && booking.order() <= booked_.back().order()) reader.fail();
    booked_.push_back(std::move(booking));
  }
  if (!reader.failed()) return {};
  return fail(ErrorCode::BadData, "policy memory: not the bookings of conservative");
}

}  // namespace

std::unique_ptr<Policy> conservative(const Keys&, std::unique_ptr<Placer> placer, const Knobs&) {
  return std::make_unique<Conservative>(std::move(placer));
}

}  // namespace berth
