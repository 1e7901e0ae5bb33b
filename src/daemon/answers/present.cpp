#include "daemon/answers/present.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/admission.hpp"
#include "core/text/points.hpp"
#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "daemon/answers/hiding.hpp"
#include "daemon/answers/reservations.hpp"
#include "daemon/answers/row.hpp"
#include "daemon/attempts/stand_in.hpp"
#include "daemon/limits/host_limits.hpp"
#include "daemon/loop/json_text.hpp"
#include "live/conductor.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostFailedTasks = 16;

Json seconds_json(Instant at) {
  return at == kNever ? Json() : Json(static_cast<double>(micros(at)) / 1e6);
}

/// A start may be noticed after the end, which is told when it was.
Json started_json(Instant started, const std::optional<journal::End>& end) {
  return seconds_json(end && started != kNever ? std::min(started, end->at) : started);
}

Json gpus_json(const std::vector<GpuId>& gpus) {
  Json list = Json::array();
  for (const GpuId gpu : gpus) list.push_back(gpu.value());
  return list;
}

/// A job goes on after a preemption, so no job has this outcome, only attempts.
std::string_view outcome_word(const journal::End& end) {
  return end.note.starts_with(live::kPreempted) ? live::kPreempted : user_word(end.outcome);
}

Json joules_json(std::int64_t millijoules) { return static_cast<double>(millijoules) / 1e3; }

/// Integers stay integers.
Json millionths(std::int64_t value) {
  if (value % 1'000'000 == 0) return value / 1'000'000;
  return static_cast<double>(value) / 1e6;
}

}  // namespace

