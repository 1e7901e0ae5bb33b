#include "daemon/requests/requests.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/limits.hpp"
#include "core/base/sha256.hpp"
#include "core/text/job_fields.hpp"
#include "core/text/points.hpp"
#include "daemon/machine/order.hpp"
#include "daemon/requests/admit.hpp"
#include "daemon/requests/job_fields.hpp"
#include "shim/inherited.hpp"

namespace berth::daemon {

namespace {

bool is_attended(const live::Submission& job) {
  return job.command.attach && job.command.attach->terminal;
}

Sharing sharing_of(const JobFields& fields, const JobDefaults& defaults) {
  if (fields.sharing) return *fields.sharing;
  if (fields.exclusive.value_or(false)) return Sharing::Alone;
  if (defaults.sharing) return *defaults.sharing;
  return usual_sharing(fields.job.spec.duration_class, is_attended(fields.job));
}

/// Jobs of several GPUs talk to each other over NCCL, which most drivers do not suspend. One that
/// saves its own state is told to do that, and not suspended.
Suspending suspending_of(const JobFields& fields) {
  if (fields.suspend) return *fields.suspend ? Suspending::Yes : Suspending::No;
  const JobSpec& spec = fields.job.spec;
  if (spec.conditions->on_preempt.signal != 0) return Suspending::Unsaid;
  const GpuRequest& gpu = spec.request.gpu;
  if (gpu.count > GpuCount(1) || gpu.processes > 1) return Suspending::No;
  return usual_suspending(fields.job.spec.duration_class, is_attended(fields.job));
}

/// What is left out follows from what is said.
void fill_in(JobFields& fields, const Json& said, const JobDefaults& defaults) {
  live::Submission& job = fields.job;
  GpuRequest& gpu = job.spec.request.gpu;
  const GpuCount indices(std::ssize(job.gpu_indices));
  if (indices > GpuCount(0) && !said.contains("gpus")) gpu.count = indices;
  for (std::size_t i = 0; !said.contains("array") && i < fields.points.size(); ++i) {
    job.tasks.push_back(static_cast<std::int64_t>(i + 1));
  }
  if (gpu.max > GpuCount(0) && gpu.min == GpuCount(0)) gpu.min = gpu.count;
  if (gpu.min > GpuCount(0) && gpu.max == GpuCount(0)) gpu.max = gpu.count;
  gpu.sharing = sharing_of(fields, defaults);
  job.spec.suspending = suspending_of(fields);
  if (gpu.count > GpuCount(0)) return;
  gpu.sharing = Sharing::Shared;
  if (!said.contains("cpus")) job.spec.request.cpu = defaults.cpu;
}

/// The folder of which the job's is a copy, which is another for each job; "" if none is named.
std::string original_of(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "BERTH_SUBMIT_DIR=";
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& variable) { return variable.starts_with(kName); });
  return found == environment.end() ? "" : found->substr(kName.size());
}

/// Sweeps with other values are other programs, as what a task needs is learned by its number.
/// Requires: check_points().
void set_points(JobFields& fields) {
  std::string all;
  for (const std::vector<std::string>& values : fields.points) {
    Point point;
    for (std::size_t i = 0; i < values.size(); ++i) {
      point.push_back({.name = fields.parameters[i], .value = values[i]});
    }
    all += fields.job.points.emplace_back(point_text(point)) + "\n";
  }
  if (!all.empty()) fields.program.words.push_back("points=" + sha256(all));
}

void set_environment(live::Submission& job, std::vector<std::string> variables,
                     const JobDefaults& defaults) {
  shim::drop_inherited(variables);
  std::erase_if(variables, [](const std::string& variable) {
    return variable.starts_with(kShare) || variable.starts_with(live::kPoint) ||
           variable.starts_with("BERTH_VRAM_SHRINK=");
  });
  for (std::size_t i = 0; i < job.points.size(); ++i) {
    variables.push_back(std::string(live::kPoint) + std::to_string(job.tasks[i]) + "=" +
                        job.points[i]);
  }
  live::Words environment = live::variables_in_parts(std::move(variables));
  const bool allowed_by_default = defaults.shrinks.contains(job.spec.user);
  if (job.vram_shrink.value_or(allowed_by_default)) {
    environment.first.emplace_back(live::kShrinkAllowed);
  }
  if (!job.share.empty()) environment.first.push_back(std::string(kShare) + job.share);
  job.environment = live::encode_environment(environment.first);
  job.more_environment = std::move(environment.more);
}

}  // namespace

