// Runs that come back: jobs that Slurm queued again, and runs without their shards, which berth
// sends back.
#include <algorithm>

#include "slurm/remote.hpp"

namespace berth::slurm {

namespace {

constexpr Duration kDoubt = seconds(4);  ///< Whether a job has its shards.
constexpr int kMostBareRuns = 3;         ///< Of a job, before it is held.

/// By this berth-slurm or one before it, which wrote down why.
bool is_sent_back(const JobRecord& job) { return job.admin_comment.contains(';'); }

}  // namespace

/// It is pending again, or still.
void SlurmRemote::on_back_in_queue(const JobRecord& job, Berth& berth) {
  using Stage = Berth::Stage;
  const JobId id = job_of(job.id);
  const std::string name = "job " + std::to_string(job.id);
  if (berth.rests_since != kNever) {
    if (!job.is_held) order(Hold{job.id}, name + " that Slurm queued again once more");
    return;
  }
  const bool ran = berth.stage == Stage::Runs || job.restarts > berth.restarts;
  if (berth.stage == Stage::TakenBack || berth.stage == Stage::Sent) return;  // an answer follows
  if (berth.stage == Stage::Requeued || berth.stage == Stage::SentBack) {
    if (job.is_held) rest(id, berth);
    return;
  }
  if (ran) {
    if (berth.stage != Stage::Runs) berth.since = around_->clock.now();
    berth.stage = Stage::TakenBack;
    settle_nodes_of(id);
    if (job.is_requeued_held) {
      berth.is_to_wait = !is_sent_back(job);
      return rest(id, berth);
    }
    order(Hold{job.id}, name + " that Slurm queued again", [this, id, attempt = berth.attempt] {
      const auto found = berths_.find(id);
      if (found != berths_.end() && found->second.attempt == attempt) rest(id, found->second);
    });
    return;
  }
  if (job.is_held) take_back(job, berth, "it was held in Slurm before it began");
}

/// A run is over and the job is held, to run again once Slurm has finished with that run.
void SlurmRemote::rest(JobId id, Berth& berth) {
  berth.rests_since = around_->clock.now();
  if (has_rested(berth)) return end_rest(id);
  around_->keeper.note(
      id, "it was queued again soon after its start, which Slurm may still try on its node");
}

/// Slurm 22.05 goes on trying to reach a node for a start that it has queued again already, and
/// when it gives up ends the job wherever it runs by then.
bool SlurmRemote::has_rested(const Berth& berth) const {
  if (berth.stage != Berth::Stage::TakenBack) return true;  // it was reached
  return around_->clock.now() - berth.since >= options_.reach;
}

void SlurmRemote::end_rest(JobId id) {
  const Berth back = berths_.at(id);
  berths_.erase(id);
  if (back.stage == Berth::Stage::Requeued) {
    return conductor_->on_ended(
        id, back.attempt,
        {.outcome = Outcome::Failed, .code = 0, .at = around_->clock.now(), .note = ""});
  }
  const bool was_bare = back.stage == Berth::Stage::SentBack;
  queue_again(id, back.attempt, was_bare ? back.why_back : "Slurm ended it to run it again");
  if (was_bare) hold_if_bare_again(id);
  if (back.is_to_wait) {
    hold(id, "it was queued again to be held (scontrol requeuehold); berth release lets it start");
  }
}

/// Of a job whose run has just ended: what is asked follows its release, and comes before what is
/// decided in the same step. What is told comes before its release.
void SlurmRemote::ask(const Input& input) {
  conductor_->ask({.submission = std::nullopt,
                   .inputs = {input},
                   .answer = [](JobId) -> live::Send { return nullptr; },
                   .fail = [](live::Setback, const Error& error) { say(error.message); }});
}

/// It runs again, on the GPUs that Slurm keeps it to.
void SlurmRemote::queue_again(JobId id, Attempt attempt, const std::string& why) {
  conductor_->on_ended(id, attempt,
                       {.outcome = Outcome::Failed,
                        .code = kRequeuedBySlurm,
                        .at = around_->clock.now(),
                        .note = why});
  const JobRecord* const job = record_of(id);
  const Job* const known = view().find(id);
  if (job == nullptr || known == nullptr) return;
  const GpuTypes types = types_of(parse_shards(job->gres), cluster_);
  if (types == 0 || known->spec.request.gpu.types == types) return;
  Updated kept{.job = id, .spec = known->spec};
  kept.spec.request.gpu.types = types;
  kept.spec.time_limit = job->time_limit;
  ask(kept);
}

/// Slurm 22.05 begins jobs whose node failed during their start without their shards, with no GPU
/// in their environment: they may use any, and Slurm counts nothing for them. Once sent back they
/// are well. A record says so only if it is of the attempt that berth let run.
void SlurmRemote::look_for_shards(const JobRecord& job, Berth& berth) {
  const Job* const known = view().find(job_of(job.id));
  const auto note = note_of(job);
  if (berth.stage != Berth::Stage::Runs || known == nullptr) return;
  if (!note || note->attempt != berth.attempt) return;
  const std::string missing = missing_from(job, known->grant, cluster_);
  if (missing.empty()) {
    berth.bare_since = kNever;
    if (job.phase == Phase::Running) bare_.erase(known->id);
  } else if (berth.is_suspect) {
    send_back(job, berth, "Slurm began it without its shards of " + missing);
  } else if (berth.bare_since == kNever) {
    berth.bare_since = around_->clock.now();
  }
}

/// If Slurm has shown it without its shards for a while, and answered all that time, and none of
/// its nodes is away or just back: what it tells then is not of before.
void SlurmRemote::send_back_bare(JobId id, Berth& berth) {
  if (berth.bare_since == kNever || berth.stage != Berth::Stage::Runs) return;
  const Duration told_for =
      std::min(around_->clock.now() - berth.bare_since, courier_->answers_for());
  if (told_for < kDoubt) return;
  const JobRecord* const job = record_of(id);
  const Job* const known = view().find(id);
  if (job == nullptr || known == nullptr) return;
  const auto is_away = [&](const Share& share) {
    return away_.contains(cluster_.node_of(share.gpu));
  };
  if (std::ranges::any_of(known->grant.shares, is_away)) return;
  const std::string missing = missing_from(*job, known->grant, cluster_);
  if (missing.empty()) return;
  send_back(*job, berth, "Slurm began it without its shards of " + missing);
}

/// A run that must not go on: it is repeated, or ends if its user forbade that (`--no-requeue`).
void SlurmRemote::send_back(const JobRecord& job, Berth& berth, const std::string& why) {
  berth.stage = Berth::Stage::SentBack;
  berth.why_back = why;
  const std::string name = "job " + std::to_string(job.id);
  const std::string comment = to_text(note_of(job).value_or(Note())) + "; " + why;
  say(name + ": " + why +
      "; it is queued again (until `scontrol reconfigure` Slurm may count them "
      "as taken)");
  courier_->send(Requeue{job.id, comment}, [this, id = job_of(job.id), name, comment,
                                            attempt = berth.attempt](const auto& done) {
    if (done) return;
    say(name + ": " + done.error().message);
    const auto found = berths_.find(id);
    if (found == berths_.end() || found->second.attempt != attempt) return;
    order(Cancel{slurm_id(id), comment}, name + " that Slurm does not queue again");
  });
}

/// Slurm may begin it without its shards each time.
void SlurmRemote::hold_if_bare_again(JobId id) {
  if (++bare_[id] < kMostBareRuns) return;
  bare_.erase(id);
  hold(id, "Slurm began it without its shards " + std::to_string(kMostBareRuns) +
               " times; berth release lets it try again");
}

/// A job whose run has just ended.
void SlurmRemote::hold(JobId id, const std::string& why) {
  around_->keeper.note(id, std::string(live::kBecause) + why);
  ask(HoldAsked{id});
}

}  // namespace berth::slurm