std::string to_body(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ---- Jobs ------------------------------------------------------------------------------------

Expected<journal::JobRow> Presenter::row(JobId id) const {
  auto found = keeper_.store().job(id);
  if (!found) return std::unexpected(found.error());
  if (*found) return std::move(**found);
  return fail(ErrorCode::NotFound, "job " + std::to_string(id.value()) + ": no such job");
}

/// Steps may be far apart.
Instant Presenter::now() const {
  const Instant step = keeper_.engine().view().now();
  return now_ ? std::max(step, now_()) : step;
}

Expected<std::string> Presenter::job(JobId id, const Viewer& viewer) {
  const auto found = row(id);
  if (!found) return std::unexpected(found.error());
  std::string text;
  Reasons now = reasons();
  append_row(text, *found, now, viewer);
  return text;
}

void Presenter::append_brief_row(std::string& out, const journal::JobRow& row, Reasons& reasons,
                                 const Viewer& viewer) {
  daemon::append_brief_row(out, row, {reasons, names_, keeper_, now()}, viewer);
  add_rung(out, row.job);
}

void Presenter::append_row(std::string& out, const journal::JobRow& row, Reasons& reasons,
                           const Viewer& viewer) {
  const Bytes peak = watcher_.peak_of(row.job);
  const auto so_far = watcher_.energy().of(row.job);
  const RowTexts texts{reasons, names_, keeper_, now()};
  if (peak > row.peak || so_far) {
    journal::JobRow seen = row;
    if (so_far) seen.millijoules = row.millijoules.value_or(0) + *so_far;
    seen.peak = std::max(peak, row.peak);  // of an attempt that has not ended
    daemon::append_row(out, seen, texts, viewer);
  } else {
    daemon::append_row(out, row, texts, viewer);
  }
  add_rung(out, row.job);
}

void Presenter::append_array(std::string& out, const ArrayRow& array, Reasons& reasons,
                             const Viewer& viewer) {
  daemon::append_array(out, array, {reasons, names_, keeper_, now()}, viewer);
}

Expected<std::string> Presenter::array(const ArraySpan& span, const Viewer& viewer) {
  auto row = array_row(keeper_, span);
  if (!row) return std::unexpected(row.error());
  const auto failures = keeper_.store().failures_of(span.first, span.last, kMostFailedTasks);
  if (!failures) return std::unexpected(failures.error());
  Json list = Json::array();
  for (const JobId id : *failures) {
    const auto failed = keeper_.store().job(id);
    if (!failed || !*failed || !(*failed)->end) continue;
    const journal::End& end = *(*failed)->end;
    list.push_back({{"id", id.value()},
                    {"handle", handle_of(id, (*failed)->spec.conditions->array)},
                    {"state", user_word(end.outcome)},
                    {"exit_code", exit_code(end.outcome, end.code)},
                    {"note", Sight((*failed)->spec.user, viewer).note(end.note)}});
  }
  std::string text;
  Reasons now = reasons();
  append_array(text, *row, now, viewer);
  text.back() = ',';  // one object of both
  Json more = {{"failed_tasks", std::move(list)}};
  const bool is_theirs = viewer.is_admin || viewer.user == row->row.spec.user;
  if (std::string why = untold_ && is_theirs ? untold_(span.first) : ""; !why.empty()) {
    more["notify_failure"] = why;
  }
  return text + to_body(more).substr(1);
}

Json Presenter::brief(JobId id) const {
  const auto of = [&](std::string_view state, const JobSpec& spec) {
    Json json = {{"id", id.value()}, {"state", state}};
    const ArrayPlace& place = spec.conditions->array;
    if (array_of(id, place)) json["handle"] = handle_of(id, place);
    return json;
  };
  const Job* const known = keeper_.engine().view().find(id);
  if (known != nullptr) return of(word_for(shown_state(*known)), known->spec);
  const auto found = row(id);
  return found ? of(state_word(*found, nullptr), found->spec) : of("lost", {});
}

// ---- What keeps a job to its memory ----------------------------------------------------------

std::optional<Rung> Presenter::rung_of(JobId id) const {
  const Job* const job = keeper_.engine().view().find(id);
  if (job == nullptr || !holds_berth(job->state) || job->grant.shares.empty()) return std::nullopt;
  const auto& cluster = keeper_.engine().view().cluster();
  const bool is_apart = std::ranges::all_of(job->grant.shares, [&](const Share& share) {
    return cluster.gpu(share.gpu).share_mode == ShareMode::Mig;
  });
  if (is_apart) return Rung::Mig;
  if (limits_ != nullptr && limits_->is_limited(id)) return Rung::Driver;
  if (is_mps_client(*job)) return Rung::Mps;
  const AdmissionMode mode = keeper_.engine().view().settings().admission.mode;
  return mode == AdmissionMode::Guarantee ? Rung::Watch : Rung::None;
}

/// By what the latest look shows: a process that uses the GPU without its server has no limit,
/// whatever its environment was.
bool Presenter::is_mps_client(const Job& job) const {
  if (mps_ == nullptr || mps_->most_of(job.id) == Bytes(0)) return false;
  return std::ranges::none_of(job.grant.shares, [&](const Share& share) {
    const live::Look* const look = watcher_.latest(share.gpu);
    if (look == nullptr || !look->sample || !look->sample->processes) return false;
    return std::ranges::any_of(*look->sample->processes, [&](const GpuProcess& process) {
      const auto owner = look->owners.find(process.pid);
      const auto* const ours =
          owner == look->owners.end() ? nullptr : std::get_if<OfJob>(&owner->second);
      return ours != nullptr && ours->job == job.id && !process.is_mps_client;
    });
  });
}

void Presenter::add_rung(std::string& object, JobId id) const {
  const auto rung = rung_of(id);
  if (!rung) return;
  object.back() = ',';
  object += "\"memory_limit\":\"" + std::string(word_for(*rung)) + "\"}";
}

std::string Presenter::rung_line(JobId id) const {
  const auto rung = rung_of(id);
  if (!rung) return "";
  switch (*rung) {
    case Rung::Mig: {
      const GpuId gpu = keeper_.engine().view().find(id)->grant.shares.front().gpu;
      return "mig: it has a " + machine_.devices.list[gpu.value()].mig_profile +
             " instance to itself, which has no more memory than that; not caught: processes that "
             "are no job's on the same instance";
    }
    case Rung::Mps: {
      const Job& job = *keeper_.engine().view().find(id);
      const auto processes = job.spec.request.gpu.processes;
      return "mps: its server lets each of its processes hold " + to_text(mps_->most_of(id)) +
             (job.grant.shares.size() > 1 ? " of each GPU" : "") + "; not caught: " +
             (processes > 1 ? "more than " + std::to_string(processes) : "several") +
             " processes together, one that changes its environment; a fatal fault ends all of "
             "its user's jobs on this server";
    }
    case Rung::Watch: {
      const std::string why = mps_ == nullptr ? "" : mps_->why_without(id);
      return "watch: it is ended when a look shows that it took what others were granted; not "
             "caught: what happens between two looks" +
             (why.empty() ? "" : "; it was to have MPS and runs without: " + why);
    }
    case Rung::None:
      return "none: nothing is done about memory that it takes from others";
    case Rung::Driver:
      break;
  }
  std::string most;
  for (const auto& [gpu, limits] : limits_->limits_of(id)) {
    most += (most.empty() ? "" : ", ") + to_text(limits.most.value_or(Bytes(0))) + " on GPU " +
            std::to_string(gpu.value());
  }
  return "driver: an allocation beyond " + most + " fails; not caught: managed memory";
}

void Presenter::add_measured(Json& json, const Job& job) {
  json["charge_bytes"] = job.grant.shares.empty() ? 0 : job.grant.shares.front().charge.raw();
  json["used_bytes"] = Json::object();
  json["memory_limit_line"] = rung_line(job.id);
  json["links_line"] = links_line(job.id);
  if (cgroup_of_) {
    const std::string group = cgroup_of_(job.id, job.attempt);
    json["host_limits"] = host_limits_text(group);
    json["device_files"] = device_rules_ == nullptr ? "" : device_rules_->text_of(group);
  }
  for (const Share& share : job.grant.shares) {
    const Measured* const told = watcher_.told(share.gpu);
    if (told == nullptr) continue;
    for (const TenantUse& use : told->tenants) {
      if (use.job == job.id)
        json["used_bytes"][std::to_string(share.gpu.value())] = use.bytes.raw();
    }
  }
}

std::optional<Presenter::LongCommand> Presenter::long_command(JobId id,
                                                              const Viewer& viewer) const {
  const auto row = keeper_.store().job(id);
  if (!row || !*row || !Sight((*row)->spec.user, viewer).sees_words()) return std::nullopt;
  const auto blob = keeper_.store().blob((*row)->spec.command);
  auto command = blob ? live::decode_command(*blob) : std::unexpected(blob.error());
  if (!command || command->more_arguments.empty()) return std::nullopt;
  LongCommand found{.json = "",
                    .more = std::move(command->more_arguments),
                    .point = point_of((*row)->name, (*row)->spec.conditions->array)};
  std::size_t size = std::size_t{64} << 10;  // and the rest of the details
  for (const BlobId part : found.more) {
    size += static_cast<std::size_t>(keeper_.store().blob_size(part).value_or(Bytes(0)).raw());
  }
  found.json.reserve(size);  // so that it is never copied
  fill(command->arguments, found.point);
  found.json = to_body({{"command", command->arguments}});
  found.json.resize(found.json.size() - 2);  // `]}`
  return found;
}

Expected<std::string> Presenter::detail(JobId id, const Viewer& viewer,
                                        std::optional<std::int64_t> log_bytes, Words words) {
  auto text = job(id, viewer);
  if (!text) return text;
  const auto row = keeper_.store().job(id);
  const auto attempts = keeper_.store().attempts(id);
  const auto reports = keeper_.store().reports(id);
  const auto peaks = keeper_.store().peaks(id);
  const auto energies = keeper_.store().energies(id);
  const auto blob = keeper_.store().blob((*row)->spec.command);
  if (!attempts) return std::unexpected(attempts.error());
  if (!reports) return std::unexpected(reports.error());
  if (!peaks) return std::unexpected(peaks.error());
  if (!energies) return std::unexpected(energies.error());
  Json json;
  Json damaged = Json::array();
  auto command = blob ? live::decode_command(*blob) : std::unexpected(blob.error());
  if (command) {
    fill(command->arguments, point_of((*row)->name, (*row)->spec.conditions->array));
  }
  const Sight sight((*row)->spec.user, viewer);
  if (command && !sight.sees_words()) {
    json["command"] = {sight.command(live::command_line(command->arguments))};
    json["arguments_hidden"] = true;
  } else if (command) {
    if (words == Words::All) json["command"] = command->arguments;
    json["directory"] = command->directory;
    if (!command->output.empty()) json["output"] = command->output;
    if (!command->snapshot.empty()) json["snapshot"] = command->snapshot;
    if (command->processes > 0) json["pids"] = command->processes;
    if (const auto& warning = command->warning) {
      json["warning_signal"] = ::sigabbrev_np(warning->signal);
      json["warning_seconds"] = in_seconds(warning->before);
    }
    // An address may be a secret, whatever the configuration shows.
    const bool is_theirs = viewer.is_admin || viewer.user == UserId(command->owner.user);
    if (command->notice && is_theirs) {
      json["notify"] = command->notice->to;
      if (std::string why = untold_ ? untold_(id) : ""; !why.empty()) json["notify_failure"] = why;
    }
  } else {
    damaged.push_back("its command");
  }
  Json list = Json::array();
  for (const journal::AttemptRow& attempt : *attempts) {
    const auto& end = attempt.end;
    if (attempt.is_damaged) {
      damaged.push_back("its attempt " + std::to_string(attempt.attempt.value()));
      continue;
    }
    // The same process went on as the next. Older journals have no end of it.
    const bool began = attempt.started != kNever;
    const bool has_next = &attempt != &attempts->back();
    const bool went_on = end ? end->note == live::kSuspended : began && has_next;
    const bool never_began = !end && !began && (has_next || (*row)->end);
    const bool has_code = end && !went_on && !has_unknown_code((*row)->spec, end->outcome);
    const auto peak = std::ranges::find(*peaks, attempt.attempt, &journal::PeakRow::attempt);
    const auto energy = std::ranges::find(*energies, attempt.attempt, &journal::EnergyRow::attempt);
    list.push_back(
        {{"attempt", attempt.attempt.value()},
         {"peak_bytes", peak == peaks->end() ? Json() : Json(peak->bytes.raw())},
         {"energy_joules", energy == energies->end() ? Json() : joules_json(energy->millijoules)},
         {"granted_at", seconds_json(attempt.granted)},
         {"started_at", started_json(attempt.started, end)},
         {"ended_at", end ? seconds_json(end->at) : Json()},
         {"gpus", gpus_json(attempt.gpus)},
         {"outcome", end && !went_on ? Json(outcome_word(*end)) : Json()},
         {"exit_code", has_code ? Json(end->code) : Json()},
         {"note", went_on       ? std::string(live::kSuspended)
                  : never_began ? "was not started"
                  : end         ? sight.note(end->note)
                                : ""}});
  }
  json["attempts"] = std::move(list);
  json["reports"] = Json::object();
  for (const journal::ReportRow& report : *reports) {
    if (report.is_damaged) {
      damaged.push_back("a report");
      continue;
    }
    json["reports"][report.key] = millionths(report.value);
  }
  if (!damaged.empty()) json["damaged"] = std::move(damaged);
  json["log_bytes"] = log_bytes.value_or(0);
  if (!log_bytes && (*row)->started != kNever && (*row)->end) json["log_deleted"] = true;
  const ClusterView view = keeper_.engine().view();
  if (view.knows(id)) {
    const JobView known(*view.find(id), now());
    json["ran_seconds"] = in_seconds(known.ran());
    json["waited_seconds"] = in_seconds(known.waited());
    add_measured(json, *view.find(id));
  }
  text->back() = ',';  // one object of both
  return *text + to_body(json).substr(1);
}

// ---- GPUs ------------------------------------------------------------------------------------

namespace {

/// What a job's processes did on a GPU; null where that is not told of each of them.
Json busy_json(const live::Look* look, JobId job) {
  if (look == nullptr || !look->sample || !look->sample->processes) return {};
  std::optional<std::uint32_t> sum;
  for (const GpuProcess& process : *look->sample->processes) {
    const auto owner = look->owners.find(process.pid);
    const auto* const of =
        owner == look->owners.end() ? nullptr : std::get_if<OfJob>(&owner->second);
    if (of == nullptr || of->job != job) continue;
    if (!process.utilisation_percent) return {};
    sum = sum.value_or(0) + *process.utilisation_percent;
  }
  return sum ? Json(std::min(*sum, 100U)) : Json();
}

}  // namespace

Json Presenter::tenants(GpuId gpu, const Viewer& viewer) {
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
    const Sight sight(job.spec.user, viewer);
    std::string name = row && *row ? sight.name((*row)->name, (*row)->spec.conditions->array) : "";
    if (row && *row && name.empty()) name = sight.command((*row)->command);
    list.push_back({{"job", id.value()},
                    {"name", name},
                    {"utilisation_percent", busy_json(watcher_.latest(gpu), id)},
                    {"user_name", names_.of(job.spec.user.value())},
                    {"charge_bytes", share->charge.raw()},
                    {"used_bytes", used}});
    const ArrayPlace& place = job.spec.conditions->array;
    if (array_of(id, place)) list.back()["handle"] = handle_of(id, place);
    const std::string note = sight.note(keeper_.note_of(id));
    if (!note.empty()) list.back()["note"] = note;
  }
  return list;
}

