#include "daemon/present.hpp"

#include <algorithm>
#include <cmath>
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

Expected<Json> Presenter::jobs(const Page& page) {
  const ClusterView view = keeper_.engine().view();
  // Live ones from the engine, ended ones from the history, merged by falling id.
  std::vector<JobId> live;
  view.for_each_job([&](const Job& job) {
    const bool wanted = job.id < page.before && (!page.user || job.spec.user == *page.user);
    if (wanted) live.push_back(job.id);
  });
  const std::size_t skip = live.size() > page.most ? live.size() - page.most : 0;
  live.erase(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(skip));
  std::vector<journal::JobRow> rows;
  for (const JobId id : live) {
    auto row = keeper_.store().job(id);
    if (!row) return std::unexpected(row.error());
    if (*row) rows.push_back(std::move(**row));
  }
  if (page.ended) {
    auto history = keeper_.store().history({page.before, page.user, page.most});
    if (!history) return std::unexpected(history.error());
    for (journal::JobRow& row : *history) rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, std::ranges::greater(), &journal::JobRow::job);
  const bool more = rows.size() > page.most || skip > 0 || (page.ended && rows.size() == page.most);
  if (rows.size() > page.most) rows.resize(page.most);
  Json list = Json::array();
  for (const journal::JobRow& row : rows) list.push_back(this->row(row));
  return Json{{"jobs", std::move(list)},
              {"next_before", more && !rows.empty() ? Json(rows.back().job.value()) : Json()}};
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
