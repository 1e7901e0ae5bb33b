// Gavel's isolated: every job gets the same part of every type of GPU, by time, in rounds.
#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/bytes.hpp"
#include "core/wide.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/tally.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kGavelKeys = std::to_array<Key>({
    {.name = "round",
     .type = KeyType::Time,
     .usual = "6m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "Length of a round."},
    {.name = "plan_lasts",
     .type = KeyType::Time,
     .usual = "32m",
     .least = 0,
     .most = kYear,
     .what = "A plan holds at least this long, whatever jobs come or go."},
});

constexpr About kGavelIsolated{
    .title =
        "Gavel's isolated: every job gets the same part of every type of GPU, by time, in rounds.",
    .rule =
        "With m jobs on N GPUs a job of g GPUs is owed c / max(N, m g) of the time on a type of "
        "which there are c. The plan is made again when jobs came or went, after `plan_lasts` at "
        "the earliest or when no job of the plan is left. A round takes `round`, or ends with the "
        "last of its jobs. For each round types are filled one after the other, in an order drawn "
        "for it; on each type rank = (time received since the plan, and half a round, / time owed; "
        "time short before the plan, most first; GPUs; arrival), and any job that fits is in, on "
        "one type. Jobs keep their GPUs from round to round where they can; a job that ends leaves "
        "its GPUs idle until the round ends. Jobs without GPUs are in every round.",
    .reads =
        "Run time, GPUs asked for, request, GPUs per type, arrivals, chance (the order of types).",
    .source =
        "Gavel (Narayanan et al., OSDI 2020): the baseline `isolated` of its artefact, and its "
        "rounds.",
    .differs =
        "Rounds of the artefact hold whole steps only, and a plan from instant 0 counts as none. A "
        "job may not span types, so a job that no type holds is rejected.",
    .cost = "O(GPUs + types x jobs (log jobs + a placement)) per round, O(jobs) per event.",
    .proof =
        "A run of the authors' artefact on its own trace of 96 jobs: mean completion time, "
        "makespan and use of GPUs within 1 % in the mean of 20 seeds (doc/results/gavel.md, "
        "test/paper/gavel_test.cpp). The paper prints no figure of that run.",
    .needs = {.preemption = true},
    .keys = kGavelKeys};

namespace {

constexpr Duration kLongest = hours(24) * 365 * 150;
constexpr std::int64_t kLargest = std::int64_t{1} << 60;

/// The ask as it is on one type of GPU; nothing if it rules that type out.
std::optional<Ask> on_type(Ask ask, std::size_t type) {
  GpuTypes& types = ask.request.gpu.types;
  const GpuTypes bit = GpuTypes{1} << type;
  if (types != 0 && (types & bit) == 0) return std::nullopt;
  types = bit;
  return ask;
}

/// Whether a job could ever run: on the first type that has a place for it.
class OneType final : public Placer {
 public:
  explicit OneType(const Placer& placer) : placer_(placer) {}

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    if (ask.gpus() == GpuCount(0)) return placer_.place(ask, job, trial);
    Placed placed = std::unexpected(Refusal{});
    for (std::size_t type = 0; type < trial.cluster().type_names().size(); ++type) {
      if (const auto here = on_type(ask, type)) placed = placer_.place(*here, job, trial);
      if (placed) break;
    }
    return placed;
  }

 private:
  const Placer& placer_;
};

/// What a job had of one type of GPU.
struct Received {
  Duration ran{0};      ///< Since the plan.
  Duration lacking{0};  ///< By the plans before; below zero: it had too much.
};

struct Standing {
  std::int64_t divisor = 0;  ///< It is owed the GPUs of a type over this; 0: not planned yet.
  Duration ran_before{0};    ///< Of its run time, what it had when it came into the round.
  std::vector<Received> types;
};

/// A job of the round to be.
struct Seat {
  JobId job;
  Ask ask;  ///< Of that one type of GPU.
  Placement place;
};

/// The round to be, job by job, as if nobody ran now.
class Filling {
 public:
  Filling(const ClusterView& view, const Placer& placer, Trial& trial)
      : view_(view), placer_(placer), trial_(trial), tally_(view, Tally::From::Nothing) {}

