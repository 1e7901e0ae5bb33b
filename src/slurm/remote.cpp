#include "slurm/remote.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/text.hpp"
#include "daemon/requests/doctor.hpp"
#include "slurm/dependency.hpp"

namespace berth::slurm {

namespace {

constexpr std::int32_t kMostRequeues = 1'000'000;
constexpr Duration kCheck = seconds(1);
constexpr Duration kSoon = seconds(3);       ///< Most starts come sooner.
constexpr Duration kSettling = seconds(10);  ///< Of a node that is back.
constexpr int kMostLooks = 120;
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);

/// Whole shards: that is what Slurm counts in.
Bytes in_shards(Bytes bytes) { return Bytes(shards_of(bytes) * kShard); }

bool is_complete(const Expected<News>& news) {
  return news && std::ranges::all_of(news->nodes, &NodeRecord::has_reported);
}

nlohmann::json check(const char* name, const char* status, const std::string& detail) {
  return {{"name", name}, {"status", status}, {"detail", detail}};
}

/// `waits for afterok:7,singleton in Slurm`.
std::string dependency_text(const JobRecord& job) {
  constexpr std::string_view kUnmet = "(unfulfilled)";
  std::string text = job.dependency;
  for (auto at = text.find(kUnmet); at != text.npos; at = text.find(kUnmet)) {
    text.erase(at, kUnmet.size());
  }
  return "waits for " + text + " in Slurm";
}

std::string in_millis(Duration time) { return std::to_string((micros(time) + 500) / 1000) + " ms"; }

std::string to_variable(const std::string& name, const std::string& value) {
  return name + "=" + value;
}

}  // namespace

void SlurmRemote::say(const std::string& text) {
  std::fprintf(stderr, "berth-slurm: %s\n", text.c_str());
}

// ---- Opening ---------------------------------------------------------------------------------

Expected<std::unique_ptr<SlurmRemote>> SlurmRemote::open(const std::string& configuration,
                                                         SlurmOptions options, std::uint16_t slots,
                                                         const std::optional<Cluster>& before) {
  Client::open(configuration);
  Client client;
  auto first = Courier::first_look(client);
  // A controller that has just started learns of its nodes' GPUs as they report.
  for (int look = 0; look < kMostLooks && !is_complete(first); ++look) {
    if (look == 0) say("waits until Slurm's controller knows its nodes");
    std::this_thread::sleep_for(kBetweenLooks);
    first = Courier::first_look(client);
  }
  if (!first) return std::unexpected(first.error());
  auto cluster = cluster_of(first->nodes, slots, before);
  if (!cluster) return std::unexpected(cluster.error());
  std::unique_ptr<SlurmRemote> remote(new SlurmRemote(std::move(client), std::move(options),
                                                      std::move(*first), std::move(*cluster)));
  remote->version_ = Client::version().value_or("unknown");
  return remote;
}

SlurmRemote::SlurmRemote(Client client, SlurmOptions options, News first, Cluster cluster)
    : client_(std::move(client)),
      options_(std::move(options)),
      first_(std::move(first)),
      cluster_(std::move(cluster)) {
  for (const JobRecord& job : first_.jobs) jobs_.put(job);
}

Expected<daemon::Machine> SlurmRemote::machine(const daemon::Options&) {
  daemon::Machine machine;
  machine.cluster = cluster_;
  machine.devices.list = devices_of(cluster_);
  machine.no_driver = "the nodes have the drivers";
  machine.no_suspension = "Slurm keeps the GPU memory of a job that it suspends";
  return machine;
}

Expected<daemon::Site::Attached> SlurmRemote::attach(const Surroundings& around) {
  around_.emplace(around);
  // Recovery gives orders already; what it tells waits in the loop until that runs.
  courier_ = std::make_unique<Courier>(
      std::move(client_), first_,
      [this](std::function<void()> task) { around_->loop.post(std::move(task)); },
      [this](const News& news) { on_news(news); });
  return Attached{.executor = *this, .trespass = live::Trespass::IsForeign};
}

