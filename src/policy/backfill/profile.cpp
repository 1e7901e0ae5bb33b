#include "policy/backfill/profile.hpp"

#include <algorithm>
#include <utility>

#include "policy/kit/outlook.hpp"

namespace berth {

namespace {

/// So many looks at a hole, or at a GPU by the placement, take as long as one at a stay.
constexpr std::int64_t kLooksPerStay = 16;

/// Shortest booking: a zero-length plan would make the pass spin.
constexpr Duration kShortest = seconds(1);

Duration booked_for(const JobView& job) { return std::max(Plans{}.counted_on(job), kShortest); }

/// Whether an ask that has no place beside a grant may have one without it: some GPU of its own, or
/// of its nodes, can take it then.
bool may_help(const Grant& gone, const Ask& ask, JobId job, const Trial& trial) {
  if (ask.gpus() == GpuCount(0)) return true;
  const Cluster& cluster = trial.cluster();
  const auto fits = [&](GpuId gpu) { return trial.look(gpu, ask, job) == Why::Fits; };
  const auto fits_on = [&](NodeId node) {
    return std::ranges::any_of(cluster.node(node).gpu_ids(), fits);
  };
  const bool has_host = gone.cpu != CpuMilli(0) || gone.memory != Bytes(0);
  if (gone.shares.empty()) return fits_on(gone.host);
  return std::ranges::any_of(gone.shares, [&](const Share& share) {
    const bool is_node = has_host || is_choosy(ask);
    return is_node ? fits_on(cluster.node_of(share.gpu)) : fits(share.gpu);
  });
}

/// GPUs that no other job can share with this grant.
GpuCount alone_on(const Grant& grant) {
  return GpuCount(grant.sharing == Sharing::Alone ? std::ssize(grant.shares) : 0);
}

}  // namespace

Profile::Memory Profile::memory() const {
  Memory memory{.gpus = gpus_, .holes = holes_};
  for (const Stay& stay : removed_) memory.leave(stay);
  for (const Stays* const stays : {&running_, &booked_}) {
    for (const auto& [job, stay] : *stays) memory.stays.push_back(stay);
  }
  return memory;
}

void Profile::recall(Memory memory, const Cluster& cluster) {
  const auto suits = [&](const Stay& stay) {
    const auto& shares = stay.grant.shares;
    return stay.from <= stay.to && stay.grant.host.value() < cluster.nodes().size() &&
           std::ranges::all_of(
               shares,
               [&](const Share& share) { return share.gpu.value() < cluster.gpus().size(); });
  };
  on_gpu_.resize(cluster.gpus().size());
  gpus_ = std::move(memory.gpus);
  holes_ = std::move(memory.holes);
  holes_.cut(cluster);
  for (Stay& stay : memory.removed) {
    if (suits(stay)) removed_.push_back(std::move(stay));
  }
  for (Stay& stay : memory.stays) {
    Stays& stays = stay.runs() ? running_ : booked_;
    if (suits(stay) && !stays.contains(stay.job)) insert(stays, std::move(stay));
  }
}

void Profile::look(const ClusterView& view) {
  view_ = &view;
  hole_room_.reset();
  all_ = by_ == By::Number ? view.use().vacant() : view.cluster().gpu_count();
  if (by_ == By::Place) look_at_gpus();
  for (const Stay& stay : std::exchange(removed_, {})) leave(stay);
  auto known = running_.begin();
  const auto drop = [&] { leave(erase(running_, known++)); };
  for (const JobId id : view.running()) {
    while (known != running_.end() && known->first < id) drop();
    const JobView job = view.job(id);
    const bool is_known = known != running_.end() && known->first == id;
    const bool is_same = is_known && by_ == By::Place && known->second.to == end_of(job) &&
                         known->second.is_guess == is_guess(job) &&
                         known->second.grant == job.grant();
    if (is_same) {
      ++known;
      continue;
    }
    if (is_known) drop();
    Stay stay = stay_of(job);
    if (by_ == By::Number) all_ += stay.gpus;
    insert(running_, std::move(stay));
  }
  while (known != running_.end()) drop();
}

/// Where other memory has left, say, or a reservation is over.
void Profile::look_at_gpus() {
  const std::size_t count = view_->cluster().gpus().size();
  on_gpu_.resize(count);
  gpus_.resize(count);
  for (std::uint32_t g = 0; g < count; ++g) {
    const GpuUse& use = view_->use().gpu(GpuId(g));
    const Bars bars{.foreign = use.foreign, .reserved = use.reserved, .is_usable = is_usable(use)};
    if (std::exchange(gpus_[g], bars) == bars) continue;
    holes_.note(view_->cluster(), GpuId(g), {view_->now(), kNever, true});
  }
}

Instant Profile::end_of(const JobView& running) const {
  return std::max({Plans{}.foreseen_end(running, view_->now()), later(view_->now(), kMoment),
                   later(running.granted_at(), kShortest)});
}

Profile::Stay Profile::stay_of(const JobView& running) const {
  Stay stay{.job = running.id(),
            .from = Instant::min(),
            .to = end_of(running),
            .is_guess = is_guess(running)};
  if (by_ == By::Number) {
    stay.gpus = left_by(running.grant());
  } else {
    stay.grant = running.grant();
    stay.gpus = alone_on(stay.grant);
  }
  return stay;
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
  if (booked_.contains(booking.job)) return;
  const JobView job = view_->job(booking.job);
  Stay stay{.job = booking.job,
            .from = booking.from,
            .to = later(booking.from, booked_for(job)),
            .is_guess = is_guess(job),
            .gpus = job.gpus()};
  if (by_ == By::Place) {
    stay.grant = view_->use().grant_for(view_->cluster(), ask_of(job), booking.place);
    stay.gpus = alone_on(stay.grant);
  }
  insert(booked_, std::move(stay));
}

void Profile::remove(JobId job) {
  if (auto stay = lift(job)) removed_.push_back(std::move(*stay));
}

std::optional<Profile::Stay> Profile::lift(JobId job) {
  const auto found = booked_.find(job);
  return found == booked_.end() ? std::nullopt : std::optional(erase(booked_, found));
}

void Profile::leave(const Stay& lifted) {
  if (by_ != By::Place) return;
  hole_room_.reset();
  holes_.note(view_->cluster(), lifted.grant, lifted.from, lifted.to);
}

void Profile::insert(Stays& stays, Stay made) {
  hole_room_.reset();
  const Stay& stay = stays.emplace(made.job, std::move(made)).first->second;
  if (stay.runs()) {
    leaving_.insert(stay.to, &stay);
  } else {
    coming_.insert(stay.from, {stay.to, &stay});
  }
  departures_.insert(stay.to, stay.job);
  if (stay.is_guess) guesses_.insert(stay.to);
  taken_.add(stay.from, stay.to, stay.gpus);
  for (const Share& share : stay.grant.shares) {
    OnGpu& on = on_gpu_[share.gpu.value()];
    on.tenants.push_back({&stay, share.charge});
    on.are_known = false;
  }
}

Profile::Stay Profile::erase(Stays& stays, Stays::iterator at) {
  hole_room_.reset();
  const Stay& stay = at->second;
  if (stay.runs()) {
    leaving_.erase(stay.to, &stay);
  } else {
    coming_.erase(stay.from, {stay.to, &stay});
  }
  departures_.erase(stay.to, stay.job);
  if (stay.is_guess) guesses_.erase(guesses_.find(stay.to));
  taken_.add(stay.from, stay.to, GpuCount(0) - stay.gpus);
  for (const Share& share : stay.grant.shares) {
    OnGpu& on = on_gpu_[share.gpu.value()];
    std::erase_if(on.tenants, [&](const Tenant& one) { return one.stay == &stay; });
    on.are_known = false;
  }
  return std::move(stays.extract(at).mapped());
}

// ---- A walk ----------------------------------------------------------------------------------

std::optional<Instant> Profile::may_begin(const JobView& job, const Placer& placer,
                                          Instant before) const {
  ++looks_;
  if (by_ != By::Place || !holes_.are_all() || job.gpus() == GpuCount(0)) return view_->now();
  Ask ask = ask_of(job);
  ask.planned = booked_for(job);
  const auto own = booked_.find(job.id());
  const Looked looked{job.id(), ask, own == booked_.end() ? nullptr : &own->second};
  if (!may_begin_in_holes(looked, before)) return std::nullopt;
  looks_ += std::ssize(holes_.list()) / kLooksPerStay;
  const Instant end = later(before, ask.planned);
  const auto on_hole = [&](GpuId gpu, const Holes::Hole& hole) -> std::optional<Instant> {
    if (hole.from >= end || hole.to <= view_->now()) return std::nullopt;
    if (!hole.is_own && !is_choosy(ask)) return std::nullopt;
    looks_ += 1 + std::ssize(on_gpu_[gpu.value()].tenants) / kLooksPerStay;
    return may_begin_on(gpu, looked, hole, before);
  };
  const bool is_gang = ask.alone() && ask.gpus() > GpuCount(1) &&
                       view_->use().admission().mode == AdmissionMode::Guarantee;
  std::optional<Instant> first;
  std::vector<NodeId> nodes;
  for (const auto& [gpu, hole] : hole_room().holes) {
    const auto on = on_hole(gpu, hole);
    if (!on) continue;
    first = first ? std::min(*first, *on) : on;
    if (!is_gang) before = *first;  // a later one does not matter
    const NodeId node = view_->cluster().node_of(gpu);
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  }
  if (!is_gang || !first) return first;
  const bool on_one =
      placer.keeps_on_node() && ask.gpus().raw() <= std::int64_t{view_->cluster().largest_node()};
  if (!on_one) nodes.clear();
  return may_gather(looked, {*first, before}, nodes);
}

const Profile::HoleRoom& Profile::hole_room() const {
  if (hole_room_) return *hole_room_;
  Instant last = view_->now();
  for (const auto& [gpu, hole] : holes_.list()) {
    const OnGpu& on = known_gaps(gpu);
    if (!on.shared.empty()) last = std::max(last, on.shared.back().from);
    if (!on.empty.empty()) last = std::max(last, on.empty.back().from);
  }
  const LongestGaps none(view_->now(), last);
  HoleRoom& room = hole_room_.emplace(none, none);
  room.holes.assign(holes_.list().begin(), holes_.list().end());
  for (const auto& [gpu, hole] : holes_.list()) {
    const OnGpu& on = known_gaps(gpu);
    for (const Gap& gap : on.empty) {
      if (gap.meets(hole.from, hole.to)) room.empty.add(gap);
    }
    for (const Gap& gap : on.shared) {
      if (gap.meets(hole.from, hole.to)) room.shared.add(gap);
    }
  }
  room.empty.sum();
  room.shared.sum();
  return room;
}

/// False if no gap of a GPU with a hole is long enough. Its own booking may end one.
bool Profile::may_begin_in_holes(const Looked& looked, Instant before) const {
  if (view_->use().admission().mode != AdmissionMode::Guarantee) return true;
  const LongestGaps& longest = looked.ask.alone() ? hole_room().empty : hole_room().shared;
  if (longest.may_have(before, looked.ask.planned)) return true;
  if (!looked.ask.alone() || looked.own == nullptr) return false;
  return std::ranges::any_of(looked.own->grant.shares, [&](const Share& share) {
    const auto& gaps = known_gaps(share.gpu).empty;
    return std::ranges::binary_search(gaps, looked.own->from, {}, &Gap::to);
  });
}

/// Brings the gaps of a GPU up to date.
const Profile::OnGpu& Profile::known_gaps(GpuId gpu) const {
  OnGpu& on = on_gpu_[gpu.value()];
  if (std::exchange(on.are_known, true)) return on;
  on.empty = gaps_between(stays_on(on, Which::All, nullptr));
  on.shared = gaps_between(stays_on(on, Which::Alone, nullptr));
  return on;
}

std::vector<std::pair<Instant, Instant>> Profile::stays_on(const OnGpu& on, Which which,
                                                           const Stay* except) {
  std::vector<std::pair<Instant, Instant>> stays;
  for (const Tenant& one : on.tenants) {
    const bool counts = which == Which::All || one.stay->grant.sharing == Sharing::Alone;
    if (counts && one.stay != except) stays.emplace_back(one.stay->from, one.stay->to);
  }
  return stays;
}

/// The gaps of a GPU for a job of this kind.
const std::vector<Gap>& Profile::gaps(GpuId gpu, const Looked& looked,
                                      std::vector<Gap>& scratch) const {
  const bool is_its_own =
      looked.own != nullptr &&
      std::ranges::binary_search(looked.own->grant.shares, gpu, {}, &Share::gpu);
  if (is_its_own) {
    const Which which = looked.ask.alone() ? Which::All : Which::Alone;
    scratch = gaps_between(stays_on(on_gpu_[gpu.value()], which, looked.own));
    return scratch;
  }
  const OnGpu& on = known_gaps(gpu);
  return looked.ask.alone() ? on.empty : on.shared;
}

/// True if the GPU takes the job while it has no tenant.
bool Profile::may_ever_take(GpuId gpu, const Ask& ask) const {
  GpuUse use = view_->use().gpu(gpu);
  use.charged = Bytes(0);
  use.milli = GpuMilli(0);
  use.tenants = use.alone = 0;
  return admits(view_->use().admission(), view_->cluster().gpu(gpu), use, ask);
}

/// The first time before this one from which this GPU by itself can take the job for as long as it
/// plans, some of it in the hole.
std::optional<Instant> Profile::may_begin_on(GpuId gpu, const Looked& looked,
                                             const Holes::Hole& hole, Instant before) const {
  if (view_->use().admission().mode != AdmissionMode::Guarantee) {
    return may_begin_beside(gpu, looked, hole, before);
  }
  std::vector<Gap> scratch;
  for (const Gap& gap : gaps(gpu, looked, scratch)) {
    if (gap.from >= before) break;
    const auto first = gap.first(view_->now(), looked.ask.planned);
    if (!first || *first >= before || !gap.meets(hole.from, hole.to)) continue;
    if (!may_ever_take(gpu, looked.ask)) return std::nullopt;
    return looked.ask.alone() ? first : may_begin_beside(gpu, looked, hole, before);
  }
  return std::nullopt;
}

/// The same by all tenants. Times that matter are now and when something leaves the GPU.
std::optional<Instant> Profile::may_begin_beside(GpuId gpu, const Looked& looked,
                                                 const Holes::Hole& hole, Instant before) const {
  const auto& tenants = on_gpu_[gpu.value()].tenants;
  const auto admits_at = [&](Instant at) {
    const Instant end = later(at, looked.ask.planned);
    if (at >= std::min(before, hole.to) || end <= hole.from) return false;
    GpuUse use = view_->use().gpu(gpu);
    use.charged = Bytes(0);
    use.milli = GpuMilli(0);
    use.tenants = use.alone = 0;
    const auto takes_more = [&] {
      return admits(view_->use().admission(), view_->cluster().gpu(gpu), use, looked.ask);
    };
    return takes_more() && std::ranges::all_of(tenants, [&](const Tenant& one) {
             const auto& [stay, charge] = one;
             if (stay->job == looked.job || stay->to <= at || stay->from >= end) return true;
             use.charged += charge;
             use.milli += stay->grant.milli;
             ++use.tenants;
             if (stay->grant.sharing == Sharing::Alone) ++use.alone;
             return takes_more();
           });
  };
  if (admits_at(view_->now())) return view_->now();
  std::optional<Instant> first;
  for (const Tenant& one : tenants) {
    const Instant at = one.stay->to;
    const bool matters = one.stay->job != looked.job && at > view_->now();
    if (matters && (!first || at < *first) && admits_at(at)) first = at;
  }
  return first;
}

/// The first of these times from which as many GPUs of one of the nodes, or of all if none is
/// named, can take the job as it asks for.
std::optional<Instant> Profile::may_gather(const Looked& looked, const Between& when,
                                           std::span<const NodeId> nodes) const {
  const auto many = static_cast<std::size_t>(looked.ask.gpus().raw());
  std::vector<Gap> scratch;
  const auto add = [&](Overlap& overlap, GpuId gpu) {
    if (!may_ever_take(gpu, looked.ask)) return;
    for (const Gap& gap : gaps(gpu, looked, scratch)) {
      if (gap.from >= when.before) break;
      const auto first = gap.first(when.from, looked.ask.planned);
      if (first && *first < when.before) overlap.add(*first, gap.last(looked.ask.planned));
    }
  };
  std::optional<Instant> soonest;
  const auto note = [&](std::optional<Instant> at) {
    if (at) soonest = soonest ? std::min(*soonest, *at) : at;
  };
  for (const NodeId node : nodes) {
    Overlap overlap;
    for (const GpuId gpu : view_->cluster().node(node).gpu_ids()) add(overlap, gpu);
    note(overlap.first_of(many));
  }
  if (!nodes.empty()) return soonest;
  looks_ += std::ssize(on_gpu_);
  Overlap overlap;
  for (std::uint32_t g = 0; g < on_gpu_.size(); ++g) add(overlap, GpuId(g));
  return overlap.first_of(many);
}

// ---- A search --------------------------------------------------------------------------------

std::optional<Slot> Profile::earliest(const JobView& job, const Placer& placer, const Between& when,
                                      const Slot& old) {
  ++looks_;
  coming_.settle();
  leaving_.settle();
  departures_.settle();
  return by_ == By::Number ? by_number(job, placer, when.before) : by_place(job, placer, when, old);
}

std::optional<Slot> Profile::by_number(const JobView& job, const Placer& placer,
                                       Instant before) const {
  looks_ += std::ssize(running_) + std::ssize(booked_) / kLooksPerStay;
  const Instant from = taken_.first_below(all_ - job.gpus(), booked_for(job), view_->now());
  if (from >= before) return std::nullopt;
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

/// The room that a job has from one start after another. Stays that begin before it would be over
/// are put, those that are over when it begins are taken off: what is left is free all the time.
class Profile::Sweep {
 public:
  Sweep(const Profile& profile, const Ask& ask, JobId job)
      : cluster_(profile.view_->cluster()),
        looks_(profile.looks_),
        ask_(ask),
        job_(job),
        scratch_{profile.view_->use(), {}},
        coming_(profile.coming_.entries()),
        leaving_(profile.leaving_.entries()) {}

  /// To a later start than before, and the end of the job.
  void move_to(Instant at, Instant end) {
    for (; !coming_.empty() && coming_.front().first < end; coming_ = coming_.subspan(1)) {
      const Coming& coming = coming_.front().second;
      if (coming.to <= at) continue;
      ++looks_;
      scratch_.use.put(cluster_, coming.stay->grant);
      put_.push_back(coming);
      std::ranges::push_heap(put_, kLeavesLater);
    }
    for (; !leaving_.empty() && leaving_.front().first <= at; leaving_ = leaving_.subspan(1)) {
      take(leaving_.front().second->grant);
    }
    for (; !put_.empty() && put_.front().to <= at; put_.pop_back()) {
      take(put_.front().stay->grant);
      std::ranges::pop_heap(put_, kLeavesLater);
    }
  }
  GpuCount vacant() const { return scratch_.use.vacant(); }
  bool fits(const Placement& place) {
    return Trial(cluster_, scratch_).look(place, ask_, job_) == Why::Fits;
  }
  /// Where it fits now. It is not asked of the placer again before something has left a GPU that
  /// can take the job.
  std::optional<Placement> place(const Placer& placer) {
    const Trial trial(cluster_, scratch_);
    const bool may_fit = !gone_ || std::ranges::any_of(*gone_, [&](const Grant* grant) {
      return may_help(*grant, ask_, job_, trial);
    });
    gone_.emplace();
    if (!may_fit) return std::nullopt;
    looks_ += 1 + std::ssize(cluster_.gpus()) / kLooksPerStay;
    Placed placed = placer.place(ask_, job_, trial);
    return placed ? std::optional(std::move(*placed)) : std::nullopt;
  }

 private:
  static constexpr auto kLeavesLater = [](const Coming& a, const Coming& b) { return a.to > b.to; };

  void take(const Grant& grant) {
    ++looks_;
    scratch_.use.take(cluster_, grant);
    if (gone_) gone_->push_back(&grant);
  }

  const Cluster& cluster_;
  std::int64_t& looks_;
  const Ask& ask_;
  JobId job_;
  Scratch scratch_;
  std::span<const ByTime<Coming>::Entry> coming_;
  std::span<const ByTime<const Stay*>::Entry> leaving_;
  std::vector<Coming> put_;                        ///< A heap: the first to leave on top.
  std::optional<std::vector<const Grant*>> gone_;  ///< Since the placer was asked, if it was.
};

/// A job that needs GPUs alone need not be looked at while those that others have alone leave too
/// few.
std::optional<Slot> Profile::by_place(const JobView& job, const Placer& placer, const Between& when,
                                      const Slot& old) {
  const Ask ask = ask_of(job);
  const Duration planned = booked_for(job);
  const bool needs_vacant =
      takes_whole(ask) && view_->use().admission().mode == AdmissionMode::Guarantee;
  const auto worth_a_look = [&](Instant from) {
    return needs_vacant ? taken_.first_below(all_ - ask.gpus(), planned, from) : from;
  };
  Instant at = worth_a_look(std::max(view_->now(), when.from));
  if (at >= when.before) return std::nullopt;
  Sweep sweep(*this, ask, job.id());
  while (at < when.before) {
    sweep.move_to(at, later(at, planned));
    if (!needs_vacant || sweep.vacant() >= ask.gpus()) {
      if (at == old.from && sweep.fits(old.place)) return old;
      if (auto place = sweep.place(placer)) return Slot{at, std::move(*place)};
    }
    const auto departures = departures_.entries();
    const auto next =
        std::ranges::upper_bound(departures, at, {}, [](const auto& entry) { return entry.first; });
    if (next == departures.end()) break;
    at = worth_a_look(next->first);
  }
  return std::nullopt;
}

}  // namespace berth
