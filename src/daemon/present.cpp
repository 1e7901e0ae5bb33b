#include "daemon/present.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/admission.hpp"
#include "daemon/oom.hpp"
#include "daemon/requests.hpp"
#include "engine/explain.hpp"

namespace berth::daemon {

namespace {

constexpr int kTimeoutCode = 124;
constexpr int kLostCode = 125;
constexpr int kCancelledCode = 137;
constexpr std::size_t kMostLooked = 20'000;  ///< For one page: a millisecond.

double in_seconds(Duration duration) { return static_cast<double>(micros(duration)) / 1e6; }

Json seconds_json(Instant at) {
  return at == kNever ? Json() : Json(static_cast<double>(micros(at)) / 1e6);
}

Json seconds_json(Duration duration) {
  return duration == kForever ? Json() : Json(in_seconds(duration));
}

Json gpus_json(const std::vector<GpuId>& gpus) {
  Json list = Json::array();
  for (const GpuId gpu : gpus) list.push_back(gpu.value());
  return list;
}

Json vram_json(const GpuRequest& gpu) {
  return gpu.vram == Bytes(0) ? Json() : Json(gpu.vram.raw());
}

void add_request(Json& json, const JobSpec& spec) {
  json["gpu_count"] = spec.request.gpu.count.raw();
  json["vram_bytes"] = vram_json(spec.request.gpu);
  json["exclusive"] = spec.request.gpu.sharing == Sharing::Alone;
  json["cpus"] = static_cast<double>(spec.request.cpu.raw()) / 1000;
  json["mem_bytes"] = spec.request.host.raw();
  json["class"] = to_text(spec.duration_class);
  json["kind"] = to_text(spec.kind);
  json["retries"] = spec.retries;
  json["time_limit_seconds"] = seconds_json(spec.time_limit);
}

/// Integers stay integers.
Json millionths(std::int64_t value) {
  if (value % 1'000'000 == 0) return value / 1'000'000;
  return static_cast<double>(value) / 1e6;
}

std::string reason(const ClusterView& view, const Job& job) {
  if (job.state == JobState::Held) return "held by its owner";
  if (job.state == JobState::Stopping) return "its memory is being given back";
  if (!is_waiting(job.state)) return "";
  const std::string text = explain(view, job.id).text;  // `job 42: ...`: the row says which
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace

int exit_code(Outcome outcome, std::int32_t code) {
  switch (outcome) {
    case Outcome::Done:
      return 0;
    case Outcome::Failed:
      return code == 0 ? kLostCode : code;
    case Outcome::Oom:
      return kOomCode;
    case Outcome::Cancelled:
      return kCancelledCode;
    case Outcome::Timeout:
      return kTimeoutCode;
    case Outcome::Lost:
    case Outcome::Rejected:
      return kLostCode;
  }
  return kLostCode;
}

std::string_view state_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::Done:
      return "done";
    case Outcome::Failed:
    case Outcome::Rejected:
      return "failed";
    case Outcome::Oom:
      return "oom";
    case Outcome::Cancelled:
      return "cancelled";
    case Outcome::Timeout:
      return "timeout";
    case Outcome::Lost:
      return "lost";
  }
  return "lost";
}

std::string_view state_word(JobState state) {
  switch (state) {
    case JobState::Queued:
      return "queued";
    case JobState::Held:
      return "held";
    case JobState::Starting:
      return "starting";
    case JobState::Running:
      return "running";
    case JobState::Suspended:
      return "suspended";
    case JobState::Stopping:
      return "stopping";
  }
  return "queued";
}

std::string to_body(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ---- Jobs ------------------------------------------------------------------------------------

Json Presenter::row(const journal::JobRow& row) {
  Json json;
  json["id"] = row.job.value();
  json["name"] = row.name;
  json["user"] = row.spec.user.value();
  json["user_name"] = names_.of(row.spec.user.value());
  json["command_line"] = row.command;
  json["gpus"] = gpus_json(row.gpus);
  json["submitted_at"] = seconds_json(row.submitted);
  json["started_at"] = seconds_json(row.started);
  json["ended_at"] = row.end ? seconds_json(row.end->at) : Json();
  json["exit_code"] = row.end ? Json(exit_code(row.end->outcome, row.end->code)) : Json();
  json["note"] = row.end ? row.end->note : "";
  const ClusterView view = keeper_.engine().view();
  const Job* const job = view.find(row.job);
  add_request(json, job != nullptr ? job->spec : row.spec);
  json["attempt"] = job != nullptr ? Json(job->attempt.value()) : Json();
  json["reason"] = job != nullptr ? reason(view, *job) : "";
  if (job != nullptr) {
    json["state"] = state_word(job->state);
  } else {
    json["state"] = row.end ? state_word(row.end->outcome) : "lost";
  }
  return json;
}

Expected<Json> Presenter::job(JobId id) {
  const auto found = keeper_.store().job(id);
  if (!found) return std::unexpected(found.error());
  if (!*found)
    return fail(ErrorCode::NotFound, "job " + std::to_string(id.value()) + ": no such job");
  return row(**found);
}

Json Presenter::brief(JobId id) {
  const Job* const known = keeper_.engine().view().find(id);
  if (known != nullptr) return {{"id", id.value()}, {"state", state_word(known->state)}};
  const auto json = job(id);
  if (!json) return {{"id", id.value()}, {"state", "lost"}};
  return {{"id", id.value()}, {"state", json->at("state")}};
}

void Presenter::add_measured(Json& json, const Job& job) {
  json["charge_bytes"] = job.grant.shares.empty() ? 0 : job.grant.shares.front().charge.raw();
  json["used_bytes"] = Json::object();
  for (const Share& share : job.grant.shares) {
    const Measured* const told = watcher_.told(share.gpu);
    if (told == nullptr) continue;
    for (const TenantUse& use : told->tenants) {
      if (use.job == job.id)
        json["used_bytes"][std::to_string(share.gpu.value())] = use.bytes.raw();
    }
  }
}

Expected<Json> Presenter::detail(JobId id, std::int64_t log_bytes) {
  auto json = job(id);
  if (!json) return json;
  const auto row = keeper_.store().job(id);
  const auto attempts = keeper_.store().attempts(id);
  const auto reports = keeper_.store().reports(id);
  const auto blob = keeper_.store().blob((*row)->spec.command);
  if (!attempts || !reports || !blob) return fail(ErrorCode::Io, "the journal cannot be read");
  if (const auto command = decode_command(*blob)) {
    (*json)["command"] = command->arguments;
    (*json)["directory"] = command->directory;
  }
  Json list = Json::array();
  for (const journal::AttemptRow& attempt : *attempts) {
    const auto& end = attempt.end;
    list.push_back({{"attempt", attempt.attempt.value()},
                    {"granted_at", seconds_json(attempt.granted)},
                    {"started_at", seconds_json(attempt.started)},
                    {"ended_at", end ? seconds_json(end->at) : Json()},
                    {"gpus", gpus_json(attempt.gpus)},
                    {"outcome", end ? Json(state_word(end->outcome)) : Json()},
                    {"exit_code", end ? Json(end->code) : Json()},
                    {"note", end ? end->note : ""}});
  }
  (*json)["attempts"] = std::move(list);
  (*json)["reports"] = Json::object();
  for (const journal::ReportRow& report : *reports) {
    (*json)["reports"][report.key] = millionths(report.value);
  }
  (*json)["log_bytes"] = log_bytes;
  const ClusterView view = keeper_.engine().view();
  if (view.knows(id)) {
    const JobView known = view.job(id);
    (*json)["ran_seconds"] = in_seconds(known.ran());
    (*json)["waited_seconds"] = in_seconds(known.waited());
    add_measured(*json, *view.find(id));
  }
  return json;
}

// ---- Pages of jobs ---------------------------------------------------------------------------

/// The live job that follows in the page's order, whosever it is.
std::optional<JobId> Presenter::next_live(const Page& page, std::optional<JobId> last) const {
  const ClusterView view = keeper_.engine().view();
  const bool rises = page.order == Order::OldestFirst;
  if (page.which == Which::Running) {  // few of many
    const auto running = view.running();
    const auto at = last ? (rises ? std::ranges::upper_bound(running, *last)
                                  : std::ranges::lower_bound(running, *last))
                         : (rises ? running.begin() : running.end());
    if (rises) return at == running.end() ? std::nullopt : std::optional(*at);
    return at == running.begin() ? std::nullopt : std::optional(*std::prev(at));
  }
  if (rises) return view.job_from(last ? JobId(last->value() + 1) : JobId(0));
  if (last == JobId(0)) return std::nullopt;
  return view.job_back_from(last ? JobId(last->value() - 1) : kLastJob);
}

Expected<Presenter::Part> Presenter::live_part(const Page& page) const {
  Part part;
  if (page.which == Which::Ended) return part;
  const ClusterView view = keeper_.engine().view();
  std::optional<JobId> last = page.beyond;
  std::optional<JobId> next = next_live(page, last);
  for (std::size_t looked = 0; next; last = next, next = next_live(page, last)) {
    if (part.rows.size() == page.most || ++looked > kMostLooked) {
      part.end = last;
      break;
    }
    if (page.user && view.find(*next)->spec.user != *page.user) continue;
    auto row = keeper_.store().job(*next);
    if (!row) return std::unexpected(row.error());
    if (*row) part.rows.push_back(std::move(**row));
  }
  return part;
}

Expected<Presenter::Part> Presenter::ended_part(const Page& page) const {
  Part part;
  if (page.which != Which::Ended && page.which != Which::All) return part;
  journal::PageQuery query{.user = page.user, .most = page.most};
  if (page.order == Order::OldestFirst) query.after = page.beyond.value_or(JobId(0));
  if (page.order == Order::NewestFirst && page.beyond) query.before = *page.beyond;
  auto rows = keeper_.store().history(query);
  if (!rows) return std::unexpected(rows.error());
  part.rows = std::move(*rows);
  if (part.rows.size() == page.most) part.end = part.rows.back().job;
  return part;
}

/// Live ones from the engine, ended ones from the history, merged; nobody beyond where either of
/// them stopped, or the next page would leave others out.
Expected<Json> Presenter::jobs(const Page& page) {
  auto live = live_part(page);
  if (!live) return std::unexpected(live.error());
  auto ended = ended_part(page);
  if (!ended) return std::unexpected(ended.error());
  const auto is_first = [rises = page.order == Order::OldestFirst](JobId a, JobId b) {
    return rises ? a < b : b < a;
  };
  std::vector<journal::JobRow> rows = std::move(live->rows);
  std::ranges::move(ended->rows, std::back_inserter(rows));
  std::ranges::sort(rows, is_first, &journal::JobRow::job);
  std::optional<JobId> end = live->end;
  if (ended->end) end = end ? std::min(*end, *ended->end, is_first) : *ended->end;
  if (rows.size() > page.most) {
    rows.resize(page.most);
    end = end ? std::min(*end, rows.back().job, is_first) : rows.back().job;
  }
  Json list = Json::array();
  for (const journal::JobRow& row : rows) {
    if (!end || !is_first(*end, row.job)) list.push_back(this->row(row));
  }
  const char* const next = page.order == Order::OldestFirst ? "next_after" : "next_before";
  return Json{{"jobs", std::move(list)}, {next, end ? Json(end->value()) : Json()}};
}

// ---- GPUs ------------------------------------------------------------------------------------

Json Presenter::tenants(GpuId gpu) {
  Json list = Json::array();
  const ClusterView view = keeper_.engine().view();
  const Measured* const told = watcher_.told(gpu);
  for (const JobId id : view.running()) {
    const Job& job = *view.find(id);
    const auto share = std::ranges::find(job.grant.shares, gpu, &Share::gpu);
    if (share == job.grant.shares.end()) continue;
    Json used;
    if (told != nullptr) {
      const auto use = std::ranges::find(told->tenants, id, &TenantUse::job);
      if (use != told->tenants.end()) used = use->bytes.raw();
    }
    const auto row = keeper_.store().job(id);
    const bool known = row && *row;
    list.push_back({{"job", id.value()},
                    {"name", known ? ((*row)->name.empty() ? (*row)->command : (*row)->name) : ""},
                    {"user_name", names_.of(job.spec.user.value())},
                    {"charge_bytes", share->charge.raw()},
                    {"used_bytes", used}});
  }
  return list;
}

Json Presenter::strangers(GpuId gpu) {
  Json list = Json::array();
  const Look* const look = watcher_.latest(gpu);
  if (look == nullptr || !look->sample || !look->sample->processes) return list;
  for (const GpuProcess& process : *look->sample->processes) {
    const auto owner = look->owners.find(process.pid);
    const bool is_ours =
        owner != look->owners.end() && std::holds_alternative<JobId>(owner->second);
    if (is_ours) continue;
    const auto user = process_user(process.pid);
    list.push_back({{"pid", process.pid},
                    {"name", process_name(process.pid)},
                    {"user_name", user ? names_.of(*user) : ""},
                    {"bytes", process.bytes ? Json(process.bytes->raw()) : Json()}});
  }
  return list;
}

Json Presenter::gpu(GpuId id) {
  const ClusterView view = keeper_.engine().view();
  const Device& device = machine_.devices.list[id.value()];
  const GpuSpec& spec = view.cluster().gpu(id);
  const GpuUse& use = view.use().gpu(id);
  const Look* const look = watcher_.latest(id);
  const Bytes guard = use.tenants == 0 ? Bytes(0) : guard_band(view.settings().admission, spec);
  const Bytes taken = use.foreign + use.charged + guard + spec.context;
  const bool can_take = is_usable(use) && use.alone == 0 && use.tenants < spec.slots;
  const bool has_rate = look != nullptr && look->sample && look->sample->utilisation_percent;
  return {
      {"index", id.value()},
      {"name", device.name},
      {"uuid", device.uuid},
      {"total_bytes", device.total.raw()},
      {"capacity_bytes", spec.capacity.raw()},
      {"used_bytes", use.used.raw()},
      {"foreign_bytes", use.foreign.raw()},
      {"charged_bytes", use.charged.raw()},
      {"headroom_bytes", can_take ? std::max(Bytes(0), spec.capacity - taken).raw() : 0},
      {"guard_bytes", guard_band(view.settings().admission, spec).raw()},
      {"utilisation_percent", has_rate ? Json(*look->sample->utilisation_percent) : Json()},
      {"healthy", is_usable(use)},
      {"problem", watcher_.problem(id)},
      {"pressure", is_under_pressure(spec, use)},
      {"slots", spec.slots},
      {"sampled_at", look == nullptr ? Json() : seconds_json(look->began)},
      {"tenants", tenants(id)},
      {"foreign", strangers(id)},
  };
}

Json Presenter::gpus() {
  Json list = Json::array();
  for (std::uint32_t g = 0; g < machine_.devices.list.size(); ++g) list.push_back(gpu(GpuId(g)));
  return {{"driver_version", machine_.devices.driver_version},
          {"emulated", machine_.emulated},
          {"gpus", std::move(list)}};
}

}  // namespace berth::daemon
