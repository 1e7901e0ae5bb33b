#include "daemon/answers/forecaster.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text/handle.hpp"
#include "core/text/words.hpp"
#include "daemon/answers/present.hpp"
#include "daemon/answers/row.hpp"
#include "engine/brief.hpp"
#include "engine/explain.hpp"
#include "live/surplus.hpp"
#include "policy/registry.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostShortages = 16;
constexpr int kUnavailable = 503;
constexpr std::chrono::seconds kPatience{2};  ///< With one question; the others wait meanwhile.
constexpr std::chrono::milliseconds kPatienceWithAll{400};    ///< With all starts: a list waits.
constexpr std::chrono::milliseconds kPatienceWithHints{400};  ///< Of one question, all together.
constexpr Duration kFresh = seconds(2);                       ///< How long an answer serves again.

http::Response refusal(int status, std::string_view message) {
  return {.status = status, .body = http::error_body(message)};
}

Json ids_json(const std::vector<JobId>& jobs) {
  Json list = Json::array();
  for (const JobId job : jobs) list.push_back(job.value());
  return list;
}

Json gpus_json(const Placement& placement) {
  Json list = Json::array();
  for (const GpuId gpu : placement.gpus) list.push_back(gpu.value());
  return list;
}

Json instant_json(std::optional<Instant> at) {
  return !at || *at == kNever ? Json() : Json(static_cast<double>(micros(*at)) / 1e6);
}

std::string_view word(Why why) {
  switch (why) {
    case Why::Fits:
      return "fits";
    case Why::Capacity:
      return "capacity";
    case Why::Limit:
      return "limit";
    case Why::Reservation:
      return "reservation";
    case Why::Health:
      return "health";
    case Why::Drain:
      return "drain";
    case Why::Order:
      return "order";
    case Why::Patience:
      return "patience";
    case Why::Locality:
      return "locality";
  }
  return "fits";
}

std::string_view word(Confidence confidence) {
  switch (confidence) {
    case Confidence::Bound:
      return "bound";
    case Confidence::Estimate:
      return "estimate";
    case Confidence::Unknown:
      return "unknown";
  }
  return "unknown";
}

Json word_json(ErrorSource from) {
  switch (from) {
    case ErrorSource::Prior:
      return "prior";
    case ErrorSource::PastPredictions:
      return "past predictions";
  }
  return nullptr;
}

std::string_view word(Milestone::What what) {
  switch (what) {
    case Milestone::What::Starts:
      return "starts";
    case Milestone::What::Ends:
      return "ends";
    case Milestone::What::GivesWay:
      return "gives way";
  }
  return "starts";
}

Json word_json(Basis basis) {
  switch (basis) {
    case Basis::Limit:
      return "time limit";
    case Basis::Estimate:
      return "estimate";
    case Basis::Learned:
      return "learned run times";
    case Basis::Class:
      return "class";
    case Basis::Outlived:
      return "as long again";
    case Basis::None:
      return nullptr;
  }
  return nullptr;
}

/// What happens behind a job that does not fit; nothing where the policy decides that in its own
/// way.
std::optional<Passing::Who> who_passes(std::string_view policy) {
  const auto chosen = choose(policy);
  if (!chosen || chosen->backfill == nullptr) return std::nullopt;
  return chosen->backfill->about->passing.who;
}

Json drained_json(const Drain& drain) {
  return {{"text", drain.shown}, {"reason", drain.reason}, {"until_at", instant_json(drain.until)}};
}

