#include "daemon/requests/admit.hpp"

#include <algorithm>
#include <array>

#include "core/base/limits.hpp"
#include "core/text/points.hpp"
#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "daemon/daemon.hpp"
#include "daemon/notices/announcer.hpp"
#include "engine/possible.hpp"

namespace berth::daemon {

namespace {

using FieldsCheck = Expected<void> (*)(const JobFields&);
using MachineCheck = Expected<void> (*)(const live::Submission&, const Daemon&);

// ---- What a submission says ------------------------------------------------------------------

Expected<void> check_warning(const JobFields& fields) {
  if (fields.warn_signal == 0) {
    return fields.warn_before ? Expected<void>(wrong("warning_signal", "is missing"))
                              : Expected<void>();
  }
  const Duration limit = fields.job.spec.time_limit;
  const Duration before = fields.warns_before();
  if (limit == kForever) {
    return wrong("warning_signal", "comes before a time limit, and there is none");
  }
  if (before < limit) return {};
  return wrong("warning_seconds", std::to_string(micros(before) / 1'000'000) +
                                      ", the time limit is " +
                                      std::to_string(micros(limit) / 1'000'000));
}

Expected<void> check_notice(const JobFields& fields) {
  const std::string& to = fields.notice.to;
  if (to.empty() && !fields.notice.on.empty()) return wrong("notify", "is missing");
  if (to.empty() || !is_broken_mail_address(to)) return {};
  return wrong("notify", "'" + to.substr(0, 60) + "' is no whole mail address");
}

Expected<void> check_command(const JobFields& fields) {
  const live::Command& command = fields.job.command;
  if (!fields.says_environment) return wrong("environment", "is missing");
  if (command.arguments.empty() || command.arguments.front().empty()) {
    return wrong("command", "is empty, must name a program");
  }
  if (command.directory.starts_with('/')) return {};
  return wrong("directory", "'" + command.directory + "', must be an absolute path");
}

Expected<void> check_variables(const JobFields& fields) {
  const std::vector<std::string>& environment = fields.environment;
  auto done = check_most("environment", environment.size(), " variables", limits::kMostVariables);
  if (!done) return done;
  for (std::size_t i = 0; i < environment.size(); ++i) {
    const std::size_t equals = environment[i].find('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong("environment[" + std::to_string(i) + "]",
                   "'" + environment[i].substr(0, 60) + "', must be NAME=value");
    }
  }
  return {};
}

/// No program can be started with a longer one.
Expected<void> check_lengths(const std::string& key, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() <= limits::kMostWord) continue;
    return wrong(key + "[" + std::to_string(i) + "]",
                 "'" + words[i].substr(0, 40) + "...', " + std::to_string(words[i].size()) +
                     " bytes, the most is " + std::to_string(limits::kMostWord));
  }
  return {};
}

Expected<void> check_words(const JobFields& fields) {
  const std::vector<std::string>& arguments = fields.job.command.arguments;
  if (auto done = check_lengths("command", arguments); !done) return done;
  if (auto done = check_lengths("environment", fields.environment); !done) return done;
  std::size_t size = 0;
  for (const auto* words : {&arguments, &fields.environment}) {
    for (const std::string& word : *words) size += word.size() + 1 + sizeof(char*);
  }
  return check_bytes("command and environment", size, limits::kMostWords);
}

/// One value for each parameter, and a point for each task.
Expected<void> check_points(const JobFields& fields) {
  const auto& [names, points] = std::tie(fields.parameters, fields.points);
  if (names.empty() && points.empty()) return {};
  if (names.empty()) return wrong("parameters", "is missing: points have values of these");
  if (points.empty()) return wrong("points", "is missing: values of the parameters");
  if (fields.job.tasks.size() != points.size()) {
    return wrong("points", std::to_string(points.size()) + ", array has " +
                               std::to_string(fields.job.tasks.size()) + " numbers");
  }
  std::size_t names_size = 0;
  for (const std::string& name : names) names_size += name.size() + 2;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string key = "points[" + std::to_string(i) + "]";
    if (points[i].size() != names.size()) {
      return wrong(key, std::to_string(points[i].size()) + " values, parameters are " +
                            std::to_string(names.size()));
    }
    std::size_t size = names_size;
    for (const std::string& value : points[i]) size += shell_quoted(value).size();
    if (auto done = check_bytes(key, size, limits::kMostPoint); !done) return done;
  }
  return {};
}