  bool seat(JobId id, const Ask& ask) {
    if (!tally_.allows(view_.job(id))) return false;
    Placed placed = placer_.place(ask, id, trial_);
    if (placed) take({.job = id, .ask = ask, .place = std::move(*placed)});
    return placed.has_value();
  }
  /// Where it runs now, if that will do.
  bool keep(JobId id, const Ask& ask) {
    const Job& job = *view_.find(id);
    if (job.state != JobState::Starting && job.state != JobState::Running) return false;
    Placement place = placement_of(job.grant);
    if (trial_.look(place, ask, id) != Why::Fits || !tally_.allows(view_.job(id))) return false;
    take({.job = id, .ask = ask, .place = std::move(place)});
    return true;
  }
  std::vector<Seat>& seats() { return seats_; }

 private:
  void take(Seat seat) {
    trial_.put(seat.ask, seat.place);
    tally_.take(view_.job(seat.job));
    seats_.push_back(std::move(seat));
  }

  const ClusterView& view_;
  const Placer& placer_;
  Trial& trial_;
  Tally tally_;
  std::vector<Seat> seats_;
};

/// The same jobs on the same types, each where it runs already if that will do, the largest of the
/// others first; as they were if somebody would be left over.
std::vector<Seat> settle(std::vector<Seat> seats, Filling again) {
  std::ranges::stable_sort(seats, std::greater(), [](const Seat& seat) { return seat.ask.gpus(); });
  std::vector<const Seat*> moving;
  for (const Seat& seat : seats) {
    if (!again.keep(seat.job, seat.ask)) moving.push_back(&seat);
  }
  for (const Seat* seat : moving) {
    if (!again.seat(seat->job, seat->ask)) return seats;
  }
  return std::move(again.seats());
}

/// The types of GPU in an order drawn anew.
std::vector<std::size_t> draw_types(const ClusterView& view) {
  std::vector<std::size_t> types(view.cluster().type_names().size());
  std::iota(types.begin(), types.end(), std::size_t{0});
  Rng rng = view.rng();
  for (std::size_t i = types.size(); i > 1; --i) {
    const auto other = rng.between(0, static_cast<std::int64_t>(i) - 1);
    std::swap(types[i - 1], types[static_cast<std::size_t>(other)]);
  }
  return types;
}

std::vector<std::int64_t> gpus_by_type(const Cluster& cluster) {
  std::vector<std::int64_t> counts(cluster.type_names().size());
  for (const GpuSpec& gpu : cluster.gpus()) ++counts[gpu.type];
  return counts;
}

