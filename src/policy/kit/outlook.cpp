#include "policy/kit/outlook.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth {

namespace {

/// FNV-1a over the words that say what GPUs and nodes can take, berths aside. Never 0.
std::uint64_t condition_of(const ClusterView& view) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  const auto add = [&hash](std::int64_t word) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 1'099'511'628'211U;
  };
  const Admission& admission = view.settings().admission;
  add(static_cast<std::int64_t>(admission.mode));
  add(admission.guard_floor.raw());
  add(admission.guard_ppm);
  const Occupancy& use = view.use();
  for (std::uint32_t g = 0; g < view.cluster().gpus().size(); ++g) {
    const GpuUse& gpu = use.gpu(GpuId(g));
    add(is_usable(gpu) ? gpu.foreign.raw() : -1);
    if (admission.mode == AdmissionMode::FreeMemory) add(gpu.used.raw());
  }
  for (std::uint32_t n = 0; n < view.cluster().nodes().size(); ++n) {
    add(use.node(NodeId(n)).healthy ? 1 : 0);
  }
  return hash | 1;
}

/// In microseconds, each half as long again as the one before; the last is beyond any run time.
constexpr auto kSteps = [] {
  std::array<std::int64_t, 92> steps{1};
  for (std::size_t i = 1; i < steps.size(); ++i) {
    steps[i] = steps[i - 1] + std::max<std::int64_t>(1, steps[i - 1] / 2);
  }
  return steps;
}();
static_assert(kSteps.back() > std::int64_t{1} << 52);

/// The step of a job that has outlived its estimate.
Duration step_of(const JobView& job) {
  constexpr std::int64_t kPart = 8;
  const Duration beyond = std::max(job.progressed() - job.estimate(), job.estimate() / kPart);
  const auto* const step = std::ranges::upper_bound(kSteps, micros(beyond));
  return Duration(step == kSteps.end() ? micros(beyond) + 1 : *step);
}

}  // namespace

Duration Plans::counted_on(const JobView& job) const {
  if (has_plan(job)) {
    const Duration left = job.planned();
    if (left > Duration::zero() || !has_outlived(job)) return left;
    return job.estimate() + 2 * step_of(job) - job.progressed();
  }
  // At its very bound a job counts as of the next class, as it will in a moment.
  const Duration ran = job.ran() + Duration(1);
  Duration whole = bound_of(class_after(job.duration_class(), ran, classes), classes);
  if (whole == kForever) whole = kUsualLongRun;
  while (whole <= job.ran()) whole *= 2;
  return whole - job.ran();
}

Duration Plans::holds_for(const JobView& job) const {
  return has_outlived(job) ? job.estimate() + step_of(job) - job.progressed() : counted_on(job);
}

Bytes charges_of(const Grant& grant) {
  Bytes sum{0};
  for (const Share& share : grant.shares) sum += share.charge;
  return sum;
}

Instant first_doubt(const ClusterView& view, std::span<const Fresh> started, const Plans& plans,
                    Instant until) {
  Instant first = kNever;
  const auto doubt = [&](JobId id) {
    const JobView job = view.job(id);
    const bool is_sure = job.spec().time_limit != kForever || job.state() == JobState::Stopping;
    if (is_sure) return;
    const Duration left = plans.counted_on(job);
    if (later(view.now(), left) > until) return;
    first = std::min(first, later(view.now(), has_outlived(job) ? plans.holds_for(job) : left));
  };
  std::ranges::for_each(view.running(), doubt);
  std::ranges::for_each(started, doubt, &Fresh::job);
  return first;
}

Outlook::Noted Outlook::noted(const ClusterView& view, JobId id, const Plans& plans) {
  const JobView job = view.job(id);
  return {id, plans.foreseen_end(job, view.now()), charges_of(job.grant())};
}

Outlook::Change Outlook::between(const Noted& was, const Noted& is, Instant now) {
  const Instant end = std::max(was.end, now);
  if (is.charge > was.charge || is.end > end) return Change::Other;
  return is.charge < was.charge || is.end < end ? Change::Sooner : Change::None;
}

Outlook::Change Outlook::follow(const ClusterView& view, const Plans& plans) {
  const std::uint64_t before = std::exchange(condition_, condition_of(view));
  Change change = before == condition_ ? Change::None : Change::Other;
  const std::vector<Noted> known = std::exchange(noted_, {});
  noted_.reserve(view.running().size());
  auto was = known.begin();
  const auto pass_those_gone = [&](auto is_gone) {
    for (; was != known.end() && is_gone(was->job); ++was) {
      if (was->end > view.now()) change = std::max(change, Change::Sooner);
    }
  };
  for (const JobId id : view.running()) {
    pass_those_gone([&](JobId job) { return job < id; });
    noted_.push_back(noted(view, id, plans));
    if (was == known.end() || was->job != id) continue;
    change = std::max(change, between(*was++, noted_.back(), view.now()));
  }
  pass_those_gone([](JobId) { return true; });
  return change;
}

void Outlook::add(const ClusterView& view, std::span<const Fresh> started, const Plans& plans) {
  for (const Fresh& fresh : started) {
    noted_.push_back({fresh.job, plans.foreseen_end(fresh, view), charges_of(fresh.grant)});
  }
  if (!started.empty()) std::ranges::sort(noted_, {}, &Noted::job);
}

void Outlook::save(ByteWriter& writer) const {
  writer.integer(static_cast<std::int64_t>(condition_));
  writer.integer(std::ssize(noted_));
  for (const Noted& was : noted_) {
    writer.integer(static_cast<std::int64_t>(was.job.value()));
    writer.integer(micros(was.end));
    writer.integer(was.charge.raw());
  }
}

void Outlook::restore(ByteReader& reader) {
  condition_ = static_cast<std::uint64_t>(reader.integer());
  noted_.clear();
  for (std::int64_t left = reader.integer(); left > 0 && !reader.failed(); --left) {
    const JobId job(static_cast<JobId::rep>(reader.integer()));
    const Instant end = instant_from_micros(reader.integer());
    const Bytes charge(reader.integer());
    if (!noted_.empty() && job <= noted_.back().job) reader.fail();
    noted_.push_back({job, end, charge});
  }
}

}  // namespace berth