Json shortage_json(const Shortage& shortage, const ClusterView& view) {
  Json holders = Json::array();
  for (const JobId id : shortage.holders) {
    const auto& shares = view.find(id)->grant.shares;
    const auto share = std::ranges::find(shares, shortage.gpu, &Share::gpu);
    Json holder = {{"job", id.value()}, {"charge_bytes", share->charge.raw()}};
    const Bytes surplus = live::surplus_on(*share);
    if (surplus > Bytes(0)) holder["surplus_bytes"] = surplus.raw();
    holders.push_back(std::move(holder));
  }
  Json reserved;
  if (shortage.reserved) {
    const Reservation& made = view.calendar().at(*shortage.reserved);
    reserved = {{"id", shortage.reserved->value()},
                {"text", made.shown},
                {"from_at", instant_json(made.from)},
                {"until_at", instant_json(made.until)}};
  }
  const std::string closed = closed_text(shortage, view);
  const auto drain = view.drains().find(shortage.gpu);
  const bool is_drained = drain != view.drains().end();
  const bool is_given = !is_drained || drain->second.by;
  return {{"gpu", shortage.gpu.value()},
          {"name", gpu_name(view.cluster(), shortage.gpu)},
          {"text", closed.empty() ? held_alone_text(shortage, view) : closed},
          {"reserved", std::move(reserved)},
          {"drained", is_drained && is_given ? drained_json(drain->second) : Json()},
          {"why", is_given ? word(shortage.why) : "not-given"},
          {"lacking_bytes", shortage.lacking.raw()},
          {"slots_taken", slots_taken(shortage, view)},
          {"foreign_bytes", view.use().gpu(shortage.gpu).foreign.raw()},
          {"holders", std::move(holders)}};
}

Json gate_json(const Explanation& found, const ClusterView& view) {
  if (found.why == Why::Order) return {{"text", gate_text(found, view)}};
  if (found.why != Why::Patience) return nullptr;
  Json gpus = Json::array();
  for (const Crowd& crowd : found.crowds) {
    const bool is_known = crowd.utilisation != kUnknownUtilisation;
    gpus.push_back({{"gpu", crowd.gpu.value()},
                    {"name", gpu_name(view.cluster(), crowd.gpu)},
                    {"utilisation_percent", is_known ? Json(crowd.utilisation) : Json()},
                    {"jobs", ids_json(crowd.jobs)}});
  }
  return {{"text", gate_text(found, view)},
          {"gpu", gpu_name(view.cluster(), found.gate.gpu)},
          {"gpus", std::move(gpus)}};
}

/// What is known beside the engine.
struct Beside {
  std::string_view policy;
  const std::map<GpuId, std::string>& foreign;
};

/// What a task of an array is called, beside the numbers of jobs.
void add_handle(Json& json, JobId id, const ClusterView& view) {
  const Job* const job = view.find(id);
  if (job == nullptr || !array_of(id, job->spec.conditions->array)) return;
  json["handles"][std::to_string(id.value())] = handle_of(id, job->spec.conditions->array);
}

void add_handles(Json& json, const Explanation& found, const ClusterView& view) {
  for (const Shortage& shortage : found.nearest) {
    for (const JobId id : shortage.holders) add_handle(json, id, view);
  }
  for (const JobId id : found.behind) add_handle(json, id, view);
  for (const Crowd& crowd : found.crowds) {
    for (const JobId id : crowd.jobs) add_handle(json, id, view);
  }
}

void add_handles(Json& json, const Forecast& found) {
  const auto add = [&](JobId id) {
    const auto task = found.handles.find(id);
    if (task == found.handles.end()) return;
    json["handles"][std::to_string(id.value())] = task->second;
  };
  std::ranges::for_each(found.must_end, add);
  std::ranges::for_each(found.unplanned, add);
  std::ranges::for_each(found.before, add, &Milestone::job);
}

ForeignUse foreign_use(const std::map<GpuId, std::string>& foreign) {
  return [&foreign](GpuId gpu) {
    const auto whose = foreign.find(gpu);
    return whose == foreign.end() ? std::string() : whose->second;
  };
}

