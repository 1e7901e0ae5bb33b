#include "daemon/answers/adviser.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/text/words.hpp"
#include "daemon/answers/present.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostHinted = 64;   ///< Jobs of a list.
constexpr std::size_t kMostKnown = 2000;  ///< Of more jobs a copy costs too much for a list.

Json names_of(GpuTypes types, const Cluster& cluster) {
  Json names = Json::array();
  const auto all = cluster.type_names();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((types >> i & 1) != 0) names.push_back(all[i]);
  }
  return names;
}

Json indices_of(const std::vector<GpuId>& gpus) {
  Json indices = Json::array();
  for (const GpuId gpu : gpus) indices.push_back(gpu.value());
  return indices;
}

Json cores_json(CpuMilli cpu) {
  constexpr std::int64_t kCore = 1000;
  if (cpu.raw() % kCore == 0) return cpu.raw() / kCore;
  return static_cast<double>(cpu.raw()) / kCore;
}

/// The request that makes the change: POST /v1/jobs/ID/update.
Json change_json(const Hint& hint, const Cluster& cluster) {
  const GpuRequest& gpu = hint.spec.request.gpu;
  switch (hint.what) {
    case Wanting::Priority:
      return {{"priority", hint.spec.priority}};
    case Wanting::Time:
      return {{"time_limit_seconds", static_cast<double>(micros(hint.spec.time_limit)) / 1e6}};
    case Wanting::Vram:
      return {{"vram_bytes", gpu.vram.raw()}};
    case Wanting::Gpus:
      return {{"gpus", gpu.count.raw()}};
    case Wanting::Types:
      return {{"gpu_types", names_of(gpu.types, cluster)}};
    case Wanting::Only:
      return {{"gpu_indices", indices_of(gpus_in(gpu.only))}};
    case Wanting::Share:
      return {{"share", word_for(gpu.sharing)}};
    case Wanting::Suspend:
      return {{"suspend", true}};
    case Wanting::Cpus:
      return {{"cpus", cores_json(hint.spec.request.cpu)}};
    case Wanting::Mem:
      return {{"mem_bytes", hint.spec.request.host.raw()}};
  }
  return nullptr;
}

Json hint_json(const Hint& hint, Instant start, const Cluster& cluster) {
  return {{"change", change_json(hint, cluster)},
          {"starts_at", static_cast<double>(micros(start)) / 1e6},
          {"gpus", indices_of(hint.placement.gpus)}};
}

/// With the starts that are likely by the errors of past predictions, as the start of the job
/// itself is told: the one of a hint is to be compared with it.
Json hints_json(const std::vector<Hint>& hints, const Forecast& found, Instant now,
                const PredictionErrors::Quantiles& errors, const Cluster& cluster) {
  const bool is_interval = found.confidence == Confidence::Estimate;
  Json list = Json::array();
  for (const Hint& hint : hints) {
    const MadePrediction made{.like = found.like, .at = now, .start = hint.start};
    const bool is_likely = is_interval && hint.start > now;
    const Instant start = is_likely ? interval_of(made, errors).likely : hint.start;
    list.push_back(hint_json(hint, start, cluster));
  }
  return list;
}

/// Equal for jobs that the same hint would serve.
auto wish_of(const JobSpec& spec) {
  return std::tuple(spec.user, spec.request, spec.time_limit, spec.estimate, spec.vram_estimate,
                    spec.duration_class, spec.priority, spec.suspending);
}

}  // namespace

std::optional<Answered> Adviser::at_once(const Subject& about, const JobSpec& changed) const {
  auto copy = rules_.has_time() ? copy_() : std::nullopt;
  if (!copy) return std::nullopt;
  const Instant at = now(*copy);
  const Input wish = about.exists ? Input(Updated{.job = about.job, .spec = changed})
                                  : Input(Submitted{.job = about.job, .spec = changed});
  auto place = placed_at_once(std::move(*copy), wish, about.job, at);
  if (!place) return std::nullopt;
  return Answered{.start = at, .placement = std::move(*place)};
}

std::optional<Answered> Adviser::ahead(const Subject& about, const JobSpec& changed) const {
  auto copy = rules_.has_time() ? copy_() : std::nullopt;
  if (!copy) return std::nullopt;
  ForwardRun run =
      about.exists ? ForwardRun(std::move(*copy), Updated{about.job, changed}, rules_.options)
                   : ForwardRun(std::move(*copy), Submitted{about.job, changed}, rules_.options);
  while (run.advance()) {
    if (!rules_.has_time()) return std::nullopt;
  }
  const Forecast& found = run.forecast();
  if (!found.start) return std::nullopt;
  return Answered{.start = *found.start, .placement = found.placement};
}

std::vector<Hint> Adviser::hints(const Subject& about, const Engine& engine, Reach reach) const {
  const ClusterView view = engine.view();
  const HintQuestion question{.spec = about.spec,
                              .view = view,
                              .now = now(engine),
                              .start = about.start,
                              .usual_run = engine.class_bound(about.spec.duration_class),
                              .next_priority = priority_above_own(view, about.spec, about.job),
                              .fixed = rules_.fixed,
                              .longest_time = rules_.longest_time};
  HintSource source{.at_once = [&](const JobSpec& changed) { return at_once(about, changed); },
                    .ahead = {}};
  if (reach == Reach::Ahead) {
    source.ahead = [&](const JobSpec& changed) { return ahead(about, changed); };
  }
  return hints_for(question, source);
}

Json Adviser::of_job(JobId job, const Forecast& found) const {
  const auto engine = copy_();
  if (!engine || (found.start && *found.start <= now(*engine))) return Json::array();
  const Subject about{.job = job, .spec = engine->view().find(job)->spec, .start = found.start};
  return hints_json(hints(about, *engine, Reach::Ahead), found, now(*engine), rules_.errors,
                    engine->view().cluster());
}

Json Adviser::of_wish(const JobSpec& spec, const Forecast& found) const {
  const auto engine = copy_();
  if (!engine || (found.start && *found.start <= now(*engine))) return Json::array();
  const Subject about{
      .job = next_job(engine->view()), .spec = spec, .exists = false, .start = found.start};
  return hints_json(hints(about, *engine, Reach::Ahead), found, now(*engine), rules_.errors,
                    engine->view().cluster());
}

Json Adviser::of_all(const std::vector<PredictedStart>& starts) const {
  Json list = Json::array();
  const auto engine = copy_();
  if (!engine) return list;
  const ClusterView view = engine->view();
  if (view.job_count() > kMostKnown) return list;
  std::map<JobId, Instant> start_of;
  for (const PredictedStart& start : starts) start_of.emplace(start.job, start.at);
  std::set<decltype(wish_of(JobSpec{}))> seen;
  for (auto id = view.job_from(JobId(0)); id && rules_.has_time() && seen.size() < kMostHinted;
       id = view.job_from(JobId(id->value() + 1))) {
    const Job& job = *view.find(*id);
    const auto start = start_of.find(*id);
    const bool is_known = start != start_of.end();
    if (job.state != JobState::Queued || (is_known && start->second <= now(*engine))) continue;
    if (!seen.insert(wish_of(job.spec)).second) continue;
    const Subject about{.job = *id,
                        .spec = job.spec,
                        .start = is_known ? std::optional(start->second) : std::nullopt};
    const auto found = hints(about, *engine, Reach::AtOnce);
    if (found.empty()) continue;
    list.push_back(hint_json(found.front(), found.front().start, view.cluster()));
    list.back()["job"] = id->value();
  }
  return list;
}

}  // namespace berth::daemon