void SlurmRemote::begin(live::Conductor& conductor) {
  conductor_ = &conductor;
  // Jobs that Slurm forgot while berth was away.
  std::vector<JobId> missing;
  view().for_each_job([&](const Job& job) {
    if (record_of(job.id) == nullptr) missing.push_back(job.id);
  });
  for (const JobId id : missing) {
    around_->keeper.note(id, "Slurm no longer knows it");
    if (!holds_berth(view().find(id)->state)) conductor_->tell({CancelAsked{id}});
  }
  for (const JobRecord& job : first_.jobs) find_if_held_for_slurm(job);
  for (const NodeId node : cluster_.node_ids()) {
    const auto there = std::ranges::find(first_.nodes, cluster_.node(node).name, &NodeRecord::name);
    if (there == first_.nodes.end()) on_node(node, false);
  }
  on_news(first_);
  patience_ = std::make_unique<daemon::Loop::Alarm>(around_->loop, [this] { check_patience(); });
  patience_->set(kCheck);
  first_ = {};
}

nlohmann::json SlurmRemote::examine(const daemon::Daemon& daemon) const {
  nlohmann::json checks = nlohmann::json::array();
  const std::string trouble = courier_ ? courier_->trouble() : "";
  checks.push_back(
      trouble.empty() ? check("slurm", "ok",
                              "Slurm " + version_ + ", " + std::to_string(cluster_.nodes().size()) +
                                  " nodes with " + std::to_string(cluster_.gpus().size()) + " GPUs")
                      : check("slurm", "fail", "the controller does not answer: " + trouble));
  const Courier::Cost cost = courier_ ? courier_->cost() : Courier::Cost();
  checks.push_back(check("queue", "ok",
                         "a look at Slurm's " + std::to_string(cost.jobs) + " jobs takes " +
                             in_millis(cost.all) + ", of which " + in_millis(cost.own) +
                             " are berth's own"));
  checks.push_back(memory_check());
  if (!new_nodes_.empty()) {
    std::string names;
    for (const std::string& name : new_nodes_) names += (names.empty() ? "" : ", ") + name;
    checks.push_back(check("nodes", "warn",
                           "new in Slurm, and without berths until berth-slurm is restarted, which "
                           "no job notices: " +
                               names));
  }
  checks.push_back(daemon::policy_check(daemon));
  checks.push_back(daemon::disk_check(daemon));
  return checks;
}

// ---- What happens in Slurm -------------------------------------------------------------------

bool SlurmRemote::is_ours(const JobRecord& job) const {
  return std::ranges::find(options_.partitions, job.partition) != options_.partitions.end();
}

const JobRecord* SlurmRemote::record_of(JobId job) const { return jobs_.find(slurm_id(job)); }

/// Nothing where the comment is not berth's, or cannot be read.
std::optional<Note> SlurmRemote::note_of(const JobRecord& job) const {
  const auto note = parse_note(job.admin_comment);
  return note ? *note : std::nullopt;
}

void SlurmRemote::order(Order order, const std::string& what, std::function<void()> then) {
  courier_->send(std::move(order), [what, then = std::move(then)](const Expected<SlurmId>& done) {
    if (!done) return say(what + ": " + done.error().message);
    if (then) then();
  });
}

void SlurmRemote::on_news(const News& news) {
  std::set<GpuId> seen;  // by agents, with other figures than before
  for (const NodeRecord& node : news.nodes) {
    const auto id = node_named(cluster_, node.name);
    if (!id) {
      on_new_node(node);
      continue;
    }
    const auto [told, is_new] = takes_jobs_.try_emplace(*id, node.takes_jobs);
    if (is_new || std::exchange(told->second, node.takes_jobs) != node.takes_jobs) {
      on_node(*id, node.takes_jobs);
    }
    seen.merge(gauges_.on_text(*id, node.extra, around_->clock.now()));
  }
  for (const JobRecord& job : news.jobs) {
    jobs_.put(job);
    on_job(job);
    seen.merge(gauges_.gpus_of(job.id));
  }
  for (const SlurmId id : news.gone) {
    jobs_.remove(id);
    strangers_.erase(id);
    seen.merge(gauges_.gpus_of(id));
    const auto berth = berths_.find(job_of(id));
    if (berth != berths_.end()) {
      conductor_->on_lost(job_of(id), berth->second.attempt, "Slurm no longer knows it");
    } else if (view().knows(job_of(id))) {
      conductor_->tell({CancelAsked{job_of(id)}});
    }
  }
  tell_strangers(seen);
  for (const GpuId gpu : seen) look_at(gpu);
}

