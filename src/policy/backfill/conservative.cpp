// Conservative backfilling.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/rng.hpp"
#include "policy/backfill/bookings.hpp"
#include "policy/backfills.hpp"
#include "policy/kit/outlook.hpp"
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
        "are booked again in that order. A job without a limit that has outlived its "
        "estimate e by x is taken to run on for max(x, e/8) to 3 times that, in steps; one without "
        "a limit or an estimate to run for as long as its class may, a long one for a day, then "
        "two.",
    .reads = "Time limit or else estimate, run time.",
    .source = "Mu'alem and Feitelson, TPDS 2001.",
    .differs =
        "GPUs are places, so a booking is one too; only with placement `count` and whole GPUs is "
        "it a number of them, as published. A GPU that is shared by successive bookings is taken "
        "to hold all of them at once. A job over its user's limits is not booked. An order by "
        "what users hold (`drf`) is refused, because each booking would change it. With some "
        "hundreds of waiting jobs or more, a pass books or moves as many as it can in some 10 ms; "
        "the next go on 20 ms later, and until a job's turn comes it waits, or keeps the booking "
        "that it had.",
    .cost =
        "O(GPUs + running + waiting) per pass, O(running + waiting) per booking, and by place as "
        "many placements; the bookings of one pass are bounded.",
    .proof =
        "An independent restatement of the published definition on 300 random traces: every job "
        "starts at the same second (test/paper/conservative_test.cpp).",
    .needs = {.estimates = true},
    .passing = {.who = Passing::Who::WhoDelaysNone,
                .returns_places = true,
                .by_holdings = "orders users by what they hold, which every booking would change"}};

namespace {

/// The number of bookings shown as reserved places.
constexpr std::size_t kShown = 16;

/// A hash of what decides who is booked under limits: the limits, and which jobs wait or run. The
/// start of a job does not change it. 0 without limits.
std::uint64_t claims_of(const ClusterView& view) {
  const Settings& settings = view.settings();
  if (!settings.has_limits()) return 0;
  std::uint64_t sum = 0;
  const auto add = [&sum](std::uint64_t whose, std::int64_t what) {
    sum += Rng(whose, static_cast<std::uint64_t>(what)).next();
  };
  const auto add_limits = [&](std::uint64_t whose, const UserLimits& limits) {
    add(~whose, limits.gpus.raw());  // no number of a job
    add(~whose, -1 - std::int64_t{limits.jobs});
  };
  const auto add_job = [&](const JobView& job) { add(job.id().value(), job.gpus().raw()); };
  add_limits(~std::uint32_t{0}, settings.limits);
  for (const auto& [user, limits] : settings.user_limits) add_limits(user.value(), limits);
  view.for_each_pending(add_job);
  for (const JobId id : view.running()) add_job(view.job(id));
  return sum;
}

class Conservative final : public Backfill {
 public:
  void run(Walk& walk) override {
    const bool gave_up = update(walk);
    const Outlook::Change change = outlook_.follow(walk.view());
    const std::uint64_t claims = claims_of(walk.view());
    const bool is_moved = std::exchange(claims_, claims) != claims;
    const How asked = how(walk, gave_up ? std::max(change, Outlook::Change::Sooner) : change,
                          is_moved ? Claims::Others : Claims::Same);
    const std::int64_t most = walk.options().most_looks.value_or(Bookings::kMostLooks);
    bookings_.book(walk.view(), walk.placer(), asked, most);
    start_due(walk);
    outlook_.add(walk.view(), walk.started());
    // Usually a job ends when a booking begins, but not if bookings have moved. A job that waits
    // for another that is over its plan is examined when that one ends.
    walk.wake(bookings_.next_after(later(walk.view().now(), kMoment)));
    walk.wake(bookings_.goes_on_at());
    if (!walk.context().index.empty()) {  // bookings rest on the ends of all jobs
      walk.wake(first_doubt(walk.view(), walk.started(), {}, kNever));
    }
    walk.keep(bookings_.as_holds(walk.view(), kShown));
  }