/// A container of a user's has subordinate uids, which have no names: it is that user's.
std::string Presenter::name_of(uid_t user, const Surrounding& where) {
  const std::string name = names_.of(user);
  const bool is_named = name != std::to_string(user);
  return is_named || !where.login ? name : names_.of(*where.login);
}

Json Presenter::strangers(GpuId gpu, std::optional<UserId> viewer) {
  Json list = Json::array();
  const live::Look* const look = watcher_.latest(gpu);
  if (look == nullptr || !look->sample || !look->sample->processes) return list;
  for (const GpuProcess& process : *look->sample->processes) {
    const auto owner = look->owners.find(process.pid);
    const auto* const ours =
        owner == look->owners.end() ? nullptr : std::get_if<OfJob>(&owner->second);
    if (ours != nullptr && is_tenant(ours->job, gpu)) continue;
    if (process.pid < 0) {
      list.push_back({{"pid", Json()},
                      {"name", name_of_stand_in(process.pid)},
                      {"user_name", ""},
                      {"bytes", process.bytes ? Json(process.bytes->raw()) : Json()}});
      continue;
    }
    const Surrounding where = surrounding_of(process_cgroups(process.pid));
    const auto user = process_user(process.pid);
    Json one = {{"pid", process.pid},
                {"name", process_name(process.pid)},
                {"user_name", user ? name_of(*user, where) : ""},
                {"bytes", process.bytes ? Json(process.bytes->raw()) : Json()}};
    if (std::string text = text_of(where); !text.empty()) one["in"] = std::move(text);
    if (ours != nullptr) one["job"] = ours->job.value();
    const bool is_viewers = user && viewer && UserId(*user) == *viewer;
    if (ours == nullptr && is_viewers) one["yours"] = true;
    list.push_back(std::move(one));
  }
  return list;
}