/// Which came after the start.
void SlurmRemote::on_new_node(const NodeRecord& node) {
  if (parse_shards(node.gres).per.empty() || !new_nodes_.insert(node.name).second) return;
  say("node " + node.name + " is new in Slurm: a restart of berth-slurm gives jobs places there");
}

/// Slurm goes on trying to end what ran on a node that failed, and when it is back ends a job that
/// was started there again just then. So such a node takes jobs a little later.
void SlurmRemote::on_node(NodeId node, bool takes_jobs) {
  if (!takes_jobs) {
    away_[node] = kNever;
  } else if (const auto away = away_.find(node); away != away_.end()) {
    if (away->second == kNever) away->second = around_->clock.now() + kSettling;
    return;
  }
  conductor_->on_node(node, takes_jobs);
}

/// Of a job that Slurm queued again: they failed as a rule, even if nobody saw them away.
void SlurmRemote::settle_nodes_of(JobId id) {
  const Job* const known = view().find(id);
  if (known == nullptr) return;
  for (const Share& share : known->grant.shares) {
    const auto [away, is_new] =
        away_.try_emplace(cluster_.node_of(share.gpu), around_->clock.now() + kSettling);
    if (is_new) conductor_->on_node(away->first, false);
  }
}

bool SlurmRemote::depends(const JobRecord& job) const {
  const std::int64_t now = micros(around_->clock.now() - kStart) / micros(seconds(1));
  return judge(job, jobs_, now) != Met::Yes;
}

/// Slurm itself does not want it to run yet.
bool SlurmRemote::is_slurms(const JobRecord& job) const {
  return job.is_held_by_user || depends(job);
}

/// No news comes of a job when what it waits for happens.
void SlurmRemote::let_go_what_is_met() {
  for (const JobId id : std::set<JobId>(held_for_slurm_)) {
    const JobRecord* const job = record_of(id);
    const Job* const known = view().find(id);
    const bool waits = job != nullptr && known != nullptr && !job->dependency.empty();
    if (waits && !is_slurms(*job)) on_waiting(*job, *known);
  }
}

/// One that an earlier berth-slurm held because Slurm does is let go with it, also if what it
/// waited for happened in between.
void SlurmRemote::find_if_held_for_slurm(const JobRecord& job) {
  const Job* const known = view().find(job_of(job.id));
  const bool is_held = known != nullptr && known->state == JobState::Held;
  const bool can_be_slurms = job.is_held_by_user || !job.dependency.empty();
  if (is_held && can_be_slurms && !note_of(job).value_or(Note()).is_held) {
    hold_for_slurm(job);
  }
}

/// Says why, too.
void SlurmRemote::hold_for_slurm(const JobRecord& job) {
  held_for_slurm_.insert(job_of(job.id));
  const std::string why =
      "it " + (depends(job) ? dependency_text(job) : std::string("is held in Slurm"));
  around_->keeper.note(job_of(job.id), std::string(live::kBecause) + why);
}

void SlurmRemote::on_job(const JobRecord& job) {
  const Job* const known = view().find(job_of(job.id));
  if (known != nullptr) follow_limit(job, *known);
  const auto berth = berths_.find(job_of(job.id));
  if (berth != berths_.end()) return on_berth(job, berth->second);
  count_strangers(job);
  if (!is_ours(job)) return;
  if (known != nullptr) return on_waiting(job, *known);
  on_stranger(job);
}