/// What stands in the command's braces is a parameter, and no task's command is too long.
Expected<void> check_placeholders(const JobFields& fields) {
  if (fields.parameters.empty()) return {};
  const std::vector<std::string>& words = fields.job.command.arguments;
  if (const std::string fault = fault_of_placeholders(words, fields.parameters); !fault.empty()) {
    return wrong("command", fault);
  }
  std::size_t count = 0;
  std::size_t size = 0;
  for (const std::string& word : words) {
    size += word.size();
    count += placeholders(word).size();
  }
  std::size_t longest = 0;
  std::size_t all = 0;
  for (const std::vector<std::string>& values : fields.points) {
    for (const std::string& value : values) {
      longest = std::max(longest, value.size());
      all += value.size() + limits::kMostLabel;
    }
  }
  const auto done = check_bytes("points", all, limits::kMostWords);
  return done ? check_bytes("command with its values", size + count * longest, limits::kMostWords)
              : done;
}

Expected<void> check_without_gpus(const JobFields& fields) {
  const GpuRequest& gpu = fields.job.spec.request.gpu;
  if (gpu.count != GpuCount(0)) return {};
  if (gpu.vram != Bytes(0)) {
    return wrong("vram_bytes", std::to_string(gpu.vram.raw()) + " with 0 GPUs, must be absent");
  }
  if (gpu.min + gpu.max == GpuCount(0)) return {};
  return wrong("min_gpus and max_gpus", "a job with 0 GPUs has neither");
}

Expected<void> check_unique(const JobFields& fields) {
  if (fields.job.tasks.empty() || fields.job.spec.conditions->unique.empty()) return {};
  return wrong("unique", "with array, whose jobs would all have the same key");
}

Expected<void> check_attended(const JobFields& fields) {
  if (!fields.job.command.attach) return {};
  if (!fields.points.empty()) return wrong("points", "with attach, which is of one job");
  if (!fields.job.tasks.empty()) return wrong("array", "with attach, which is of one job");
  if (!fields.job.spec.conditions->unique.empty()) {
    return wrong("unique", "with attach: there would be nothing to attend");
  }
  if (fields.job.command.output.empty()) return {};
  return wrong("output", "with attach: the terminal that attends the job has its output");
}

Expected<void> check_indices(const JobFields& fields) {
  const GpuRequest& gpu = fields.job.spec.request.gpu;
  const auto indices = std::ssize(fields.job.gpu_indices);
  if (indices == 0 || (gpu.count > GpuCount(0) && gpu.most() <= GpuCount(indices))) return {};
  return wrong("gpu_indices", std::to_string(indices) + " for a job of " +
                                  std::to_string(gpu.most().raw()) +
                                  " GPUs; it needs 1 at least, and as many indices");
}

Expected<void> check_clients(const JobFields& fields) {
  const bool has_gpus = fields.job.spec.request.gpu.most() > GpuCount(0);
  if (fields.job.share != "mps" || has_gpus) return {};
  return wrong("share", "'mps' with 0 GPUs, needs 1 at least");
}

Expected<void> check_sharing(const JobFields& fields) {
  if (!fields.sharing || !fields.exclusive) return {};
  const bool is_alone = *fields.sharing == Sharing::Alone;
  if (is_alone == *fields.exclusive) return {};
  return wrong("share", "'" + std::string(word_for(*fields.sharing)) +
                            "' with exclusive, which is " +
                            (is_alone ? "false; never is true" : "true; that is never"));
}

constexpr auto kOfFields = std::to_array<FieldsCheck>(
    {check_warning, check_notice, check_command, check_variables, check_words, check_points,
     check_placeholders, check_without_gpus, check_unique, check_attended, check_indices,
     check_clients, check_sharing});

// ---- The GPUs of this machine ----------------------------------------------------------------

std::string types_text(const Cluster& cluster) {
  std::string all;
  for (const std::string& type : cluster.type_names()) all += (all.empty() ? "" : ", ") + type;
  return all.empty() ? "none" : all;
}

/// The types that accept this way to share. A type is MIG instances or whole GPUs, never both.
GpuTypes types_for(std::string_view share, const Cluster& cluster) {
  const auto names = cluster.type_names();
  GpuTypes types = 0;
  for (const GpuId id : cluster.gpu_ids()) {
    const bool is_instance = cluster.gpu(id).share_mode == ShareMode::Mig;
    const std::string& name = names[cluster.gpu(id).type];
    const bool fits = share == "timeslice" || share == "mps"
                          ? !is_instance
                          : is_instance && name.ends_with(" MIG " + std::string(share.substr(4)));
    if (fits) types |= cluster.type_bit(id);
  }
  return types;
}