bool Presenter::is_tenant(JobId job, GpuId gpu) const {
  return std::ranges::binary_search(keeper_.engine().view().tenants_of(gpu), job);
}

/// The largest one by name, and how many others there are.
std::string Presenter::foreign_text(GpuId gpu) {
  const Json list = strangers(gpu);
  const Json* most = nullptr;
  const auto bytes_of = [](const Json& process) { return process.value("bytes", std::int64_t{0}); };
  std::int64_t sum = 0;
  for (const Json& process : list) {
    if (process["bytes"].is_null()) continue;
    sum += bytes_of(process);
    if (most == nullptr || bytes_of(process) > bytes_of(*most)) most = &process;
  }
  if (most == nullptr) return "";
  const std::string name = (*most)["name"].get<std::string>();
  const std::string user = (*most)["user_name"].get<std::string>();
  std::string text = name.empty() ? "process" : name;
  if (most->contains("job")) text += " of job " + std::to_string((*most)["job"].get<JobId::rep>());
  if (!user.empty()) text += " of " + user;
  if (most->contains("in")) text += " in " + (*most)["in"].get<std::string>();
  if (list.size() > 1) text += " and " + std::to_string(list.size() - 1) + " more";
  return text + ", " + to_text(Bytes(sum));
}

std::string Presenter::strangers_text(GpuId gpu) {
  constexpr std::size_t kMost = 4;
  const Json list = strangers(gpu);
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), kMost); ++i) {
    const Json& one = list[i];
    const std::string user = one["user_name"].get<std::string>();
    const std::string name = one["name"].get<std::string>() + (user.empty() ? "" : " of " + user);
    text += (text.empty() ? "" : "; ") +
            (one["pid"].is_null() ? name : "process " + one["pid"].dump() + " (" + name + ")");
    if (one["bytes"].is_number()) text += ", " + to_text(Bytes(one["bytes"].get<std::int64_t>()));
  }
  if (list.size() > kMost) text += " and " + std::to_string(list.size() - kMost) + " more";
  return text;
}