/// What jobs hold that berth did not start is not free.
void SlurmRemote::count_strangers(const JobRecord& job) {
  const bool holds = job.phase == Phase::Running || job.phase == Phase::Suspended;
  auto held = holds ? held_by(job, cluster_) : std::map<GpuId, Bytes>();
  if (held.empty()) {
    strangers_.erase(job.id);
  } else {
    strangers_[job.id] = std::move(held);
  }
}

/// As an administrator or its user has changed it by now.
void SlurmRemote::follow_limit(const JobRecord& job, const Job& known) {
  if (job.phase == Phase::Over || known.spec.time_limit == job.time_limit) return;
  Updated updated{.job = known.id, .spec = known.spec};
  updated.spec.time_limit = job.time_limit;
  conductor_->tell({updated});
}

/// A record of an attempt that Slurm was told to run.
void SlurmRemote::on_berth(const JobRecord& job, Berth& berth) {
  using Stage = Berth::Stage;
  switch (job.phase) {
    case Phase::Running:
    case Phase::Suspended:
      if (berth.stage == Stage::Sent || berth.stage == Stage::Released) {
        berth.stage = Stage::Runs;
        berth.since = around_->clock.now();
        conductor_->on_started(job_of(job.id), berth.attempt);
      }
      return look_for_shards(job, berth);
    case Phase::Over:
      if (!job.is_completing) on_over(job, berth);
      return;
    case Phase::Pending:
      if (!job.is_completing) on_back_in_queue(job, berth);
      return;
  }
}

/// Slurm says the second in which it ended.
Instant SlurmRemote::end_of(const JobRecord& job) const {
  const Instant now = around_->clock.now();
  if (job.ended <= 0) return now;
  const Instant second = kStart + seconds(job.ended);
  return std::clamp(now, std::min(second, now), second + seconds(1) - Duration(1));
}

void SlurmRemote::on_over(const JobRecord& job, const Berth& berth) {
  const JobId id = job_of(job.id);
  const Attempt attempt = berth.attempt;
  if (berth.stage == Berth::Stage::Sent || berth.stage == Berth::Stage::Released) {
    conductor_->on_started(id, attempt);
  }
  const std::string why = berth.why_back;
  berths_.erase(id);
  conductor_->on_ended(id, attempt,
                       {.outcome = job.outcome,
                        .code = job.exit_code,
                        .at = end_of(job),
                        .note = why.empty() ? job.why_over : why});
}

/// An attempt that Slurm was told to run and did not.
void SlurmRemote::take_back(const JobRecord& job, Berth& berth, const std::string& why) {
  berth.stage = Berth::Stage::TakenBack;
  order(Hold{job.id}, "job " + std::to_string(job.id) + " that does not start",
        [this, id = job_of(job.id), attempt = berth.attempt, why] {
          const JobRecord* const now = record_of(id);
          const auto found = berths_.find(id);
          if (found == berths_.end()) return;
          if (now != nullptr && now->phase != Phase::Pending) {
            found->second.stage = Berth::Stage::Released;
            return on_berth(*now, found->second);
          }
          berths_.erase(found);
          conductor_->on_failed(id, attempt, "Slurm did not start it: " + why);
        });
}

void SlurmRemote::check_patience() {
  const Instant now = around_->clock.now();
  std::vector<JobId> rested;
  std::optional<SlurmId> late;
  for (auto& [id, berth] : berths_) {
    send_back_bare(id, berth);
    if (berth.rests_since != kNever && has_rested(berth)) rested.push_back(id);
    const JobRecord* const job = record_of(id);
    if (berth.stage != Berth::Stage::Released || job == nullptr) continue;
    if (job->phase != Phase::Pending) continue;
    if (now - berth.since >= kSoon) late = job->id;
    if (now - berth.since < options_.patience) continue;
    take_back(*job, berth, job->reason.empty() ? "no reason was given" : job->reason);
  }
  if (late) order(Nudge{*late}, "job " + std::to_string(*late));
  for (const JobId id : rested) end_rest(id);
  let_go_what_is_met();
  std::erase_if(away_, [&](const auto& each) {
    if (each.second > now) return false;
    conductor_->on_node(each.first, true);
    return true;
  });
  patience_->set(kCheck);
}

