#include "slurm/intake.hpp"

#include <algorithm>
#include <utility>

#include "slurm/dependency.hpp"

namespace berth::slurm {

namespace {

constexpr std::int32_t kMostRequeues = 1'000'000;

/// Whole shards: that is what Slurm counts in.
Bytes in_shards(Bytes bytes) { return Bytes(shards_of(bytes) * kShard); }

/// `waits for afterok:7,singleton in Slurm`.
std::string dependency_text(const JobRecord& job) {
  constexpr std::string_view kUnmet = "(unfulfilled)";
  std::string text = job.dependency;
  for (auto at = text.find(kUnmet); at != text.npos; at = text.find(kUnmet)) {
    text.erase(at, kUnmet.size());
  }
  return "waits for " + text + " in Slurm";
}

std::string to_variable(const std::string& name, const std::string& value) {
  return name + "=" + value;
}

}  // namespace

// ---- News of Slurm ---------------------------------------------------------------------------

void Intake::begin(const News& first) {
  for (const JobRecord& job : first.jobs) find_if_held_for_slurm(job);
  on_news(first);
}

void Intake::on_news(const News& news) {
  for (const NodeRecord& node : news.nodes) {
    const auto id = node_named(common_.cluster, node.name);
    if (!id) {
      on_new_node(node);
      continue;
    }
    const auto [told, is_new] = takes_jobs_.try_emplace(*id, node.takes_jobs);
    if (is_new || std::exchange(told->second, node.takes_jobs) != node.takes_jobs) {
      reconciliation_.on_node(*id, node.takes_jobs);
    }
    figures_.on_node(*id, node.extra);
  }
  for (const JobRecord& job : news.jobs) {
    common_.jobs.put(job);
    on_job(job);
    figures_.on_job(job.id);
  }
  for (const SlurmId id : news.gone) {
    common_.jobs.remove(id);
    figures_.on_gone(id);
    reconciliation_.on_gone(job_of(id));
  }
  figures_.tell();
}

/// Which came after the start.
void Intake::on_new_node(const NodeRecord& node) {
  if (parse_shards(node.gres).per.empty() || !new_nodes_.insert(node.name).second) return;
  say("node " + node.name + " is new in Slurm: a restart of berth-slurm gives jobs places there");
}

void Intake::on_job(const JobRecord& job) {
  const Job* const known = common_.view().find(job_of(job.id));
  if (known != nullptr) reconciliation_.follow_limit(job, *known);
  const auto berth = common_.berths.find(job_of(job.id));
  if (berth != common_.berths.end()) return reconciliation_.on_berth(job, berth->second);
  figures_.count_stranger(job);
  if (!is_ours(job)) return;
  if (known != nullptr) return on_waiting(job, *known);
  on_stranger(job);
}

bool Intake::is_ours(const JobRecord& job) const {
  return std::ranges::find(common_.options.partitions, job.partition) !=
         common_.options.partitions.end();
}

/// A job that waits for berth.
void Intake::on_waiting(const JobRecord& job, const Job& known) {
  const JobId id = known.id;
  const std::string name = "job " + std::to_string(job.id);
  if (job.phase == Phase::Over) {
    common_.note(id, "it ended in Slurm before berth started it");
    return common_.conductor->tell({CancelAsked{id}});
  }
  if (holds_berth(known.state)) return;  // of a start whose order is not given yet
  if (job.phase != Phase::Pending) {
    if (!corrected_.insert({job.id, job.restarts}).second) return;
    say(name + " was started without berth; it is held again");
    return common_.order(Requeue{job.id, ""}, name);
  }
  if (!job.is_held) return common_.order(Hold{job.id}, name + " that was released");
  if (is_slurms(job)) {
    const bool is_held = known.state == JobState::Held;
    if (!is_held || held_for_slurm_.contains(id)) hold_for_slurm(job);
    if (!is_held) common_.conductor->tell({HoldAsked{id}});
  }
  if (!is_slurms(job) && held_for_slurm_.erase(id) > 0) {
    common_.note(id, "");
    common_.conductor->tell({ReleaseAsked{id}});
  }
  follow_begin(job, known);
  // What it was let run with before is all that it can be let run with again.
  const GpuTypes types = types_of(parse_shards(job.gres), common_.cluster);
  if (types != 0 && known.spec.request.gpu.types != types) {
    Updated updated{.job = id, .spec = known.spec};
    updated.spec.request.gpu.types = types;
    updated.spec.time_limit = job.time_limit;
    common_.conductor->tell({updated});
  }
}

/// As an administrator or its user has changed it by now, in seconds. A job that ran before has one
/// that Slurm gave it.
void Intake::follow_begin(const JobRecord& job, const Job& known) {
  const Instant asked = kStart + seconds(job.begin);
  const Instant before = known.spec.conditions->begin;
  const Instant now = common_.now();
  const bool is_same =
      (asked <= now && before <= now) || (asked <= before && before < asked + seconds(1));
  if (is_same || known.attempt != Attempt(0)) return;
  Updated updated{.job = known.id, .spec = known.spec};
  updated.spec.conditions.edit().begin = asked;
  common_.conductor->tell({updated});
}

/// A job of a partition of berth's that the engine does not know.
void Intake::on_stranger(const JobRecord& job) {
  if (job.phase != Phase::Pending) return;
  const auto row = common_.around->keeper.store().job(job_of(job.id));
  if (row && *row) {  // it has ended here: cancelled, or impossible
    return common_.order(Cancel{job.id, ""}, "job " + std::to_string(job.id) + " that is over");
  }
  take_in(job);
}

void Intake::take_in(const JobRecord& job) {
  const auto note = note_of(job);
  const std::string own = std::to_string(job.id);
  if (!job.tasks.empty()) {
    const auto tasks = parse_tasks(job.tasks);
    if (!tasks) return say("array " + own + ": " + tasks.error().message);
    const std::string comment = to_text(note.value_or(SlurmNote()));
    for (const std::uint32_t task : *tasks) {
      const std::string id = std::to_string(job.array) + "_" + std::to_string(task);
      if (being_taken_.insert(id).second) common_.order(Take{id, comment}, "job " + id);
    }
    return;
  }
  if (!being_taken_.insert(own).second) return;
  SlurmNote taken = note.value_or(SlurmNote());
  if (!job.is_held_by_user) taken.is_held = false;
  common_.order(Take{own, to_text(taken)}, "job " + own, [this, id = job.id, taken] {
    being_taken_.erase(std::to_string(id));
    const JobRecord* const now = common_.record_of(job_of(id));
    if (now == nullptr || now->phase != Phase::Pending || common_.view().knows(job_of(id))) return;
    add(*now, taken);
  });
}

void Intake::add(const JobRecord& job, const SlurmNote& note) {
  const JobId id = job_of(job.id);
  live::Submission submission;
  Submitted submitted;
  if (auto asked = asked_.extract(job.id)) {
    submission = std::move(asked.mapped().submission);
    submitted = std::move(asked.mapped().submitted);
  } else {
    JobSpec& spec = submission.spec;
    spec.user = UserId(job.user);
    spec.duration_class = note.duration_class;
    spec.request.gpu.count = GpuCount(note.gpus);
    spec.request.gpu.vram = note.vram;
    spec.request.cpu = CpuMilli(std::int64_t{job.cpus} * 1000);
    spec.request.host = job.memory;
    spec.time_limit = job.time_limit;
    submission.name = job.name;
    if (job.array != 0) submission.name += "[" + std::to_string(job.task) + "]";
    submission.command.arguments = {job.command.empty() ? "sbatch" : job.command};
    submission.command.directory = job.directory;
    submission.command.owner = {job.user, job.group, {}};
    submission.environment = live::encode_environment({});  // Slurm has it
  }
  JobSpec& spec = submission.spec;
  spec.request.gpu.vram = in_shards(spec.request.gpu.vram);
  spec.request.gpu.types = types_of(parse_shards(job.gres), common_.cluster);
  Conditions& conditions = spec.conditions.edit();
  conditions.requeue_on = {kRequeuedBySlurm};
  conditions.requeues = kMostRequeues;
  if (job.begin > 0) conditions.begin = kStart + seconds(job.begin);
  if (job.at_once > 0) {
    conditions.array = {.first = job_of(job.array),
                        .task = job.task,
                        .tasks = 1,
                        .at_once = static_cast<std::int32_t>(job.at_once)};
  }
  submission.held = submission.held || note.is_held || depends(job);
  if (submission.held && !note.is_held) hold_for_slurm(job);
  submission.id = id;
  common_.conductor->ask({.submission = std::move(submission),
                          .inputs = {},
                          .answer = [this, submitted](JobId number) -> live::Send {
                            if (!submitted) return nullptr;
                            return [this, submitted, number] {
                              common_.around->loop.post([submitted, number] { submitted(number); });
                            };
                          },
                          .fail =
                              [id](live::Setback, const Error& error) {
                                say("job " + std::to_string(id.value()) + ": " + error.message);
                              }});
}

// ---- Jobs that Slurm holds -------------------------------------------------------------------

bool Intake::depends(const JobRecord& job) const {
  const std::int64_t now = micros(common_.now() - kStart) / micros(seconds(1));
  return judge(job, common_.jobs, now) != Met::Yes;
}

/// Slurm itself does not want it to run yet.
bool Intake::is_slurms(const JobRecord& job) const { return job.is_held_by_user || depends(job); }

void Intake::let_go_what_is_met() {
  for (const JobId id : std::set<JobId>(held_for_slurm_)) {
    const JobRecord* const job = common_.record_of(id);
    const Job* const known = common_.view().find(id);
    const bool waits = job != nullptr && known != nullptr && !job->dependency.empty();
    if (waits && !is_slurms(*job)) on_waiting(*job, *known);
  }
}

/// One that an earlier berth-slurm held because Slurm does is let go with it, also if what it
/// waited for happened in between.
void Intake::find_if_held_for_slurm(const JobRecord& job) {
  const Job* const known = common_.view().find(job_of(job.id));
  const bool is_held = known != nullptr && known->state == JobState::Held;
  const bool can_be_slurms = job.is_held_by_user || !job.dependency.empty();
  if (is_held && can_be_slurms && !note_of(job).value_or(SlurmNote()).is_held) {
    hold_for_slurm(job);
  }
}

/// Says why, too.
void Intake::hold_for_slurm(const JobRecord& job) {
  held_for_slurm_.insert(job_of(job.id));
  const std::string why =
      "it " + (depends(job) ? dependency_text(job) : std::string("is held in Slurm"));
  common_.note(job_of(job.id), std::string(live::kBecause) + why);
}

// ---- What users ask for ----------------------------------------------------------------------

bool Intake::submit(live::Submission& job, const Submitted& submitted) {
  const auto refuse_for = [&](const Error& error) {
    submitted(std::unexpected(error));
    return true;
  };
  const auto refuse = [&](const std::string& why) {
    return refuse_for({.code = ErrorCode::InvalidArgument, .message = why});
  };
  if (job.command.attach) return refuse("attach: a job on Slurm cannot be attended; use submit");
  if (!job.tasks.empty()) return refuse("array: submit arrays with sbatch --array");
  auto environment = live::decode_environment(job.environment);
  if (!environment) return refuse_for(environment.error());
  std::vector<std::string> arguments = job.command.arguments;
  for (const auto& [parts, words] : {std::pair(&job.more_arguments, &arguments),
                                     std::pair(&job.more_environment, &*environment)}) {
    for (const std::string& part : *parts) {
      if (auto done = live::append_words(*words, part); !done) return refuse_for(done.error());
    }
  }
  const Request& asked = job.spec.request;
  SlurmNote note{.vram = in_shards(asked.gpu.vram),
                 .gpus = asked.gpu.count.raw(),
                 .duration_class = job.spec.duration_class,
                 .is_held = job.held,
                 .attempt = {},
                 .place = ""};
  Submit order{
      .name = job.name.empty() ? job.command.arguments.front() : job.name,
      .partition = common_.options.partitions.front(),
      .script = script_for(arguments),
      .environment = std::move(*environment),
      .directory = job.command.directory,
      .output = job.command.output,
      .admin_comment = to_text(note),
      .user = job.command.owner.user,
      .group = job.command.owner.group,
      .cpus = static_cast<std::uint32_t>(std::max<std::int64_t>(1, (asked.cpu.raw() + 999) / 1000)),
      .memory = asked.host,
      .time_limit = job.spec.time_limit};
  order.environment.push_back(
      to_variable("BERTH_VRAM_BYTES", std::to_string(in_shards(asked.gpu.vram).raw())));
  common_.courier->send(std::move(order), [this, job = std::move(job),
                                           submitted](const Expected<SlurmId>& id) mutable {
    if (!id) return submitted(std::unexpected(id.error()));
    asked_[*id] = {std::move(job), submitted};
    if (const JobRecord* const there = common_.record_of(job_of(*id))) on_job(*there);
  });
  return true;
}

/// In Slurm, where a later berth-slurm finds it: jobs with dependencies are let go when those are
/// met, and such a job is not.
void Intake::on_user_hold(JobId id, bool is_held) {
  held_for_slurm_.erase(id);
  common_.note(id, "");
  const JobRecord* const job = common_.record_of(id);
  if (job == nullptr || job->phase != Phase::Pending || common_.berths.contains(id)) return;
  SlurmNote note = note_of(*job).value_or(SlurmNote());
  note.is_held = is_held;
  common_.order(Take{std::to_string(job->id), to_text(note)}, "job " + std::to_string(job->id));
}

std::string Intake::why_not_released(JobId job) const {
  const JobRecord* const record = common_.record_of(job);
  if (record == nullptr || !depends(*record)) return "";
  return dependency_text(*record) + ", and is released when that has happened";
}

}  // namespace berth::slurm
