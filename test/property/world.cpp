#include "property/world.hpp"

#include <algorithm>

#include "core/text/text.hpp"
#include "solve/solve.hpp"

namespace berth::test {

using namespace berth::literals;

World::World(const WorldOptions& options) : options_(options), rng_(options.seed) {
  make_cluster();
  make_jobs();
  if (options_.faults) make_faults();
  if (options_.reserved) make_reservations();
  if (options_.ranked) make_priorities();
  if (options_.estimated) make_estimates();
}

void World::make_cluster() {
  const std::int64_t switches = rng_.between(1, 2);
  const auto gpus = static_cast<std::uint32_t>(1 << rng_.between(0, 3));
  for (std::int64_t s = 0; s < switches; ++s) {
    cluster_.add_switch();
    for (std::int64_t n = rng_.between(1, 3); n > 0; --n) {
      cluster_.add_node({.name = "n",
                         .gpus = gpus,
                         .vram = Bytes(rng_.between(4, 10) * (std::int64_t{8} << 30)),
                         .context = rng_.one_in(2) ? 300_MiB : Bytes(0),
                         .type = rng_.one_in(3) ? "other" : "gpu",
                         .slots = static_cast<std::uint16_t>(rng_.between(1, 4)),
                         .cpu = CpuMilli(1000 * rng_.between(8, 64))});
    }
  }
  if (rng_.one_in(4)) engine_options_.settings.limits.jobs = 3;
}

JobSpec World::make_spec() {
  JobSpec spec{.user = UserId(static_cast<std::uint32_t>(rng_.between(1, 3)))};
  GpuRequest& gpu = spec.request.gpu;
  const std::int64_t all = cluster_.gpu_count().raw();
  gpu.count = GpuCount(rng_.one_in(4) ? rng_.between(1, all) : std::min(all, rng_.between(1, 2)));
  gpu.sharing = Sharing::Alone;
  if (!options_.whole_gpus) {
    const std::int64_t kind = rng_.between(0, 9);
    if (kind == 0) gpu.count = GpuCount(0);
    if (kind >= 3) gpu.vram = Bytes(rng_.between(1, 40) * (std::int64_t{1} << 30));
    if (kind >= 4) gpu.sharing = Sharing::Shared;
    if (kind == 9) gpu.milli = GpuMilli(rng_.between(100, 1000));
    if (rng_.one_in(8)) gpu.types = GpuTypes{1} << rng_.between(0, 1);
    // Some GPUs by their ids; no number is drawn, so that the seeds keep their other jobs.
    if (gpu.types != 0 && kind >= 5) gpu.only = GpuSet{0x5b6d} << (kind - 5), gpu.types = 0;
    spec.request.cpu = CpuMilli(rng_.one_in(2) ? 1000 * rng_.between(1, 8) : 0);
  }
  if (options_.elastic && gpu.count > GpuCount(0)) {
    gpu.min = GpuCount(1);
    gpu.max = gpu.count + GpuCount(3);
  }
  return spec;
}

void World::make_jobs() {
  Instant submit = kStart;
  Rng limits(options_.seed, 4);  // its own, so that it moves nothing else
  Rng priorities(options_.seed, 5);
  for (int i = 0; i < options_.jobs; ++i) {
    WorldJob job{.spec = make_spec(), .submit = submit};
    job.duration = seconds(rng_.between(1, 4000));
    if (options_.distinct) job.duration += Duration(i * 7);
    job.left = job.duration;
    if (!rng_.one_in(4)) job.spec.estimate = job.duration;
    if (options_.distinct) job.spec.estimate = job.duration;
    if (options_.faults && rng_.one_in(4)) job.spec.time_limit = seconds(rng_.between(1, 6000));
    if (options_.reserved && limits.one_in(2)) {
      job.spec.time_limit = job.duration + seconds(limits.between(0, 600));
    }
    if (options_.ranked && priorities.one_in(2)) {
      job.spec.priority = static_cast<std::int32_t>(priorities.between(1, 3));
    }
    if (options_.honest) job.spec.time_limit = job.duration;
    if (options_.saving && i % 2 == 0) job.spec.conditions.edit().on_preempt.signal = 15;
    if (options_.deadlines && i % 4 > 0) job.spec.deadline = submit + job.duration * (i % 4);
    if (options_.distinct || !rng_.one_in(3)) submit += seconds(rng_.between(1, 600));
    jobs_.push_back(std::move(job));
  }
  std::vector<JobId> ids;
  for (std::size_t i = 0; i < jobs_.size(); ++i) ids.push_back(JobId(i + 1));
  relabel(ids);
}

void World::relabel(std::vector<JobId> ids) {
  index_.clear();
  queue_.clear();
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    index_[ids[i]] = i;
    at(jobs_[i].submit, Submitted{.job = ids[i], .spec = jobs_[i].spec});
  }
}