Expected<live::Submission> parse_submission(std::string_view body, const http::Peer& peer,
                                            const JobDefaults& defaults) {
  auto json = parse_object(body);
  if (!json) return std::unexpected(json.error());
  JobFields fields{.says_environment = json->contains("environment")};
  live::Submission& job = fields.job;
  job.spec.request.gpu.count = GpuCount(1);
  for (auto& [key, value] : json->items()) {
    if (auto done = read_field(fields, key, value); !done) return std::unexpected(done.error());
  }
  fill_in(fields, *json, defaults);
  if (auto done = keep_to_time(job.spec.time_limit, defaults.longest_time); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = check_fields(fields); !done) return std::unexpected(done.error());
  if (fields.warn_signal != 0) {
    job.command.warning = live::Warning{fields.warn_signal, fields.warns_before()};
  }
  if (!fields.notice.to.empty()) {
    if (fields.notice.on.empty()) fields.notice.on = {live::Occasion::End};
    job.command.notice = std::move(fields.notice);
  }
  job.spec.user = UserId(peer.user);
  job.command.owner = {peer.user, peer.group, peer.groups};
  set_points(fields);
  if (!job.command.snapshot.empty()) fields.program.directory = original_of(fields.environment);
  live::note_programs(job.command, fields.program);
  set_environment(job, std::move(fields.environment), defaults);
  live::Words arguments = live::in_parts(std::move(job.command.arguments));
  job.command.arguments = std::move(arguments.first);
  job.more_arguments = std::move(arguments.more);
  return std::move(job);
}

namespace {

/// Of an object.
Expected<Change> read_change(Json& json) {
  JobFields fields;
  Change change;
  for (auto& [key, value] : json.items()) {
    const JobField* const field = find_job_field(key);
    if (field == nullptr || !may_be_changed(*field)) {
      std::string valid;
      for (const JobField& one : kJobFields) {
        if (!may_be_changed(one)) continue;
        valid += (valid.empty() ? "" : ", ") + std::string(one.name);
      }
      return wrong(key, "cannot be changed; valid keys: " + valid +
                            (field == nullptr ? nearest_field(key, FieldSet::WhileItWaits) : ""));
    }
    if (auto done = read_field(fields, key, value); !done) return std::unexpected(done.error());
    change.fields.push_back(field);
  }
  if (!fields.job.share.empty()) {
    return wrong("share", "'" + fields.job.share.substr(0, 60) +
                              "' cannot be changed; now, patient and never can");
  }
  change.said = std::move(fields.job);
  if (fields.suspend)
    change.said.spec.suspending = *fields.suspend ? Suspending::Yes : Suspending::No;
  if (json.empty()) return fail(ErrorCode::InvalidArgument, "nothing is to be changed");
  return change;
}

/// Handles are texts; a number may stand without quotes.
Expected<void> read_handles(const Json& value, std::vector<Handle>& target) {
  if (!value.is_array() || value.empty()) {
    return wrong("jobs", "must be a list of handles as \"643_5\", is " + shown_json(value));
  }
  std::size_t count = 0;
  for (const Json& one : value) {
    if (!one.is_string() && !one.is_number_unsigned()) {
      return wrong("jobs", shown_json(one) + " is no handle, as 643, \"643_5\" or \"train-*\"");
    }
    auto handles = parse_handles(one.is_string() ? one.get_ref<const std::string&>() : one.dump());
    if (!handles) return wrong("jobs", handles.error().message);
    count += count_of(*handles);
    if (count > kMostHandles) {
      return wrong("jobs", "more than " + std::to_string(kMostHandles) +
                               " handles and ranges of tasks, the most of one request; name "
                               "ranges as \"7-12\", or a name");
    }
    std::ranges::move(*handles, std::back_inserter(target));
  }
  return {};
}

Expected<void> read_user_numbers(const Json& value, std::set<UserId>& target) {
  if (!value.is_array() || value.empty()) {
    return wrong("users", "must be a list of uids, is " + shown_json(value));
  }
  for (const Json& one : value) {
    const auto user = integer_in("users", one, 0, std::numeric_limits<std::uint32_t>::max());
    if (!user) return std::unexpected(user.error());
    target.insert(UserId(static_cast<std::uint32_t>(*user)));
  }
  return {};
}

}  // namespace

Expected<Change> parse_change(std::string_view body) {
  auto json = parse_object(body);
  return json ? read_change(*json) : std::unexpected(json.error());
}

Expected<AgainOf> parse_again(std::string_view body) {
  const auto json = body.empty() ? Expected<Json>(Json::object()) : parse_object(body);
  if (!json) return std::unexpected(json.error());
  bool failed = false;
  for (const auto& [key, value] : json->items()) {
    if (key != "failed") return wrong(key, "unknown key; valid keys: failed");
    if (auto done = read_value(key, value, failed); !done) return std::unexpected(done.error());
  }
  return failed ? AgainOf::EndedNotWell : AgainOf::Ended;
}