void add_explanation(Json& json, const ClusterView& view, JobId job,
                     const std::optional<Refused>& decided, const Beside& beside) {
  const Explanation found = explain(view, job, decided, kMostShortages);
  json["reason"] = without_name(found.text);
  json["reason_brief"] = brief_text(found, view.job(job), view, foreign_use(beside.foreign));
  json["why"] = word(found.why);
  json["not_before_at"] = instant_json(found.until);
  json["fitting_gpus"] = found.fitting;
  json["lacking"] = Json::array();
  for (const Shortage& shortage : found.nearest) {
    json["lacking"].push_back(shortage_json(shortage, view));
  }
  json["must_not_delay"] = ids_json(found.behind);
  if (found.kept) {
    json["reservation"] = {{"gpus", gpus_json(found.kept->placement)},
                           {"from_at", instant_json(found.kept->from)}};
  }
  json["gate"] = gate_json(found, view);
  add_handles(json, found, view);
  if (const auto who = who_passes(beside.policy)) {
    json["passing"] = passing_text(*who, found);
  }
}

void name_foreign(Json& json, const std::map<GpuId, std::string>& foreign) {
  const auto lacking = json.find("lacking");
  if (lacking == json.end()) return;
  for (Json& shortage : *lacking) {
    const auto found = foreign.find(GpuId(shortage["gpu"].get<std::uint32_t>()));
    if (found != foreign.end()) shortage["foreign"] = found->second;
  }
}

/// What was predicted at `at`, if like jobs tell by when it starts: a bound is told as it is, and
/// what starts at once as well.
std::optional<MadePrediction> made_of(const PredictedStart& found, Instant at) {
  if (found.confidence != Confidence::Estimate || found.at <= at) return std::nullopt;
  return MadePrediction{.like = found.like, .at = at, .start = found.at};
}

std::optional<MadePrediction> made_of(const Forecast& found, Instant at) {
  return made_of(PredictedStart{.job = {},
                                .at = found.start.value_or(at),
                                .confidence = found.confidence,
                                .like = found.like},
                 at);
}

std::optional<StartInterval> interval_of(const std::optional<MadePrediction>& made,
                                         const PredictionErrors::Quantiles& errors) {
  return made ? std::optional(berth::interval_of(*made, errors)) : std::nullopt;
}

void add_forecast(Json& json, const Forecast& found, const std::optional<StartInterval>& interval) {
  json["predicted_start_at"] = instant_json(interval ? interval->likely : found.start);
  json["predicted_by_at"] = interval ? instant_json(interval->by) : Json();
  json["predicted_from"] = interval ? word_json(interval->from) : Json();
  json["foreseen_start_at"] = interval ? instant_json(found.start) : Json();
  json["confidence"] = word(found.confidence);
  json["start_by_limits_at"] =
      instant_json(found.confidence == Confidence::Bound ? found.start : std::nullopt);
  json["rests_on"] = found.text;
  json["start_gpus"] = found.start ? gpus_json(found.placement) : Json::array();
  json["must_end"] = ids_json(found.must_end);
  json["must_start"] = ids_json(found.must_start);
  json["no_known_end"] = ids_json(found.unplanned);
  add_handles(json, found);
  json["before_count"] = found.before_count;
  json["before"] = Json::array();
  for (const Milestone& milestone : found.before) {
    json["before"].push_back({{"at", instant_json(milestone.at)},
                              {"job", milestone.job.value()},
                              {"event", word(milestone.what)},
                              {"by", word_json(milestone.basis)}});
  }
}

/// In order of when they are likely, which need not be that of the run.
Json starts_json(const ForwardRun& run, const PredictionErrors::Quantiles& errors) {
  std::multimap<Instant, Json> starts;
  for (const PredictedStart& start : run.starts()) {
    const auto interval = interval_of(made_of(start, run.first()), errors);
    const Instant at = interval ? interval->likely : start.at;
    starts.emplace(at, Json{{"job", start.job.value()},
                            {"at", instant_json(at)},
                            {"by_at", interval ? instant_json(interval->by) : Json()},
                            {"from", interval ? word_json(interval->from) : Json()},
                            {"confidence", word(start.confidence)}});
  }
  Json list = Json::array();
  for (auto& [at, start] : starts) list.push_back(std::move(start));
  return list;
}