  Snapshot save() const override {
    if (!outlook_.has_noted()) return {};
    ByteWriter writer;
    outlook_.save(writer);
    writer.integer(static_cast<std::int64_t>(claims_));
    writer.text(bookings_.save());
    return writer.take();
  }
  Expected<void> restore(const Snapshot& bytes) override {
    ByteReader reader(bytes);
    is_unseen_ = true;
    outlook_ = {};
    claims_ = 0;
    if (!bytes.empty()) {
      outlook_.restore(reader);
      claims_ = static_cast<std::uint64_t>(reader.integer());
    }
    const std::string_view bookings = bytes.empty() ? "" : reader.text();
    if (reader.failed() || !reader.at_end()) {
      return fail(ErrorCode::BadData, "policy memory: not the bookings of conservative");
    }
    return bookings_.restore(bookings, "conservative");
  }
  std::optional<Refusal> refusal(JobId job) const override {
    if (!bookings_.has(job) || !bookings_.of(job).is_made()) return std::nullopt;
    return Refusal{.why = Why::Reservation, .until = bookings_.begins_at(job)};
  }

 private:
  using How = Bookings::How;

  bool update(Walk& walk);
  void start_due(Walk& walk);
  std::optional<Placement> place_now(const Booking& booking, const Ask& ask, Walk& walk) const;

  static Turn turn_of(JobId job, Walk& walk) {
    const Standing standing = walk.standing_of(job);
    return {.group = standing.group, .rank = standing.position.rank, .job = job};
  }
  enum class Claims : std::uint8_t { Same, Others };

  /// A change that moves a user to or from a limit may let any job be booked, or none. Without a
  /// change, what took several passes is not booked again, since that would never end. Events
  /// cannot say whether there was one: a restored policy does not see those of the step before.
  How how(const Walk& walk, Outlook::Change change, Claims claims) const {
    const bool may_move =
        change != Outlook::Change::None || claims == Claims::Others || !bookings_.are_in_parts();
    const bool moves_limits = walk.view().settings().has_limits() && may_move;
    if (moves_limits || change == Outlook::Change::Other) return How::Again;
    return change == Outlook::Change::Sooner ? How::Forward : How::New;
  }

  Bookings bookings_;
  Outlook outlook_;           ///< What the bookings depend on,
  std::uint64_t claims_ = 0;  ///< and what those under limits do.
  bool is_unseen_ = true;     ///< No pass yet: look at everything.
};

/// A job that an event names is booked again, if it waits. Returns: whether a booking was given up.
bool Conservative::update(Walk& walk) {
  PendingIndex& index = walk.context().index;
  bool gave_up = false;
  const auto add = [&](JobId job) {
    if (index.lane_of(job) == nullptr || bookings_.has(job)) return;
    bookings_.add(turn_of(job, walk), walk.view());
  };
  if (std::exchange(is_unseen_, false)) {
    for (const auto& [key, lane] : index.lanes()) {
      for (const Position& position : lane.jobs) add(position.job);
    }
    gave_up = bookings_.forget_others();
  }
  for (const Event& event : walk.context().events) {
    gave_up = bookings_.remove(event.job) || gave_up;
    add(event.job);
  }
  const bool moves = walk.order().depends_on() != DependsOn::Job || walk.context().ranks_expired;
  if (!moves && !walk.context().is_fresh) return gave_up;
  return bookings_.sort([&](JobId job) {
    return index.lane_of(job) ? std::optional(turn_of(job, walk)) : std::nullopt;
  }) || gave_up;
}

void Conservative::start_due(Walk& walk) {
  for (const JobId job : bookings_.due(walk.view().now())) {
    const Ask ask = walk.ask_of(*walk.context().index.lane_of(job));
    if (!walk.tally().allows(job, ask.gpus())) continue;  // since it was booked, in another pass
    auto place = place_now(bookings_.of(job), ask, walk);
    if (!place) continue;
    const bool is_first = bookings_.is_first(job);
    walk.start(job, ask, std::move(*place), is_first ? Because::ItsTurn : Because::Backfilled);
    bookings_.remove(job);
  }
}

/// Where a job that is due starts; by number any place will do.
std::optional<Placement> Conservative::place_now(const Booking& booking, const Ask& ask,
                                                 Walk& walk) const {
  if (walk.trial().look(booking.place, ask, booking.job) == Why::Fits) return booking.place;
  if (bookings_.by() == By::Place) return std::nullopt;
  Placed placed = walk.placer().place(ask, booking.job, walk.trial());
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

}  // namespace

std::unique_ptr<Backfill> conservative(const Keys&) { return std::make_unique<Conservative>(); }

}  // namespace berth