Expected<ManyJobs> parse_many(std::string_view body) {
  ManyJobs many;
  if (body.empty()) return many;
  auto json = parse_object(body);
  if (!json) return std::unexpected(json.error());
  for (auto& [key, value] : json->items()) {
    Expected<void> done;
    if (key == "jobs") {
      done = read_handles(value, many.handles);
    } else if (key == "users") {
      done = read_user_numbers(value, many.users);
    } else if (key == "change" && value.is_object()) {
      auto change = read_change(value);
      if (!change) return wrong("change", change.error().message);
      many.change = std::move(*change);
    } else {
      done = wrong(key, key == "change" ? "must be an object, is " + shown_json(value)
                                        : "unknown key; valid keys: jobs, users, change");
    }
    if (!done) return std::unexpected(done.error());
  }
  return many;
}

Expected<shim::Attach> parse_attach(std::string_view body) {
  auto json = parse_object(body);
  if (!json) return std::unexpected(json.error());
  std::optional<shim::Attach> attach;
  if (auto done = read_attach(*json, attach); !done) return std::unexpected(done.error());
  if (auto done = check_bytes("attach.socket", attach->socket.size(), limits::kMostPath); !done) {
    return std::unexpected(done.error());
  }
  return std::move(*attach);
}

namespace {

/// `"all"` (nothing), or a list of indices.
Expected<void> read_gpu_list(const Json& value, std::size_t gpus, DrainWish& wish) {
  if (value == "all") return {};
  if (!value.is_array() || value.empty()) {
    return wrong("gpus", "must be all or a list of indices, is " + shown_json(value));
  }
  wish.gpus.emplace();
  for (const Json& one : value) {
    const auto index = integer_in("gpus", one, 0, limits::kMostGpus);
    if (!index) return std::unexpected(index.error());
    if (*index >= static_cast<std::int64_t>(gpus)) {
      return wrong("gpus",
                   "GPU " + std::to_string(*index) + ": this machine has " + std::to_string(gpus));
    }
    wish.gpus->push_back(static_cast<std::uint32_t>(*index));
  }
  return {};
}

/// One key of a drain; reservations have these too.
Expected<void> read_drain(DrainWish& wish, const std::string& key, Json& value, std::size_t gpus) {
  if (key == "reason") return read_value(key, value, wish.reason);
  if (key == "until_at") return read_value(key, value, wish.until);
  if (key == "gpus") return read_gpu_list(value, gpus, wish);
  return wrong(key, "unknown key; valid keys: gpus, reason, until_at");
}

Expected<void> read_reserve(ReservationWish& wish, const std::string& key, Json& value,
                            std::size_t gpus) {
  if (key == "users") return read_value(key, value, wish.users);
  if (key == "from_at") return read_value(key, value, wish.from.emplace());
  if (key == "reason" || key == "until_at" || key == "gpus") {
    return read_drain(wish, key, value, gpus);
  }
  return wrong(key, "unknown key; valid keys: gpus, users, from_at, until_at, reason");
}

}  // namespace

Expected<ReservationWish> parse_reserve(std::string_view body, std::size_t gpus) {
  auto json = parse_object(body);
  if (!json) return std::unexpected(json.error());
  for (const char* const key : {"gpus", "users", "until_at"}) {
    if (!json->contains(key)) return wrong(key, "is missing");
  }
  ReservationWish wish;
  for (auto& [key, value] : json->items()) {
    if (auto done = read_reserve(wish, key, value, gpus); !done)
      return std::unexpected(done.error());
  }
  if (wish.users.empty()) return wrong("users", "names nobody");
  auto done = check_most("users", wish.users.size(), " names", limits::kMostUsers);
  if (done) done = check_bytes("reason", wish.reason.size(), limits::kMostName);
  return done ? Expected<ReservationWish>(std::move(wish)) : std::unexpected(done.error());
}

Expected<std::vector<ReservationId>> parse_unreserve(std::string_view body) {
  auto json = parse_object(body);
  if (!json) return std::unexpected(json.error());
  std::vector<ReservationId> list;
  for (auto& [key, value] : json->items()) {
    if (key != "reservations") return wrong(key, "unknown key; valid keys: reservations");
    if (!value.is_array()) return wrong(key, "must be a list of numbers, is " + shown_json(value));
    for (const Json& one : value) {
      const auto number = integer_in(key, one, 1, std::numeric_limits<std::int32_t>::max());
      if (!number) return std::unexpected(number.error());
      list.emplace_back(static_cast<std::uint32_t>(*number));
    }
  }
  if (list.empty()) return wrong("reservations", "names none");
  return list;
}

Expected<DrainWish> parse_drain(std::string_view body, std::size_t gpus) {
  auto json = parse_object(body);
  if (!json) return std::unexpected(json.error());
  DrainWish wish;
  for (auto& [key, value] : json->items()) {
    if (auto done = read_drain(wish, key, value, gpus); !done) return std::unexpected(done.error());
  }
  if (!json->contains("gpus")) return wrong("gpus", "is missing");
  const auto done = check_bytes("reason", wish.reason.size(), limits::kMostName);
  return done ? Expected<DrainWish>(std::move(wish)) : std::unexpected(done.error());
}

}  // namespace berth::daemon