/// Of a job that never had a berth the first prediction shows how good they are.
bool is_new(const Job& job) { return job.state == JobState::Queued && job.first_start == kNever; }

Json ends_json(const std::vector<PredictedEnd>& ends) {
  Json list = Json::array();
  for (const PredictedEnd& end : ends) {
    list.push_back({{"array", end.array.value()}, {"at", instant_json(end.at)}});
  }
  return list;
}

/// Few policies go by it; so that it will be missed is to be seen.
void add_deadline(Json& json, const JobSpec& spec) {
  if (spec.deadline == kNever) return;
  json["deadline_at"] = instant_json(spec.deadline);
  const Json& start = json["predicted_start_at"];
  if (!start.is_number() || spec.estimate == kForever) return;
  json["expected_end_at"] = start.get<double>() + static_cast<double>(micros(spec.estimate)) / 1e6;
}

/// Has every key, so that a reader need not check which are there.
Json blank(std::string_view policy) {
  return {{"policy", policy},
          {"reason", ""},
          {"reason_brief", ""},
          {"why", nullptr},
          {"not_before_at", nullptr},
          {"fitting_gpus", nullptr},
          {"lacking", Json::array()},
          {"must_not_delay", Json::array()},
          {"reservation", nullptr},
          {"gate", nullptr},
          {"must_end", Json::array()},
          {"must_start", Json::array()},
          {"hints", Json::array()},
          {"handles", Json::object()},
          {"passing", ""},
          {"deadline_at", nullptr},
          {"expected_end_at", nullptr}};
}

std::string state_reason(JobState state) {
  switch (state) {
    case JobState::Starting:
      return "it is being started";
    case JobState::Running:
      return "it runs";
    case JobState::Stopping:
      return "its memory is being given back";
    case JobState::Held:
    case JobState::Queued:
    case JobState::Deferred:
    case JobState::Suspended:
      break;
  }
  return "";
}

Json why_json(const ClusterView& view, JobId id, const std::optional<Refused>& decided,
              const Beside& beside) {
  const Job& job = *view.find(id);
  Json json = blank(beside.policy);
  json["id"] = id.value();
  if (const ArrayPlace& place = job.spec.conditions->array; array_of(id, place)) {
    json["handle"] = handle_of(id, place);
  }
  json["state"] = word_for(shown_state(job));
  json["reason"] = state_reason(job.state);
  if (is_waiting(job.state)) add_explanation(json, view, id, decided, beside);
  return json;
}

http::Response ending() { return refusal(kUnavailable, "berthd is ending; ask the next one"); }

using Deadline = std::chrono::steady_clock::time_point;

/// Runs to the end, as far as patience goes. Returns: false if the daemon ends meanwhile.
bool finish(ForwardRun& run, const std::stop_token& stop, Deadline until) {
  while (run.advance()) {
    if (stop.stop_requested()) return false;
    if (std::chrono::steady_clock::now() > until) run.stop_here();
  }
  return true;
}

void add_dry_run(Json& json, const Forecast& found, Instant now) {
  const bool is_now = found.start && *found.start <= now;
  json["admitted_now"] = is_now;
  json["gpus"] = found.start ? gpus_json(found.placement) : Json();
  if (json["reason"] == "" && !found.start) json["reason"] = found.text;
}

}  // namespace

Forecaster::Forecaster(std::string policy, std::string place, const ForecastOptions& options)
    : policy_(std::move(policy)),
      place_(std::move(place)),
      options_(options),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Forecaster::~Forecaster() {
  thread_.request_stop();
  thread_.join();
  while (const auto left = waiting_.pop()) left->second.question.exchange->respond(ending());
}