std::map<GpuId, std::string> Presenter::foreign_texts() {
  std::map<GpuId, std::string> texts;
  const ClusterView view = keeper_.engine().view();
  for (const GpuId gpu : view.cluster().gpu_ids()) {
    if (view.use().gpu(gpu).foreign == Bytes(0)) continue;
    if (std::string text = foreign_text(gpu); !text.empty()) texts[gpu] = std::move(text);
  }
  return texts;
}

Reasons Presenter::reasons() {
  return Reasons(keeper_.engine(), [this](GpuId gpu) { return foreign_text(gpu); });
}

namespace {

Json link_json(const Cluster& cluster, GpuId from, GpuId to) {
  const std::uint32_t first = cluster.node(cluster.node_of(from)).first_gpu.value();
  Link link{.one = std::min(from, to).value() - first, .other = std::max(from, to).value() - first};
  for (const Link& known : cluster.links_of(cluster.node_of(from))) {
    if (known.one == link.one && known.other == link.other) link = known;
  }
  return {{"gpu", to.value()},
          {"nvlinks", link.nvlinks},
          {"path", text_of(link)},
          {"distance", cluster.distance(from, to)}};
}

/// The others on its node of which a path is known.
Json links_json(const Cluster& cluster, GpuId gpu) {
  Json list = Json::array();
  if (cluster.links_of(cluster.node_of(gpu)).empty()) return list;
  for (const GpuId other : cluster.node(cluster.node_of(gpu)).gpu_ids()) {
    if (other != gpu) list.push_back(link_json(cluster, gpu, other));
  }
  return list;
}

}  // namespace