void World::make_faults() {
  const auto gpus = static_cast<std::int64_t>(cluster_.gpus().size());
  for (int i = 0; i < options_.jobs; ++i) {
    const Instant when = kStart + seconds(rng_.between(0, 6000));
    const GpuId gpu(static_cast<std::uint32_t>(rng_.between(0, gpus - 1)));
    const JobId id(static_cast<std::uint64_t>(rng_.between(1, options_.jobs)));
    const Bytes some(rng_.between(0, 20) * (std::int64_t{1} << 30));
    switch (rng_.between(0, 7)) {
      case 0:
        at(when, GpuHealth{gpu, false});
        at(when + seconds(500), GpuHealth{gpu, true});
        break;
      case 1:
        at(when, Measured{gpu, some, some, {}});
        at(when + seconds(700), Measured{gpu, Bytes(0), some, {}});
        break;
      case 2:
        at(when, Measured{gpu, Bytes(0), some, {{id, some}}});
        break;
      case 3:
        at(when, CancelAsked{id});
        break;
      case 4:
        at(when, HoldAsked{id});
        at(when + seconds(300), ReleaseAsked{id});
        break;
      case 5:
        at(when, Reported{id, rng_.one_in(2) ? "done" : "loss", rng_.between(1, 900)});
        break;
      case 6:
        at(when, Exited{id, Attempt(1), Outcome::Failed, 1});
        break;  // a lie, maybe late
      case 7:
        at(when, Released{id, Attempt(1)});
        break;
    }
  }
  const auto nodes = static_cast<std::int64_t>(cluster_.nodes().size());
  const NodeId node(static_cast<std::uint32_t>(rng_.between(0, nodes - 1)));
  at(kStart + seconds(1000), NodeHealth{node, false});
  at(kStart + seconds(1800), NodeHealth{node, true});
  Rng weights(options_.seed, 3);  // its own, so that it moves nothing else
  if (weights.one_in(2)) return;
  at(kStart + seconds(weights.between(0, 6000)),
     Weighed{{{UserId(1), weights.between(1, 5000)}, {UserId(3), 500}}});
}

void World::make_priorities() {
  engine_options_.settings.own_priority = true;
  Rng rng(options_.seed, 6);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!rng.one_in(6)) continue;
    Updated change{.job = JobId(i + 1), .spec = jobs_[i].spec, .name = {}};
    change.spec.priority = static_cast<std::int32_t>(rng.between(0, 3));
    if (rng.one_in(3)) change.spec.time_limit = seconds(rng.between(1, 9000));
    at(jobs_[i].submit + seconds(rng.between(0, 600)), change);
  }
}

void World::make_estimates() {
  Rng rng(options_.seed, 7);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (rng.one_in(2)) continue;
    const Duration estimate = seconds(rng.between(1, 5000));  // here: compilers order arguments
    at(jobs_[i].submit + seconds(rng.between(0, 2000)), Estimated{JobId(i + 1), estimate, 1});
  }
}