Expected<void> keep_to_share(live::Submission& job, const Cluster& cluster) {
  if (job.share.empty()) return {};
  GpuTypes& types = job.spec.request.gpu.types;
  const GpuTypes fitting = types_for(job.share, cluster);
  const GpuTypes left = types == 0 ? fitting : types & fitting;
  if (left == 0) {
    return wrong("share", "'" + job.share.substr(0, 60) +
                              "': no GPU that the job accepts is like that; the types here: " +
                              types_text(cluster));
  }
  types = left;
  return {};
}

/// Programs use one MIG instance at most, so a job of several GPUs keeps off them.
Expected<void> keep_to_one_instance(GpuRequest& gpu, const Cluster& cluster) {
  GpuTypes whole = 0;
  bool has_instances = false;
  for (const GpuId id : cluster.gpu_ids()) {
    const bool is_instance = cluster.gpu(id).share_mode == ShareMode::Mig;
    has_instances = has_instances || is_instance;
    if (!is_instance) whole |= cluster.type_bit(id);
  }
  if (!has_instances || gpu.most() <= GpuCount(1)) return {};
  const GpuTypes left = gpu.types == 0 ? whole : gpu.types & whole;
  if (left == 0) {
    return wrong("gpus", std::to_string(gpu.most().raw()) +
                             ", and a program can use one MIG instance, the GPUs it may have "
                             "here; the most is 1");
  }
  gpu.types = left;
  return {};
}

Expected<void> keep_to_indices(live::Submission& job, const Cluster& cluster) {
  const std::int64_t gpus = cluster.gpu_count().raw();
  for (const std::int64_t index : job.gpu_indices) {
    const std::string name = "GPU " + std::to_string(index) + ": ";
    if (index >= gpus) {
      return wrong("gpu_indices",
                   name + (gpus == 0 ? "this machine has none"
                                     : "this machine has " + std::to_string(gpus) +
                                           ", the last is GPU " + std::to_string(gpus - 1)));
    }
    if (index >= std::int64_t{kMostInSet}) {
      return wrong("gpu_indices",
                   name + "the last that a job may name is GPU " + std::to_string(kMostInSet - 1));
    }
    const GpuId gpu(static_cast<std::uint32_t>(index));
    const GpuTypes types = job.spec.request.gpu.types;
    if (types != 0 && (types & cluster.type_bit(gpu)) == 0) {
      return wrong("gpu_indices", name + "has type " + cluster.type_names()[cluster.gpu(gpu).type] +
                                      ", which is none of those that the job may have");
    }
    job.spec.request.gpu.only |= set_of(gpu);
  }
  return {};
}

}  // namespace

Expected<void> check_fields(const JobFields& fields) {
  for (const FieldsCheck check : kOfFields) {
    if (auto done = check(fields); !done) return done;
  }
  return {};
}

Expected<void> accept_gpus(live::Submission& job, const Cluster& cluster) {
  const auto known = cluster.type_names();
  for (const std::string& name : job.gpu_types) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      return wrong("gpu_types",
                   "'" + name.substr(0, 60) +
                       "' is not a GPU type of this machine; its types: " + types_text(cluster));
    }
    job.spec.request.gpu.types |= GpuTypes{1} << (found - known.begin());
  }
  if (auto done = keep_to_share(job, cluster); !done) return done;
  if (auto done = keep_to_one_instance(job.spec.request.gpu, cluster); !done) return done;
  return keep_to_indices(job, cluster);
}

Expected<void> keep_to_time(Duration& limit, Duration longest) {
  if (limit == kForever) limit = longest;
  if (limit <= longest) return {};
  return wrong("time_limit_seconds", duration_text(limit) + ", the administrator allows " +
                                         duration_text(longest) + " (longest_time)");
}