Expected<void> Forecaster::ask(const Engine& engine, Question question) {
  const uid_t user = question.exchange->request().peer.user;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size_of(user) >= kMostWaiting) {
      return fail(ErrorCode::Conflict, "berthd looks ahead for " + std::to_string(kMostWaiting) +
                                           " other requests of uid " + std::to_string(user) +
                                           " already; ask again in a moment");
    }
  }
  settle_all(engine.view());
  Waiting waiting{
      .question = std::move(question), .version = version_of(engine), .state = {}, .decided = {}};
  const auto* const job = std::get_if<JobId>(&waiting.question.about);
  if (job != nullptr) waiting.decided = engine.refused(*job);
  const auto& first = waiting.question.first;
  waiting.state = first ? engine.picture(*first) : engine.save();
  {
    const std::lock_guard lock(mutex_);
    waiting_.push(user, std::move(waiting));
  }
  changed_.notify_one();
  return {};
}

Forecaster::Version Forecaster::version_of(const Engine& engine) {
  const ClusterView view = engine.view();
  return {.jobs = view.job_count(),
          .grants = view.grants(),
          .finished = view.finished(),
          .room = view.room_version(),
          .last = view.job_back_from(kLastJob).value_or(JobId(0))};
}

bool Forecaster::answer_again(const Engine& engine, const Question& question) {
  std::string body;
  {
    const std::lock_guard lock(mutex_);
    const bool serves =
        told_ && question.now - told_->at < kFresh && told_->version == version_of(engine);
    if (!serves) return false;
    body = told_->body;
  }
  question.exchange->respond({.status = 200, .body = std::move(body)});
  return true;
}

Expected<void> Forecaster::ask_each(const Engine& engine, Question question) {
  if (answer_again(engine, question)) return {};
  return ask(engine, std::move(question));
}

// ---- Errors of predictions ---------------------------------------------------------------------

namespace {

/// What has become of a job of which a prediction may be awaited.
void settle_job(PredictionErrors& errors, JobId id, const ClusterView& view) {
  const Job* const job = view.find(id);
  if (job == nullptr || job->state == JobState::Held) return errors.drop(id);
  if (job->first_start != kNever) errors.start(id, job->first_start);
}

}  // namespace

void Forecaster::on_changed(const ClusterView& view, std::span<const JobId> jobs) {
  const std::lock_guard lock(mutex_);
  if (errors_.awaited().empty()) return;
  for (const JobId job : jobs) settle_job(errors_, job, view);
}

/// A job may have started while its start was being predicted.
void Forecaster::settle_all(const ClusterView& view) {
  const std::lock_guard lock(mutex_);
  std::vector<JobId> all;
  for (const auto& [job, made] : errors_.awaited()) all.push_back(job);
  for (const JobId job : all) settle_job(errors_, job, view);
}

void Forecaster::note(JobId job, const MadePrediction& made) {
  const std::lock_guard lock(mutex_);
  errors_.predict(job, made);
}

PredictionErrors::Quantiles Forecaster::errors_at(Instant now) const {
  const std::lock_guard lock(mutex_);
  return errors_.quantiles(now);
}

// ---- Answers -----------------------------------------------------------------------------------

void Forecaster::work(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
    if (stop.stop_requested()) return;
    const Waiting next = std::move(waiting_.pop()->second);
    lock.unlock();
    next.question.exchange->respond(answer(next, stop));
  }
}

http::Response Forecaster::answer(const Waiting& waiting, const std::stop_token& stop) {
  auto engine = engine_of(waiting);
  if (!engine) return refusal(500, engine.error().message);
  if (std::holds_alternative<EachStart>(waiting.question.about)) {
    return each_start(std::move(*engine), waiting, stop);
  }
  const auto* const job = std::get_if<JobId>(&waiting.question.about);
  if (job != nullptr) return why(std::move(*engine), *job, waiting, stop);
  return dry_run(std::move(*engine), waiting, stop);
}

Expected<Engine> Forecaster::engine_of(const Waiting& waiting) const {
  auto policy = make_policy(policy_, place_);
  if (!policy) return std::unexpected(policy.error());
  if (waiting.question.first) return Engine::restore_state(waiting.state, std::move(*policy));
  return Engine::restore(waiting.state, std::move(*policy));
}