/// A job that waits for berth.
void SlurmRemote::on_waiting(const JobRecord& job, const Job& known) {
  const JobId id = known.id;
  const std::string name = "job " + std::to_string(job.id);
  if (job.phase == Phase::Over) {
    around_->keeper.note(id, "it ended in Slurm before berth started it");
    return conductor_->tell({CancelAsked{id}});
  }
  if (holds_berth(known.state)) return;  // of a start whose order is not given yet
  if (job.phase != Phase::Pending) {
    if (!corrected_.insert({job.id, job.restarts}).second) return;
    say(name + " was started without berth; it is held again");
    return order(Requeue{job.id, ""}, name);
  }
  if (!job.is_held) return order(Hold{job.id}, name + " that was released");
  if (is_slurms(job)) {
    const bool is_held = known.state == JobState::Held;
    if (!is_held || held_for_slurm_.contains(id)) hold_for_slurm(job);
    if (!is_held) conductor_->tell({HoldAsked{id}});
  }
  if (!is_slurms(job) && held_for_slurm_.erase(id) > 0) {
    around_->keeper.note(id, "");
    conductor_->tell({ReleaseAsked{id}});
  }
  // What it was let run with before is all that it can be let run with again.
  const GpuTypes types = types_of(parse_shards(job.gres), cluster_);
  if (types != 0 && known.spec.request.gpu.types != types) {
    Updated updated{.job = id, .spec = known.spec};
    updated.spec.request.gpu.types = types;
    updated.spec.time_limit = job.time_limit;
    conductor_->tell({updated});
  }
}

/// A job of a partition of berth's that the engine does not know.
void SlurmRemote::on_stranger(const JobRecord& job) {
  if (job.phase != Phase::Pending) return;
  const auto row = around_->keeper.store().job(job_of(job.id));
  if (row && *row) {  // it has ended here: cancelled, or impossible
    return order(Cancel{job.id, ""}, "job " + std::to_string(job.id) + " that is over");
  }
  take_in(job);
}

void SlurmRemote::take_in(const JobRecord& job) {
  const auto note = note_of(job);
  const std::string own = std::to_string(job.id);
  if (!job.tasks.empty()) {
    const auto tasks = parse_tasks(job.tasks);
    if (!tasks) return say("array " + own + ": " + tasks.error().message);
    const std::string comment = to_text(note.value_or(Note()));
    for (const std::uint32_t task : *tasks) {
      const std::string id = std::to_string(job.array) + "_" + std::to_string(task);
      if (being_taken_.insert(id).second) order(Take{id, comment}, "job " + id);
    }
    return;
  }
  if (!being_taken_.insert(own).second) return;
  Note taken = note.value_or(Note());
  if (!job.is_held_by_user) taken.is_held = false;
  order(Take{own, to_text(taken)}, "job " + own, [this, id = job.id, taken] {
    being_taken_.erase(std::to_string(id));
    const JobRecord* const now = record_of(job_of(id));
    if (now == nullptr || now->phase != Phase::Pending || view().knows(job_of(id))) return;
    add(*now, taken);
  });
}

void SlurmRemote::add(const JobRecord& job, const Note& note) {
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
  spec.request.gpu.types = types_of(parse_shards(job.gres), cluster_);
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
  conductor_->ask({.submission = std::move(submission),
                   .inputs = {},
                   .answer = [this, submitted](JobId number) -> live::Send {
                     if (!submitted) return nullptr;
                     return [this, submitted, number] {
                       around_->loop.post([submitted, number] { submitted(number); });
                     };
                   },
                   .fail =
                       [id](live::Setback, const Error& error) {
                         say("job " + std::to_string(id.value()) + ": " + error.message);
                       }});
}

/// True if the job may be placed elsewhere than on the GPUs that Slurm keeps it to.
bool SlurmRemote::is_narrowed_by(const Shards& kept, const Job& job) const {
  const GpuTypes types = types_of(kept, cluster_);
  return types != 0 && job.spec.request.gpu.types != types;
}