namespace {

// ---- Whether this machine can ever meet it ---------------------------------------------------

/// Such a text, without the number that the job does not have yet.
Expected<void> unless(const std::optional<std::string>& why) {
  if (!why) return {};
  return fail(ErrorCode::InvalidArgument, why->substr(why->find(": ") + 2));
}

Expected<void> check_possible(const live::Submission& job, const Daemon& daemon) {
  const Cluster& cluster = daemon.keeper().engine().view().cluster();
  return unless(why_impossible(JobId(0), job.spec.request, cluster));
}

Expected<void> check_keepable(const live::Submission& job, const Daemon&) {
  return unless(why_unkeepable(JobId(0), job.spec));
}

Expected<void> check_given(const live::Submission& job, const Daemon& daemon) {
  return unless(daemon.why_not_given(job.spec.request.gpu));
}

/// A user may never have as many GPUs as the job needs.
Expected<void> check_user(const JobSpec& spec, const Daemon& daemon) {
  const GpuCount most = daemon.keeper().engine().view().settings().limits_of(spec.user).gpus;
  const GpuCount least = spec.request.gpu.least();
  if (most == GpuCount(0) || least <= most) return {};
  return wrong(spec.request.gpu.is_elastic() ? "min_gpus" : "gpus",
               std::to_string(least.raw()) + ", and you may hold " + std::to_string(most.raw()) +
                   " at a time (user_gpus, or gpus of users or groups, in berth.toml): it would "
                   "never start");
}

Expected<void> check_submitter(const live::Submission& job, const Daemon& daemon) {
  return check_user(job.spec, daemon);
}

/// Each job of an array has its own list of those it waits for.
Expected<void> check_dependencies(const live::Submission& job, const Daemon&) {
  const std::size_t each = live::waits_of_each(job);
  const std::size_t all = each * std::max<std::size_t>(1, job.tasks.size());
  if (job.tasks.empty() || all <= limits::kMostDependenciesOfArray) return {};
  return wrong("after", std::to_string(each) + " jobs for each of " +
                            std::to_string(job.tasks.size()) + " of the array, " +
                            std::to_string(all) + " in all, the most is " +
                            std::to_string(limits::kMostDependenciesOfArray) +
                            "; submit a job with 0 GPUs that waits for them, and the array after "
                            "that");
}

constexpr auto kOfMachine = std::to_array<MachineCheck>(
    {check_possible, check_keepable, check_given, check_submitter, check_dependencies});

// ---- An update -------------------------------------------------------------------------------

/// What is asked, and the job as it would be.
struct Updating {
  const UpdateAsked& asked;
  const Daemon& daemon;
  Updated updated;

