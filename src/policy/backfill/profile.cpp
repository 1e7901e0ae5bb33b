#include "policy/backfill/profile.hpp"

#include <algorithm>
#include <utility>

#include "policy/kit/outlook.hpp"

namespace berth {

namespace {

/// Shortest booking: a zero-length plan would make the pass spin.
constexpr Duration kShortest = seconds(1);

Duration booked_for(const JobView& job) { return std::max(Plans{}.counted_on(job), kShortest); }

/// The same in what bars others from a GPU, tenants aside.
bool is_same_beside_tenants(const GpuUse& one, const GpuUse& other) {
  return one.reserved == other.reserved && one.foreign == other.foreign &&
         is_usable(one) == is_usable(other);
}

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

void Profile::look(const ClusterView& view) {
  view_ = &view;
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
    if (is_same_beside_tenants(gpus_[g], use)) continue;
    gpus_[g] = use;
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
  holes_.note(view_->cluster(), lifted.grant, lifted.from, lifted.to);
}

void Profile::insert(Stays& stays, Stay made) {
  const Stay& stay = stays.emplace(made.job, std::move(made)).first->second;
  if (runs(stay)) {
    leaving_.insert(stay.to, &stay);
  } else {
    coming_.insert(stay.from, {stay.to, &stay});
  }
  departures_.insert(stay.to, stay.job);
  if (stay.is_guess) guesses_.insert(stay.to);
  taken_.add(stay.from, stay.to, stay.gpus);
  for (const Share& share : stay.grant.shares) {
    on_gpu_[share.gpu.value()].push_back({&stay, share.charge});
  }
}

Profile::Stay Profile::erase(Stays& stays, Stays::iterator at) {
  const Stay& stay = at->second;
  if (runs(stay)) {
    leaving_.erase(stay.to, &stay);
  } else {
    coming_.erase(stay.from, {stay.to, &stay});
  }
  departures_.erase(stay.to, stay.job);
  if (stay.is_guess) guesses_.erase(guesses_.find(stay.to));
  taken_.add(stay.from, stay.to, GpuCount(0) - stay.gpus);
  for (const Share& share : stay.grant.shares) {
    std::erase_if(on_gpu_[share.gpu.value()], [&](const Tenant& one) { return one.stay == &stay; });
  }
  return std::move(stays.extract(at).mapped());
}

// ---- A walk ----------------------------------------------------------------------------------

bool Profile::may_begin_before(const JobView& job, Instant before) const {
  if (by_ != By::Place || !holes_.are_all()) return true;
  if (job.gpus() == GpuCount(0)) return true;
  Ask ask = ask_of(job);
  ask.planned = booked_for(job);
  const Instant end = later(before, ask.planned);
  return std::ranges::any_of(holes_.list(), [&](const auto& entry) {
    const auto& [gpu, hole] = entry;
    if (hole.from >= end || hole.to <= view_->now()) return false;
    if (!hole.is_own && !is_choosy(ask)) return false;
    return may_begin_on(gpu, ask, job.id(), std::min(before, hole.to));
  });
}

/// Whether this GPU alone can take the job for as long as it plans, from a time before this one on.
/// Times that matter are now and when something leaves the GPU.
bool Profile::may_begin_on(GpuId gpu, const Ask& ask, JobId job, Instant before) const {
  const auto& tenants = on_gpu_[gpu.value()];
  const auto admits_at = [&](Instant at) {
    if (at >= before) return false;
    const Instant end = later(at, ask.planned);
    GpuUse use = view_->use().gpu(gpu);
    use.charged = Bytes(0);
    use.milli = GpuMilli(0);
    use.tenants = use.alone = 0;
    const auto takes_more = [&] {
      return admits(view_->use().admission(), view_->cluster().gpu(gpu), use, ask);
    };
    return takes_more() && std::ranges::all_of(tenants, [&](const Tenant& one) {
             const auto& [stay, charge] = one;
             if (stay->job == job || stay->to <= at || stay->from >= end) return true;
             use.charged += charge;
             use.milli += stay->grant.milli;
             ++use.tenants;
             if (stay->grant.sharing == Sharing::Alone) ++use.alone;
             return takes_more();
           });
  };
  return admits_at(view_->now()) || std::ranges::any_of(tenants, [&](const Tenant& one) {
           return one.stay->job != job && one.stay->to > view_->now() && admits_at(one.stay->to);
         });
}

// ---- A search --------------------------------------------------------------------------------

std::optional<Slot> Profile::earliest(const JobView& job, const Placer& placer, Instant before,
                                      const Slot& old) {
  coming_.settle();
  leaving_.settle();
  departures_.settle();
  return by_ == By::Number ? by_number(job, placer, before) : by_place(job, placer, before, old);
}

std::optional<Slot> Profile::by_number(const JobView& job, const Placer& placer,
                                       Instant before) const {
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
    Placed placed = placer.place(ask_, job_, trial);
    return placed ? std::optional(std::move(*placed)) : std::nullopt;
  }

 private:
  static constexpr auto kLeavesLater = [](const Coming& a, const Coming& b) { return a.to > b.to; };

  void take(const Grant& grant) {
    scratch_.use.take(cluster_, grant);
    if (gone_) gone_->push_back(&grant);
  }

  const Cluster& cluster_;
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
std::optional<Slot> Profile::by_place(const JobView& job, const Placer& placer, Instant before,
                                      const Slot& old) {
  const Ask ask = ask_of(job);
  const Duration planned = booked_for(job);
  const bool needs_vacant =
      takes_whole(ask) && view_->use().admission().mode == AdmissionMode::Guarantee;
  const auto worth_a_look = [&](Instant from) {
    return needs_vacant ? taken_.first_below(all_ - ask.gpus(), planned, from) : from;
  };
  Instant at = worth_a_look(view_->now());
  if (at >= before) return std::nullopt;
  Sweep sweep(*this, ask, job.id());
  while (at < before) {
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