// ---- What berth does -------------------------------------------------------------------------

/// In Slurm, where a later berth-slurm finds it: jobs with dependencies are let go when those are
/// met, and such a job is not.
void SlurmRemote::on_user_hold(JobId id, bool is_held) {
  held_for_slurm_.erase(id);
  around_->keeper.note(id, "");
  const JobRecord* const job = record_of(id);
  if (job == nullptr || job->phase != Phase::Pending || berths_.contains(id)) return;
  Note note = note_of(*job).value_or(Note());
  note.is_held = is_held;
  order(Take{std::to_string(job->id), to_text(note)}, "job " + std::to_string(job->id));
}

/// A job that is over here is over there.
void SlurmRemote::on_step(const live::StepTaken& step) {
  for (const Effect& effect : step.effects.list) {
    const auto* const finished = std::get_if<Finished>(&effect);
    if (finished == nullptr || courier_ == nullptr) continue;
    const JobRecord* const job = record_of(finished->job);
    if (job == nullptr || job->phase == Phase::Over) continue;
    std::string comment;
    if (finished->outcome == Outcome::Rejected) {
      comment = to_text(note_of(*job).value_or(Note())) + "; " + finished->note;
    }
    order(Cancel{job->id, comment}, "job " + std::to_string(job->id));
  }
}