void World::make_reservations() {
  Rng rng(options_.seed, 6);  // its own, so that it moves nothing else
  const std::int64_t gpus = cluster_.gpu_count().raw();
  for (std::uint32_t number = 1; number <= 6; ++number) {
    const Instant made = kStart + seconds(1000 * number - rng.between(1, 1000));
    Reservation some{.from = made + seconds(rng.one_in(3) ? 0 : rng.between(1, 4000))};
    some.until = some.from + seconds(rng.between(1, 4000));
    some.users = {UserId(static_cast<std::uint32_t>(rng.between(1, 3)))};
    for (std::int64_t gpu = rng.between(0, gpus - 1), left = 3; gpu < gpus && left > 0; --left) {
      some.gpus.emplace_back(static_cast<std::uint32_t>(gpu));
      gpu += rng.between(1, 2);
    }
    at(made, Reserved{ReservationId(number), some});
    if (rng.one_in(4)) at(made + seconds(rng.between(1, 4000)), Unreserved{ReservationId(number)});
  }
}

Duration World::delay() {
  return options_.delays ? seconds(rng_.between(0, 20)) : Duration::zero();
}

bool World::next() {
  Instant when = queue_.empty() ? kNever : queue_.begin()->first;
  while (!ends_.empty() && plan_[ends_.begin()->second.first] != ends_.begin()->second.second) {
    ends_.erase(ends_.begin());
  }
  if (!ends_.empty()) when = std::min(when, ends_.begin()->first);
  when = std::min(when, wake_at_);
  if (when == kNever) return false;
  now_ = std::max(now_, when);
  wake_at_ = kNever;
  inputs_.clear();
  for (; !ends_.empty() && ends_.begin()->first <= now_; ends_.erase(ends_.begin())) {
    const auto [id, plan] = ends_.begin()->second;
    if (plan_[id] != plan) continue;
    WorldJob& ended = job(id);
    ended.runs = false;
    ended.left = Duration::zero();
    ended.history.push_back(seconds_text(now_) + " end");
    inputs_.push_back(Exited{.job = id, .attempt = ended.attempt});
    at(now_ + delay(), Released{id, ended.attempt});
  }
  for (; !queue_.empty() && queue_.begin()->first <= now_; queue_.erase(queue_.begin())) {
    inputs_.push_back(std::move(queue_.begin()->second));
  }
  if (inputs_.empty()) inputs_.push_back(Ticked{});
  return true;
}

void World::perform(const Effects& effects) {
  wake_at_ = effects.wake_at.value_or(kNever);
  for (const Effect& effect : effects.list) {
    std::visit([this](const auto& what) { perform_one(what); }, effect);
  }
}

void World::begin(JobId id, Attempt attempt, const Grant& grant, const char* how) {
  WorldJob& started = job(id);
  std::string gpus;
  for (const Share& share : grant.shares) gpus += " " + std::to_string(share.gpu.value());
  started.history.push_back(seconds_text(now_) + " " + how + gpus);
  started.attempt = attempt;
  const Instant running = now_ + delay();
  if (options_.faults && rng_.one_in(12)) return at(running, StartFailed{id, attempt});
  started.runs = true;
  started.since = running;
  at(running, Started{id, attempt});
  ends_.emplace(running + started.left, std::pair(id, ++plan_[id]));
}

void World::perform_one(const Launch& launch) {
  begin(launch.job, launch.attempt, launch.grant, "start");
}
void World::perform_one(const Continue& resume) {
  begin(resume.job, resume.attempt, resume.grant, "resume");
}

void World::perform_one(const Stop& stop) {
  WorldJob& stopped = job(stop.job);
  stopped.history.push_back(seconds_text(now_) + " stop");
  if (stopped.runs) {
    stopped.left -= std::max(Duration::zero(), now_ - stopped.since);
    stopped.runs = false;
  }
  ++plan_[stop.job];
  at(now_ + delay(), Released{stop.job, stop.attempt});
}

void World::perform_one(const Finished& finished) {
  WorldJob& ended = job(finished.job);
  ended.finished = true;
  ended.outcome = finished.outcome;
  ++plan_[finished.job];
}

/// Solvers are slow, and some of their answers are lost.
void World::perform_one(const Consult& asked) {
  if (!rng_.one_in(8)) at(now_ + delay(), Solved{solve::answer(asked.question)});
}

bool World::all_finished() const { return std::ranges::all_of(jobs_, &WorldJob::finished); }

}  // namespace berth::test