class GavelIsolated final : public Policy {
 public:
  GavelIsolated(const Keys& keys, std::unique_ptr<Placer> placer)
      : round_takes_(keys.time("round")),
        plan_lasts_(keys.time("plan_lasts")),
        placer_(std::move(placer)),
        one_type_(*placer_) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, one_type_);
    know_jobs(view);
    if (is_over(view)) {
      book(view);
      if (is_plan_due(view)) plan(view);
      begin_round(view);
    }
    Decisions decisions = carry_out(view);
    jobs_.reject_impossible(decisions);
    decisions.wake_at = wake_at();
    return decisions;
  }

  Snapshot save() const override;
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  static bool is_there(const ClusterView& view, JobId id) {
    const Job* const job = view.find(id);
    return job != nullptr && is_live(*job);
  }

  static bool exists(const Placement& place, const Cluster& cluster) {
    return place.host.value() < cluster.nodes().size() &&
           (place.gpus.empty() || place.gpus.back().value() < cluster.gpus().size());
  }

  void know_jobs(const ClusterView& view) {
    std::erase_if(standings_, [&](const auto& known) { return !is_there(view, known.first); });
    for (const JobId id : jobs_.ids()) {
      standings_[id].types.resize(view.cluster().type_names().size());
    }
    if (!unchecked_) return;
    unchecked_ = false;
    std::erase_if(round_, [&](const auto& in) { return !exists(in.second, view.cluster()); });
  }

  bool is_over(const ClusterView& view) const {
    return view.now() >= round_end_ ||
           std::ranges::none_of(round_, [&](const auto& in) { return is_there(view, in.first); });
  }

  /// What the jobs of the round had of it.
  void book(const ClusterView& view) {
    for (const auto& [id, place] : round_) {
      const auto found = standings_.find(id);
      if (found == standings_.end() || place.gpus.empty()) continue;
      Standing& standing = found->second;
      const std::size_t type = view.cluster().gpu(place.gpus.front()).type;
      // A job may turn out to have ended before the round did.
      standing.types[type].ran +=
          std::max(Duration::zero(), view.job(id).ran() - standing.ran_before);
    }
  }

  bool is_planned(JobId id) const { return standings_.at(id).divisor > 0; }

  bool is_plan_due(const ClusterView& view) const {
    const auto planned = [&](JobId id) { return is_planned(id); };
    const auto of_plan = std::ranges::count_if(jobs_.ids(), planned);
    const bool changed = of_plan != planned_jobs_ || of_plan != std::ssize(jobs_.ids());
    return changed && (of_plan == 0 || view.now() >= later(planned_at_, plan_lasts_));
  }

  void plan(const ClusterView& view) {
    const Duration since = view.now() - planned_at_;
    const std::vector<std::int64_t> counts = gpus_by_type(view.cluster());
    planned_at_ = view.now();
    planned_jobs_ = std::ssize(jobs_.ids());
    for (const JobId id : jobs_.ids()) {
      Standing& standing = standings_.at(id);
      for (std::size_t type = 0; type < counts.size(); ++type) {
        Received& received = standing.types[type];
        if (standing.divisor > 0) {
          const Wide owed = Wide{counts[type]} * micros(since) / standing.divisor;
          received.lacking += Duration(static_cast<std::int64_t>(owed)) - received.ran;
        }
        received.ran = Duration::zero();
      }
      const std::int64_t asked = planned_jobs_ * view.job(id).gpus().raw();
      standing.divisor = std::max(view.cluster().gpu_count().raw(), asked);
    }
  }

  void begin_round(const ClusterView& view) {
    Trial trial = view.trial();
    for (const JobId id : view.running()) trial.take(view.find(id)->grant);
    const Trial::Mark empty = trial.mark();
    std::vector<Seat> seats = choose(view, Filling(view, *placer_, trial));
    trial.rollback(empty);
    seats = settle(std::move(seats), Filling(view, *placer_, trial));
    round_.clear();
    for (Seat& seat : seats) {
      standings_.at(seat.job).ran_before = view.job(seat.job).ran();
      round_.emplace(seat.job, std::move(seat.place));
    }
    round_end_ = later(view.now(), round_takes_);
  }

  std::vector<Seat> choose(const ClusterView& view, Filling filling) const {
    std::vector<JobId> left;
    const std::set<JobId> kept = keep_left_alone(view, filling);
    for (const JobId id : jobs_.ids()) {
      const Ask ask = ask_of(view.job(id));
      if (kept.contains(id)) continue;
      if (ask.gpus() == GpuCount(0)) {
        filling.seat(id, ask);
      } else if (is_planned(id)) {
        left.push_back(id);
      }
    }
    for (const std::size_t type : draw_types(view)) {
      for (const std::size_t i : by_claim(left, type)) {
        const auto ask = on_type(ask_of(view.job(left[i])), type);
        if (ask && filling.seat(left[i], *ask)) left[i] = JobId();
      }
      std::erase(left, JobId());
    }
    return std::move(filling.seats());
  }

  /// Who must not give way is in the round, whatever it is owed.
  std::set<JobId> keep_left_alone(const ClusterView& view, Filling& filling) const {
    std::set<JobId> kept;
    if (view.settings().can_suspend) return kept;
    for (const JobId id : jobs_.ids()) {
      const JobView job = view.job(id);
      if (job.grant().shares.empty() || !view.is_left_alone(job)) continue;
      const std::size_t type = view.cluster().gpu(job.grant().shares.front().gpu).type;
      const auto ask = on_type(ask_of(job), type);
      if (ask && filling.keep(id, *ask)) kept.insert(id);
    }
    return kept;
  }

  /// Positions in `jobs`, best claim to this type first.
  std::vector<std::size_t> by_claim(std::span<const JobId> jobs, std::size_t type) const {
    using Claim = std::tuple<Wide, Duration, std::int64_t, std::size_t>;
    std::vector<Claim> claims;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Standing& standing = standings_.at(jobs[i]);
      const Received& received = standing.types[type];
      const Wide had = Wide{standing.divisor} * micros(round_takes_ / 2 + received.ran);
      claims.emplace_back(had, -received.lacking, standing.divisor, i);
    }
    std::ranges::sort(claims);
    std::vector<std::size_t> order;
    for (const Claim& claim : claims) order.push_back(std::get<std::size_t>(claim));
    return order;
  }

  Decisions carry_out(const ClusterView& view) const {
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs_.ids()) {
      const auto found = round_.find(id);
      places.push_back(found == round_.end() ? std::nullopt : std::optional(found->second));
    }
    return rearrange(view, jobs_.ids(), places);
  }

  /// The end of the round; if there is nobody in it, the plan that will have somebody.
  std::optional<Instant> wake_at() const {
    if (!round_.empty()) return round_end_;
    const auto planned = [&](JobId id) { return is_planned(id); };
    if (std::ranges::all_of(jobs_.ids(), planned)) return std::nullopt;
    return later(planned_at_, plan_lasts_);
  }

  Duration round_takes_;
  Duration plan_lasts_;
  std::unique_ptr<Placer> placer_;
  OneType one_type_;
  JobList jobs_;  ///< In order of arrival.
  std::map<JobId, Standing> standings_;
  Instant planned_at_ = kStart;
  std::int64_t planned_jobs_ = 0;
  std::map<JobId, Placement> round_;
  Instant round_end_ = kStart;
  bool unchecked_ = false;  ///< As restored: its round may name GPUs that there are not.
};