bool SlurmRemote::submit(live::Submission& job, const Submitted& submitted) {
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
  Note note{.vram = in_shards(asked.gpu.vram),
            .gpus = asked.gpu.count.raw(),
            .duration_class = job.spec.duration_class,
            .is_held = job.held,
            .attempt = {},
            .place = ""};
  Submit order{
      .name = job.name.empty() ? job.command.arguments.front() : job.name,
      .partition = options_.partitions.front(),
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
  courier_->send(std::move(order),
                 [this, job = std::move(job), submitted](const Expected<SlurmId>& id) mutable {
                   if (!id) return submitted(std::unexpected(id.error()));
                   asked_[*id] = {std::move(job), submitted};
                   if (const JobRecord* const there = record_of(job_of(*id))) on_job(*there);
                 });
  return true;
}

std::string SlurmRemote::why_fixed(std::string_view field) const {
  if (field == "time_limit_seconds") {
    return "Slurm has it; change it there, by scontrol update jobid=JOB timelimit=MINUTES";
  }
  // Its environment and the limit of an MPS server come from what was asked at submission.
  if (field == "vram_bytes") {
    return "Slurm has given it to the job's environment; cancel the job and submit it again";
  }
  if (field == "gpus") {
    return "Slurm has given it to the job already; cancel the job and submit it again";
  }
  return "";
}

std::string SlurmRemote::why_not_released(JobId job) const {
  const JobRecord* const record = record_of(job);
  if (record == nullptr || !depends(*record)) return "";
  return dependency_text(*record) + ", and is released when that has happened";
}

std::optional<std::string> SlurmRemote::output_of(JobId job) const {
  const JobRecord* const record = record_of(job);
  return record == nullptr ? "" : record->output;
}

Expected<void> SlurmRemote::launch(const live::Assignment& assigned) {
  const JobId id = assigned.job.id;
  const JobRecord* const job = record_of(id);
  if (job == nullptr) return fail(ErrorCode::NotFound, "Slurm no longer knows it");
  const auto place = place_of(assigned.grant, cluster_);
  if (!place) return std::unexpected(place.error());
  const Shards before = parse_shards(job->gres);
  const Shards now = parse_shards(place->gres);
  if (!before.per.empty() && before != now) {
    const std::string why = "Slurm keeps it to " + job->gres + ", and this place is " + place->text;
    if (!is_narrowed_by(before, assigned.job)) return fail(ErrorCode::Conflict, why);
    around_->loop.post(
        [this, id, attempt = assigned.attempt, why] { queue_again(id, attempt, why); });
    return {};
  }
  Note note{.vram = assigned.job.spec.request.gpu.vram,
            .gpus = assigned.job.spec.request.gpu.count.raw(),
            .duration_class = assigned.job.spec.duration_class,
            .is_held = false,
            .attempt = assigned.attempt,
            .place = place->text.empty() ? place->nodes : place->text};
  berths_[id] = {.attempt = assigned.attempt,
                 .stage = Berth::Stage::Sent,
                 .restarts = job->restarts,
                 .since = around_->clock.now()};
  berths_[id].is_suspect = !job->nodes.empty();
  courier_->send(Dispatch{.id = slurm_id(id),
                          .nodes = place->nodes,
                          .node_count = place->node_count,
                          .gres = place->gres,
                          .admin_comment = to_text(note),
                          .ran_before = assigned.attempt > Attempt(1)},
                 [this, id, attempt = assigned.attempt](const Expected<SlurmId>& done) {
                   const auto berth = berths_.find(id);
                   if (berth == berths_.end() || berth->second.attempt != attempt) return;
                   if (!done) {
                     berths_.erase(berth);
                     return conductor_->on_failed(id, attempt, done.error().message);
                   }
                   if (berth->second.stage != Berth::Stage::Sent) return;
                   berth->second.stage = Berth::Stage::Released;
                   berth->second.since = around_->clock.now();
                 });
  return {};
}

live::Trace SlurmRemote::adopt(JobId id, Attempt attempt) {
  const JobRecord* const job = record_of(id);
  if (job == nullptr) return live::Trace::None;
  const auto note = note_of(*job);
  if (!note || note->attempt != attempt) return live::Trace::None;
  const Job* const known = view().find(id);
  const bool starts = known != nullptr && known->state == JobState::Starting;
  const bool began_unseen = starts && job->is_requeued_held;
  const bool runs = began_unseen || (known != nullptr && known->state == JobState::Running);
  const bool is_back = job->phase == Phase::Pending && job->is_held;
  if (is_back && !runs) return live::Trace::None;
  Berth berth{.attempt = attempt,
              .stage = Berth::Stage::Released,
              .restarts = job->restarts,
              .since = around_->clock.now()};
  if (began_unseen || (known != nullptr && !starts)) berth.stage = Berth::Stage::Runs;
  berths_[id] = berth;
  return job->phase == Phase::Over && !job->is_completing ? live::Trace::Over : live::Trace::Lives;
}

void SlurmRemote::stop(JobId id, Attempt attempt, live::Manner manner) {
  const auto berth = berths_.find(id);
  if (berth == berths_.end() || berth->second.attempt != attempt) return;
  const Job* const known = view().find(id);
  const std::string name = "job " + std::to_string(id.value());
  const bool runs_again =
      known != nullptr && !known->ending && known->after_stop == JobState::Queued;
  const JobRecord* const job = record_of(id);
  const bool has_overrun = manner == live::Manner::AtOnce && job != nullptr;
  const std::string comment =
      has_overrun ? to_text(note_of(*job).value_or(Note())) + "; " + around_->keeper.note_of(id)
                  : "";
  if (!runs_again) return order(Cancel{slurm_id(id), comment}, name);
  if (berth->second.rests_since != kNever) return;  // nothing of it runs
  berth->second.stage = Berth::Stage::Requeued;
  if (job == nullptr || job->phase != Phase::Pending) return order(Requeue{slurm_id(id), ""}, name);
  // Slurm does not queue again what it has not begun.
  order(Hold{slurm_id(id)}, name, [this, id, attempt, name] {
    const JobRecord* const now = record_of(id);
    const auto found = berths_.find(id);
    if (found == berths_.end() || found->second.attempt != attempt) return;
    if (now != nullptr && now->phase != Phase::Pending) return order(Requeue{now->id, ""}, name);
    if (found->second.rests_since == kNever) rest(id, found->second);
  });
}

void SlurmRemote::forget(JobId job, Attempt attempt) {
  const auto berth = berths_.find(job);
  if (berth != berths_.end() && berth->second.attempt == attempt) berths_.erase(berth);
}

}  // namespace berth::slurm