/// Where others before it are not looked at, no start is predicted.
bool say_beyond(Json& json, const Question& question) {
  if (!question.is_beyond) return false;
  Forecast unknown;
  unknown.text = std::to_string(question.waiting) +
                 " jobs wait, and of its user's more are before " +
                 "it than berthd looks ahead over (" + std::to_string(Forecaster::kMostJobs) +
                 " of all users)";
  add_forecast(json, unknown, std::nullopt);
  return true;
}

ForwardRun Forecaster::run_of(Engine engine, const Question& question, Ends ends) const {
  ForecastOptions options = options_;
  options.now = question.now;
  options.ends = ends;
  if (const auto* const job = std::get_if<JobId>(&question.about)) {
    return ForwardRun(std::move(engine), *job, options);
  }
  const Wish& wish = std::get<Wish>(question.about);
  const Submitted submitted{.job = next_job(engine.view()), .spec = wish.spec, .held = wish.held};
  return ForwardRun(std::move(engine), submitted, options);
}

/// Runs to the end and tells what came of it; once more where limits might tell a bound. Returns:
/// false if the daemon ends meanwhile.
bool Forecaster::look_ahead(Json& json, ForwardRun& run, const Waiting& waiting,
                            const std::stop_token& stop) const {
  if (say_beyond(json, waiting.question)) return true;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  if (!finish(run, stop, until)) return false;
  const Instant first = run.first();
  add_forecast(json, run.forecast(), interval_of(made_of(run.forecast(), first), errors_at(first)));
  if (run.forecast().confidence != Confidence::Estimate) return true;
  auto engine = engine_of(waiting);
  if (!engine) return true;
  ForwardRun at_limits = run_of(std::move(*engine), waiting.question, Ends::AtLimits);
  if (!finish(at_limits, stop, until)) return false;
  if (at_limits.forecast().confidence == Confidence::Bound) {
    json["start_by_limits_at"] = instant_json(at_limits.forecast().start);
  }
  return true;
}

http::Response Forecaster::why(Engine engine, JobId job, const Waiting& waiting,
                               const std::stop_token& stop) {
  const Question& question = waiting.question;
  Json json = why_json(engine.view(), job, waiting.decided, {policy_, question.foreign});
  name_foreign(json, question.foreign);
  const JobState state = engine.view().find(job)->state;
  if (is_running(state) && !question.note.empty()) json["reason"] = question.note;
  if (state == JobState::Held) json["reason"] = held_text(question.note);
  if (state == JobState::Deferred) {
    const std::string text = deferred_text(*engine.view().find(job), engine.view());
    json["reason"] = with_cause(text, question.note);
  }
  if (const std::string by = suspended_text(*engine.view().find(job), question.note); !by.empty()) {
    const std::string waits = state == JobState::Held ? "" : json["reason"].get<std::string>();
    json["reason"] = waits.empty() ? by : by + "; " + waits;
  }
  if (json["reason_brief"] == "") json["reason_brief"] = json["reason"];
  if (holds_berth(state)) {
    json["memory_limit_line"] = question.memory_limit;
    json["links_line"] = question.links;
    add_forecast(json, {}, std::nullopt);
    return {.status = 200, .body = to_body(json)};
  }
  const bool may_teach = is_new(*engine.view().find(job));
  const JobSpec spec = engine.view().find(job)->spec;
  ForwardRun run = run_of(std::move(engine), question, Ends::AsPredicted);
  if (!look_ahead(json, run, waiting, stop)) return ending();
  if (const auto made = made_of(run.forecast(), run.first()); made && may_teach) note(job, *made);
  add_deadline(json, spec);
  speak_of_place(json, job, run.forecast(), waiting);
  if (state == JobState::Queued && !question.is_beyond)
    json["hints"] = adviser(waiting, stop).of_job(job, run.forecast());
  return {.status = 200, .body = to_body(json)};
}

