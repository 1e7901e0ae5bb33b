#include "lab/simulated.hpp"

#include <algorithm>

#include "core/text/words.hpp"
#include "policy/registry.hpp"
#include "sim/simulator.hpp"

namespace berth::lab {

namespace {

constexpr Duration kProbe(200'000);             ///< As stage.cpp configures berthd.
constexpr const char* kPlace = "least-shared";  ///< berthd's own, whatever the policy.

sim::Options options_of(const Way& way, std::int64_t interference_percent) {
  sim::Options options{
      .settings = {.admission = {.mode = way.admission}},
      .told = sim::Told::Learned,
      .rates = {.share = *sim::parse_share("duty:" + std::to_string(interference_percent) + "%")},
      .costs = {.start = kStartLatency},  // an emulated GPU is left and entered in no time
      .suspend = {.one_gpu_only = true},  // berthd's own, whose drivers cannot do more
      .memory = {.is_on = true, .retries = 0},
      .programs = sim::Programs::Name,
      .probe_every = kProbe};
  options.record = true;
  return options;
}

std::string state_of(const sim::JobResult& job) {
  if (job.end != kNever) return std::string(user_word(Outcome::Done));
  if (job.memory.failed) return std::string(user_word(Outcome::Oom));
  if (job.timed_out) return std::string(user_word(Outcome::Timeout));
  return std::string(user_word(Outcome::Failed));
}

double share(double amount, double of) { return of > 0 ? amount / of : 0; }

Use use_of(const sim::Use& use, const Cluster& gpus) {
  double bytes = 0;
  for (const GpuSpec& gpu : gpus.gpus()) bytes += static_cast<double>(gpu.capacity.raw());
  const double count = static_cast<double>(gpus.gpu_count().raw());
  return {.memory = share(use.held, bytes * use.seconds),
          .busy = share(use.kernels, count * use.seconds)};
}

}  // namespace

Expected<Run> run_simulated(const trace::Trace& trace, const Cluster& gpus, const Way& way,
                            std::int64_t interference_percent) {
  auto policy = make_policy(way.policy, kPlace);
  if (!policy) return std::unexpected(policy.error());
  const auto result =
      sim::simulate(trace, gpus, std::move(*policy), options_of(way, interference_percent));
  if (!result) return std::unexpected(result.error());
  Run run{.name = way.name, .fates = {}, .use = use_of(result->use, gpus)};
  for (const sim::JobResult& job : result->jobs) {
    run.fates.push_back(
        {.state = state_of(job), .submitted = trace.jobs[job.job].submit, .started = job.start});
    run.fates.back().suspensions = job.preemptions;
    run.fates.back().attempts = -job.preemptions;
  }
  for (const sim::Stretch& stretch : result->stretches) {
    Fate& fate = run.fates[stretch.job];
    ++fate.attempts;
    fate.ended = fate.ended == kNever ? stretch.to : std::max(fate.ended, stretch.to);
  }
  return run;
}

}  // namespace berth::lab