  std::unexpected<Error> conflict(const std::string& what) const {
    return fail(ErrorCode::Conflict, asked.name + ": " + what);
  }
  Expected<void> named(const Expected<void>& done) const {
    if (done) return {};
    return fail(done.error().code, asked.name + ": " + done.error().message);
  }
};
using UpdateCheck = Expected<void> (*)(Updating&);

Expected<void> check_waits(Updating& update) {
  const Job& job = update.asked.job;
  const bool waits = job.state == JobState::Queued || job.state == JobState::Deferred ||
                     job.state == JobState::Held;
  const bool at_any_time = std::ranges::all_of(update.asked.change.fields, [](const auto* field) {
    return field->set == FieldSet::UntilItEnds;
  });
  if (at_any_time || (waits && !has_idle_process(job))) return {};
  return update.conflict("is " + std::string(word_for(shown_state(job))) +
                         ", only a job that waits to start can be changed");
}

Expected<void> check_may_be_suspended(Updating& update) {
  const bool is_asked = update.asked.change.has("suspend");
  if (!is_asked || !is_adopted(update.asked.job.spec)) return {};
  return update.conflict("was started by hand and adopted, and is never suspended");
}

Expected<void> check_has_gpus(Updating& update) {
  const bool has_gpus = update.asked.job.spec.request.gpu.count != GpuCount(0);
  for (const char* const of_gpus : {"vram_bytes", "share"}) {
    if (!update.asked.change.has(of_gpus) || has_gpus) continue;
    return update.named(wrong(of_gpus, "it asks for no GPU"));
  }
  return {};
}

Expected<void> check_has_turns(Updating& update) {
  const bool is_task = update.asked.job.spec.conditions->array.tasks > 0;
  if (!update.asked.change.has("array_at_once") || is_task) return {};
  return update.named(wrong("array_at_once", "it is no job of an array"));
}

/// On a cluster some of it is what its resource manager was told.
Expected<void> check_not_fixed(Updating& update) {
  const Change& change = update.asked.change;
  const Site& site = update.daemon.site();
  for (const JobField* const field : change.fields) {
    const std::string why = site.why_fixed(field->name);
    if (!why.empty()) return update.conflict(std::string(field->name) + ": " + why);
  }
  const std::string why = change.moves() ? site.why_fixed("gpus") : "";
  if (!why.empty()) return update.conflict("gpus: " + why);
  return {};
}

Expected<void> change_count(GpuRequest& gpu, GpuCount count) {
  if (gpu.count == GpuCount(0) || count == GpuCount(0)) {
    return wrong("gpus", "a job with GPUs and one without cannot be made of each other");
  }
  if (gpu.is_elastic() && (count < gpu.min || count > gpu.max)) {
    return wrong("gpus", std::to_string(count.raw()) + ", the job runs on " +
                             std::to_string(gpu.min.raw()) + " to " +
                             std::to_string(gpu.max.raw()));
  }
  gpu.count = count;
  return {};
}

/// The job's request with the GPUs that are asked for instead.
Expected<void> change_gpus(Updating& update) {
  const Change& change = update.asked.change;
  if (!change.moves()) return {};
  live::Submission job;
  GpuRequest& gpu = job.spec.request.gpu = update.asked.job.spec.request.gpu;
  if (change.has("gpus")) {
    auto done = change_count(gpu, change.said.spec.request.gpu.count);
    if (!done) return update.named(done);
  }
  job.gpu_types = change.said.gpu_types;
  job.gpu_indices = change.said.gpu_indices;
  if (!job.gpu_types.empty()) gpu.types = 0;
  if (!job.gpu_indices.empty()) gpu.only = 0;
  const auto done = accept_gpus(job, update.daemon.keeper().engine().view().cluster());
  update.updated.spec.request.gpu = gpu;
  return update.named(done);
}

Expected<void> change_rest(Updating& update) {
  const Job& job = update.asked.job;
  const Change& change = update.asked.change;
  Updated& updated = update.updated;
  const ArrayPlace& array = job.spec.conditions->array;
  if (change.has("name")) updated.name = change.said.name;
  if (updated.name && array.tasks > 0) {
    const auto row = update.daemon.keeper().store().job(job.id);
    const Point point = row && *row ? point_of((*row)->name, array) : Point();
    updated.name = task_name(*updated.name, array.task, point_text(point));
  }
  Sharing& sharing = updated.spec.request.gpu.sharing;
  if (change.has("vram_bytes") && sharing == Sharing::Alone) sharing = Sharing::Shared;
  if (change.has("share")) sharing = change.said.spec.request.gpu.sharing;
  if (change.has("suspend")) updated.spec.suspending = change.said.spec.suspending;
  for (const JobField* const field : change.fields) {
    const FieldMember& member = field->member;
    if (member.set_number != nullptr) {
      member.set_number(updated.spec, member.number(change.said.spec));
    }
    if (member.set_text != nullptr) member.set_text(updated.spec, member.text(change.said.spec));
  }
  return {};
}

Expected<void> check_time_left(Updating& update) {
  const Instant now = update.daemon.keeper().engine().view().now();
  Duration& limit = update.updated.spec.time_limit;
  const Job& job = update.asked.job;
  const bool has_started = holds_berth(job.state) || has_idle_process(job);
  if (has_started && limit > job.spec.time_limit && update.asked.rights < Rights::Operator) {
    return update.conflict(
        "is " + std::string(word_for(shown_state(job))) +
        ", and others wait by its time limit: only an operator makes that longer (`operators` in "
        "berth.toml)");
  }
  if (update.asked.change.has("time_limit_seconds")) {
    const auto done = keep_to_time(limit, update.daemon.longest_time());
    if (!done) return update.named(done);
  }
  if (limit > run_of(update.asked.job, now)) return {};
  return update.named(wrong("time_limit_seconds", "it has run that long already"));
}

Expected<void> check_still_possible(Updating& update) {
  const Cluster& cluster = update.daemon.keeper().engine().view().cluster();
  const auto why = why_impossible(update.asked.job.id, update.updated.spec.request, cluster);
  return why ? fail(ErrorCode::InvalidArgument, *why) : Expected<void>();
}

Expected<void> check_still_of_user(Updating& update) {
  return update.named(check_user(update.updated.spec, update.daemon));
}

constexpr auto kOfUpdate = std::to_array<UpdateCheck>(
    {check_waits, check_may_be_suspended, check_has_gpus, check_has_turns, check_not_fixed,
     change_gpus, change_rest, check_time_left, check_still_possible, check_still_of_user});

}  // namespace

Expected<void> check_share(const live::Submission& job, const Daemon& daemon) {
  const std::string why = daemon.site().why_no_mps();
  if (job.share != "mps" || why.empty()) return {};
  return wrong("share", "'mps': " + why);
}

Expected<void> check_machine(const live::Submission& job, const Daemon& daemon) {
  for (const MachineCheck check : kOfMachine) {
    if (auto done = check(job, daemon); !done) return done;
  }
  return {};
}

Expected<Updated> admit_update(const UpdateAsked& asked, const Daemon& daemon) {
  Updating update{
      .asked = asked, .daemon = daemon, .updated = {.job = asked.job.id, .spec = asked.job.spec}};
  for (const UpdateCheck check : kOfUpdate) {
    if (auto done = check(update); !done) return std::unexpected(done.error());
  }
  return std::move(update.updated);
}

}  // namespace berth::daemon