/// The GPU that lacks least need not be the one where the job is predicted to start.
void Forecaster::speak_of_place(Json& json, JobId job, const Forecast& found,
                                const Waiting& waiting) const {
  const Json& lacking = json["lacking"];
  if (!found.start || lacking.empty() || !json["reservation"].is_null()) return;
  const auto has = [&](const Json& gpu) {
    return std::ranges::find(found.placement.gpus, GpuId(gpu.get<std::uint32_t>())) !=
           found.placement.gpus.end();
  };
  if (has(lacking[0]["gpu"])) return;
  const auto engine = engine_of(waiting);
  if (!engine) return;
  const ClusterView view = engine->view();
  Explanation why = explain(view, job, waiting.decided, kMostShortages);
  put_first(why.nearest, found.placement);
  json["reason_brief"] =
      brief_text(why, view.job(job), view, foreign_use(waiting.question.foreign));
}

Adviser Forecaster::adviser(const Waiting& waiting, const std::stop_token& stop) const {
  ForecastOptions options = options_;
  options.now = waiting.question.now;
  const auto until = std::chrono::steady_clock::now() + kPatienceWithHints;
  return Adviser(
      [this, &waiting]() -> std::optional<Engine> {
        auto engine = engine_of(waiting);
        if (!engine) return std::nullopt;
        return std::move(*engine);
      },
      {.options = options,
       .fixed = waiting.question.fixed,
       .longest_time = waiting.question.longest_time,
       .errors = errors_at(options.now),
       .has_time = [stop, until] {
         return !stop.stop_requested() && std::chrono::steady_clock::now() < until;
       }});
}

http::Response Forecaster::each_start(Engine engine, const Waiting& waiting,
                                      const std::stop_token& stop) {
  ForecastOptions options = options_;
  options.now = waiting.question.now;
  std::set<JobId> fresh;
  engine.view().for_each_job([&](const Job& job) {
    if (is_new(job)) fresh.insert(job.id);
  });
  ForwardRun run(std::move(engine), options);
  const auto until = std::chrono::steady_clock::now() + kPatienceWithAll;
  while (run.advance() && std::chrono::steady_clock::now() < until) {
    if (stop.stop_requested()) return ending();
  }
  Told told{.version = waiting.version,
            .at = waiting.question.now,
            .body = to_body({{"starts", starts_json(run, errors_at(run.first()))},
                             {"hints", adviser(waiting, stop).of_all(run.starts())},
                             {"ends", ends_json(run.ends_of_arrays())}})};
  const std::lock_guard lock(mutex_);
  for (const PredictedStart& start : run.starts()) {
    const auto made = made_of(start, run.first());
    if (made && fresh.contains(start.job)) errors_.predict(start.job, *made);
  }
  told_ = told;
  return {.status = 200, .body = std::move(told.body)};
}

/// Why it does not start at once is explained after the first step, when it waits in the copy.
http::Response Forecaster::dry_run(Engine engine, const Waiting& waiting,
                                   const std::stop_token& stop) const {
  Json json = blank(policy_);
  const JobId job = next_job(engine.view());
  ForwardRun run = run_of(std::move(engine), waiting.question, Ends::AsPredicted);
  run.advance();
  const Job* const known = run.engine().view().find(job);
  if (known != nullptr && is_waiting(known->state)) {
    add_explanation(json, run.engine().view(), job, run.engine().refused(job),
                    {policy_, waiting.question.foreign});
    name_foreign(json, waiting.question.foreign);
  } else if (known != nullptr && known->state == JobState::Deferred) {
    json["reason"] = json["reason_brief"] = deferred_text(*known, run.engine().view());
  }
  if (!look_ahead(json, run, waiting, stop)) return ending();
  add_dry_run(json, run.forecast(), run.first());
  add_deadline(json, std::get<Wish>(waiting.question.about).spec);
  const Wish& wish = std::get<Wish>(waiting.question.about);
  if (!wish.held && !waiting.question.is_beyond)
    json["hints"] = adviser(waiting, stop).of_wish(wish.spec, run.forecast());
  return {.status = 200, .body = to_body(json)};
}

}  // namespace berth::daemon