Snapshot GavelIsolated::save() const {
  ByteWriter writer;
  writer.text(jobs_.save());
  writer.integer(micros(planned_at_));
  writer.integer(planned_jobs_);
  writer.integer(micros(round_end_));
  writer.integer(std::ssize(standings_));
  for (const auto& [id, standing] : standings_) {
    writer.integer(static_cast<std::int64_t>(id.value()));
    writer.integer(standing.divisor);
    writer.integer(micros(standing.ran_before));
    writer.integer(std::ssize(standing.types));
    for (const Received& received : standing.types) {
      writer.integer(micros(received.ran));
      writer.integer(micros(received.lacking));
    }
  }
  writer.integer(std::ssize(round_));
  for (const auto& [id, place] : round_) {
    writer.integer(static_cast<std::int64_t>(id.value()));
    writer.integer(place.host.value());
    writer.integer(std::ssize(place.gpus));
    for (const GpuId gpu : place.gpus) writer.integer(gpu.value());
  }
  return writer.take();
}

/// An integer of [low, high]; anything else fails the reader.
std::int64_t bounded(ByteReader& reader, std::int64_t low, std::int64_t high) {
  const std::int64_t value = reader.integer();
  if (value < low || value > high) reader.fail();
  return reader.failed() ? low : value;
}

/// So many entries of a byte at least.
std::int64_t length(ByteReader& reader) {
  return bounded(reader, 0, static_cast<std::int64_t>(reader.left()));
}

Standing read_standing(ByteReader& reader) {
  const std::int64_t longest = micros(kLongest);
  Standing standing;
  standing.divisor = bounded(reader, 0, kLargest);
  standing.ran_before = Duration(bounded(reader, 0, longest));
  for (std::int64_t left = length(reader); left > 0 && !reader.failed(); --left) {
    const Duration ran(bounded(reader, 0, longest));
    standing.types.push_back({.ran = ran, .lacking = Duration(bounded(reader, -longest, longest))});
  }
  return standing;
}

Placement read_place(ByteReader& reader) {
  constexpr std::int64_t kIds = std::numeric_limits<std::uint32_t>::max();
  Placement place{.gpus = {}, .host = NodeId(static_cast<std::uint32_t>(reader.integer()))};
  for (std::int64_t left = length(reader); left > 0 && !reader.failed(); --left) {
    const std::int64_t above = place.gpus.empty() ? 0 : std::int64_t{place.gpus.back().value()} + 1;
    place.gpus.push_back(GpuId(static_cast<std::uint32_t>(bounded(reader, above, kIds))));
  }
  return place;
}

Expected<void> GavelIsolated::restore(const Snapshot& bytes) {
  ByteReader reader(bytes);
  auto restored = jobs_.restore(std::string(reader.text()));
  if (!restored) return restored;
  planned_at_ = instant_from_micros(bounded(reader, 0, kLargest));
  planned_jobs_ = bounded(reader, 0, kLargest);
  round_end_ = instant_from_micros(bounded(reader, 0, kLargest));
  standings_.clear();
  for (std::int64_t left = length(reader); left > 0 && !reader.failed(); --left) {
    const JobId id(static_cast<JobId::rep>(reader.integer()));
    standings_.emplace(id, read_standing(reader));
  }
  unchecked_ = true;
  round_.clear();
  for (std::int64_t left = length(reader); left > 0 && !reader.failed(); --left) {
    const JobId id(static_cast<JobId::rep>(reader.integer()));
    round_.emplace(id, read_place(reader));
  }
  if (!reader.failed() && reader.at_end()) return {};
  return fail(ErrorCode::BadData, "policy memory: not a gavel state");
}

}  // namespace

std::unique_ptr<Policy> gavel_isolated(const Keys& keys, std::unique_ptr<Placer> placer,
                                       const Knobs&) {
  return std::make_unique<GavelIsolated>(keys, std::move(placer));
}

}  // namespace berth