/// `4 NVLinks between any two`, or between the farthest.
std::string Presenter::links_line(JobId id) const {
  const Job* const job = keeper_.engine().view().find(id);
  if (job == nullptr || !holds_berth(job->state)) return "";
  const Cluster& cluster = keeper_.engine().view().cluster();
  const std::vector<GpuId> gpus = live::gpus_of(job->grant);
  if (gpus.size() < 2 || cluster.links_of(cluster.node_of(gpus.front())).empty()) return "";
  std::uint16_t nearest = kFarthest;
  std::pair farthest(std::uint16_t{0}, std::pair(gpus[0], gpus[1]));
  for (const GpuId one : gpus) {
    for (const GpuId other : gpus) {
      if (one >= other) continue;
      if (cluster.node_of(one) != cluster.node_of(other)) return "";
      const std::uint16_t distance = cluster.distance(one, other);
      nearest = std::min(nearest, distance);
      if (distance > farthest.first) farthest = {distance, {one, other}};
    }
  }
  const auto [one, other] = farthest.second;
  const std::string path = link_json(cluster, one, other)["path"].get<std::string>();
  if (nearest == farthest.first) return path + " between any two of its GPUs";
  return path + " between the farthest two of its GPUs, " + std::to_string(one.value()) + " and " +
         std::to_string(other.value());
}

Json Presenter::gpu(GpuId id, const Viewer& viewer) {
  const ClusterView view = keeper_.engine().view();
  const Device& device = machine_.devices.list[id.value()];
  const GpuSpec& spec = view.cluster().gpu(id);
  const GpuUse& use = view.use().gpu(id);
  const live::Look* const look = watcher_.latest(id);
  const Bytes guard = use.tenants == 0 ? Bytes(0) : guard_band(view.settings().admission, spec);
  const Bytes taken = use.foreign + use.charged + guard + spec.context;
  const bool can_take = is_usable(use) && use.alone == 0 && use.tenants < spec.slots;
  const bool has_energy = look != nullptr && look->sample && look->sample->millijoules;
  const bool has_rate = look != nullptr && look->sample && look->sample->utilisation_percent;
  Json json = {
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
      {"healthy", use.healthy && use.reachable},
      {"problem", watcher_.problem(id)},
      {"pressure", is_under_pressure(spec, use)},
      {"slots", spec.slots},
      {"energy_joules", has_energy ? joules_json(*look->sample->millijoules) : Json()},
      {"sampled_at", look == nullptr ? Json() : seconds_json(look->began)},
      {"tenants", tenants(id, viewer)},
      {"foreign", strangers(id, viewer.user)},
      {"links", links_json(view.cluster(), id)},
  };
  for (const auto& [number, made] : view.calendar()) {
    if (!std::ranges::binary_search(made.gpus, id)) continue;
    json["reserved"].push_back(reservation_json(number, view, names_));
  }
  const auto drain = view.drains().find(id);
  if (drain == view.drains().end()) return json;
  const Drain& drained = drain->second;
  if (!drained.by) {
    json["not_given"] = drained.reason;
    return json;
  }
  json["drained"] = {{"reason", drained.reason},
                     {"by", names_.of(drained.by->value())},
                     {"until_at", seconds_json(drained.until)},
                     {"text", drained.shown}};
  return json;
}

Json Presenter::gpus(const Viewer& viewer) {
  Json list = Json::array();
  for (std::uint32_t g = 0; g < machine_.devices.list.size(); ++g)
    list.push_back(gpu(GpuId(g), viewer));
  return {{"driver_version", machine_.devices.driver_version},
          {"emulated", machine_.emulated},
          {"gpus", std::move(list)}};
}

}  // namespace berth::daemon
