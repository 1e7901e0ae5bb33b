#include "slurm/reconciliation.hpp"

#include <algorithm>
#include <utility>

#include "core/text/text.hpp"

namespace berth::slurm {

namespace {

constexpr Duration kSoon = seconds(3);         ///< Most starts come sooner.
constexpr Duration kSettling = seconds(10);    ///< Of a node that is back.
constexpr Duration kDoubt = seconds(4);        ///< Whether a job has its shards.
constexpr Duration kBarsChecked = minutes(1);  ///< As all jobs are looked at.
constexpr int kMostBareRuns = 3;               ///< Of a job, before it is held.

/// By this berth-slurm or one before it, which wrote down why.
bool is_sent_back(const JobRecord& job) { return job.admin_comment.contains(';'); }

/// With Slurm's word; `otherwise` where that is none, or says no more than that berth held it.
std::string why_pending(const JobRecord& job, const std::string& otherwise) {
  if (job.reason.empty() || job.word.starts_with("JobHeld")) return otherwise;
  return job.reason + (job.word.empty() ? "" : " (" + job.word + ")");
}

}  // namespace

// ---- A start of berth-slurm ------------------------------------------------------------------

void Reconciliation::begin(const News& first) {
  std::vector<JobId> missing;
  common_.view().for_each_job([&](const Job& job) {
    if (common_.record_of(job.id) == nullptr) missing.push_back(job.id);
  });
  for (const JobId id : missing) {
    common_.note(id, "Slurm no longer knows it");
    if (!holds_berth(common_.view().find(id)->state)) common_.conductor->tell({CancelAsked{id}});
  }
  for (const NodeId node : common_.cluster.node_ids()) {
    const auto there =
        std::ranges::find(first.nodes, common_.cluster.node(node).name, &NodeRecord::name);
    if (there == first.nodes.end()) on_node(node, false);
  }
}

live::Trace Reconciliation::adopt(JobId id, Attempt attempt) {
  const JobRecord* const job = common_.record_of(id);
  if (job == nullptr) return live::Trace::None;
  const auto note = note_of(*job);
  if (!note || note->attempt != attempt) return live::Trace::None;
  const Job* const known = common_.view().find(id);
  const bool starts = known != nullptr && known->state == JobState::Starting;
  const bool began_unseen = starts && job->is_requeued_held;
  const bool runs = began_unseen || (known != nullptr && known->state == JobState::Running);
  const bool is_back = job->phase == Phase::Pending && job->is_held;
  if (is_back && !runs) return live::Trace::None;
  Berth berth{.attempt = attempt,
              .stage = Berth::Stage::Released,
              .restarts = job->restarts,
              .since = common_.now()};
  if (began_unseen || (known != nullptr && !starts)) berth.stage = Berth::Stage::Runs;
  common_.berths[id] = berth;
  return job->phase == Phase::Over && !job->is_completing ? live::Trace::Over : live::Trace::Lives;
}

// ---- Nodes -----------------------------------------------------------------------------------

/// Slurm goes on trying to end what ran on a node that failed, and when it is back ends a job that
/// was started there again just then. So such a node takes jobs a little later.
void Reconciliation::on_node(NodeId node, bool takes_jobs) {
  if (!takes_jobs) {
    away_[node] = kNever;
  } else if (const auto away = away_.find(node); away != away_.end()) {
    if (away->second == kNever) away->second = common_.now() + kSettling;
    return;
  }
  common_.conductor->on_node(node, takes_jobs);
}

/// Of a job that Slurm queued again: they failed as a rule, even if nobody saw them away.
void Reconciliation::settle_nodes_of(JobId id) {
  const Job* const known = common_.view().find(id);
  if (known == nullptr) return;
  for (const Share& share : known->grant.shares) {
    const auto [away, is_new] =
        away_.try_emplace(common_.cluster.node_of(share.gpu), common_.now() + kSettling);
    if (is_new) common_.conductor->on_node(away->first, false);
  }
}

void Reconciliation::check_nodes() {
  std::erase_if(away_, [&](const auto& each) {
    if (each.second > common_.now()) return false;
    common_.conductor->on_node(each.first, true);
    return true;
  });
  if (common_.now() < bars_checked_ + kBarsChecked) return;
  bars_checked_ = common_.now();
  check_bars();
}

void Reconciliation::check_bars() {
  std::vector<Input> updates;
  common_.view().for_each_job([&](const Job& job) {
    if (job.state != JobState::Queued) return;
    const auto only = unmade_.over(job, common_.cluster, common_.now());
    if (!only) return;
    Updated updated{.job = job.id, .spec = job.spec};
    updated.spec.request.gpu.only = *only;
    updates.emplace_back(std::move(updated));
  });
  if (!updates.empty()) common_.conductor->tell(std::move(updates));
}

// ---- Runs ------------------------------------------------------------------------------------

/// As an administrator or its user has changed it by now.
void Reconciliation::follow_limit(const JobRecord& job, const Job& known) {
  if (job.phase == Phase::Over || known.spec.time_limit == job.time_limit) return;
  Updated updated{.job = known.id, .spec = known.spec};
  updated.spec.time_limit = job.time_limit;
  common_.conductor->tell({updated});
}

void Reconciliation::on_berth(const JobRecord& job, Berth& berth) {
  using Stage = Berth::Stage;
  switch (job.phase) {
    case Phase::Running:
    case Phase::Suspended:
      if (berth.stage == Stage::Sent || berth.stage == Stage::Released) {
        berth.stage = Stage::Runs;
        berth.since = common_.now();
        unmade_.forget(job_of(job.id));
        common_.conductor->on_started(job_of(job.id), berth.attempt);
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
Instant Reconciliation::end_of(const JobRecord& job) const {
  const Instant now = common_.now();
  if (job.ended <= 0) return now;
  const Instant second = kStart + seconds(job.ended);
  return std::clamp(now, std::min(second, now), second + seconds(1) - Duration(1));
}

void Reconciliation::on_over(const JobRecord& job, const Berth& berth) {
  const JobId id = job_of(job.id);
  const Attempt attempt = berth.attempt;
  if (berth.stage == Berth::Stage::Sent || berth.stage == Berth::Stage::Released) {
    common_.conductor->on_started(id, attempt);
  }
  const std::string why = berth.why_back;
  common_.berths.erase(id);
  common_.conductor->on_ended(id, attempt,
                              {.outcome = job.outcome,
                               .code = job.exit_code,
                               .at = end_of(job),
                               .note = why.empty() ? job.why_over : why});
}

void Reconciliation::on_gone(JobId id) {
  unmade_.forget(id);
  const auto berth = common_.berths.find(id);
  if (berth != common_.berths.end()) {
    common_.conductor->on_lost(id, berth->second.attempt, "Slurm no longer knows it");
  } else if (common_.view().knows(id)) {
    common_.conductor->tell({CancelAsked{id}});
  }
}

/// A word that is not about what is free now is not worth much of a wait: the job holds its place.
bool Reconciliation::is_late(const JobRecord& job, const Berth& berth) const {
  const Duration waited = common_.now() - berth.since;
  return waited >= common_.options.patience || (waited >= kSoon && is_refusal(job.word));
}

/// An attempt that Slurm was told to run and did not.
void Reconciliation::take_back(const JobRecord& job, Berth& berth, const std::string& why) {
  berth.stage = Berth::Stage::TakenBack;
  common_.order(Hold{job.id}, "job " + std::to_string(job.id) + " that does not start",
                [this, id = job_of(job.id), attempt = berth.attempt, why, word = job.word] {
                  const JobRecord* const now = common_.record_of(id);
                  const auto found = common_.berths.find(id);
                  if (found == common_.berths.end()) return;
                  if (now != nullptr && now->phase != Phase::Pending) {
                    found->second.stage = Berth::Stage::Released;
                    return on_berth(*now, found->second);
                  }
                  common_.berths.erase(found);
                  put_back(id, attempt, word, why);
                });
}

void Reconciliation::check_runs() {
  const Instant now = common_.now();
  std::vector<JobId> rested;
  std::optional<SlurmId> late;
  for (auto& [id, berth] : common_.berths) {
    send_back_bare(id, berth);
    if (berth.rests_since != kNever && has_rested(berth)) rested.push_back(id);
    const JobRecord* const job = common_.record_of(id);
    if (berth.stage != Berth::Stage::Released || job == nullptr) continue;
    if (job->phase != Phase::Pending) continue;
    if (now - berth.since >= kSoon) late = job->id;
    if (!is_late(*job, berth)) continue;
    take_back(*job, berth, why_pending(*job, "no reason was given"));
  }
  if (late) common_.order(Nudge{*late}, "job " + std::to_string(*late));
  for (const JobId id : rested) end_rest(id);
}

// ---- Runs that come back: queued again by Slurm, or sent back without their shards -----------

/// It is pending again, or still.
void Reconciliation::on_back_in_queue(const JobRecord& job, Berth& berth) {
  using Stage = Berth::Stage;
  const JobId id = job_of(job.id);
  const std::string name = "job " + std::to_string(job.id);
  if (berth.rests_since != kNever) {
    if (!job.is_held) common_.order(Hold{job.id}, name + " that Slurm queued again once more");
    return;
  }
  const bool ran = berth.stage == Stage::Runs || job.restarts > berth.restarts;
  if (berth.stage == Stage::TakenBack || berth.stage == Stage::Sent) return;  // an answer follows
  if (berth.stage == Stage::Requeued || berth.stage == Stage::SentBack) {
    if (job.is_held) rest(id, berth);
    return;
  }
  if (ran) {
    if (berth.stage != Stage::Runs) berth.since = common_.now();
    berth.stage = Stage::TakenBack;
    settle_nodes_of(id);
    if (job.is_requeued_held) {
      berth.is_to_wait = !is_sent_back(job);
      return rest(id, berth);
    }
    common_.order(Hold{job.id}, name + " that Slurm queued again",
                  [this, id, attempt = berth.attempt] {
                    const auto found = common_.berths.find(id);
                    if (found != common_.berths.end() && found->second.attempt == attempt)
                      rest(id, found->second);
                  });
    return;
  }
  // Slurm itself holds a job that its place cannot have.
  if (job.is_held) take_back(job, berth, why_pending(job, "it was held before it began"));
}

void Reconciliation::rest(JobId id, Berth& berth) {
  berth.rests_since = common_.now();
  if (has_rested(berth)) return end_rest(id);
  common_.note(id,
               "it was queued again soon after its start, which Slurm may still try on its node");
}

/// Slurm 22.05 goes on trying to reach a node for a start that it has queued again already, and
/// when it gives up ends the job wherever it runs by then.
bool Reconciliation::has_rested(const Berth& berth) const {
  if (berth.stage != Berth::Stage::TakenBack) return true;  // it was reached
  return common_.now() - berth.since >= common_.options.reach;
}

void Reconciliation::end_rest(JobId id) {
  const Berth back = common_.berths.at(id);
  common_.berths.erase(id);
  if (back.stage == Berth::Stage::Requeued) {
    return common_.conductor->on_ended(
        id, back.attempt, {.outcome = Outcome::Failed, .code = 0, .at = common_.now(), .note = ""});
  }
  const bool was_bare = back.stage == Berth::Stage::SentBack;
  queue_again(
      id, back.attempt,
      {.why = was_bare ? back.why_back : "Slurm ended it to run it again", .at = common_.now()});
  if (was_bare) hold_if_bare_again(id);
  if (back.is_to_wait) {
    hold(id, "it was queued again to be held (scontrol requeuehold); berth release lets it start");
  }
}

/// Of a job whose run has just ended: what is asked follows its release, and comes before what is
/// decided in the same step. What is told comes before its release.
void Reconciliation::ask(const Input& input) {
  common_.conductor->ask({.submission = std::nullopt,
                          .inputs = {input},
                          .answer = [](JobId) -> live::Send { return nullptr; },
                          .fail = [](live::Setback, const Error& error) { say(error.message); }});
}

void Reconciliation::queue_again(JobId id, Attempt attempt, const Again& again) {
  common_.conductor->on_ended(
      id, attempt,
      {.outcome = Outcome::Failed, .code = kRequeuedBySlurm, .at = again.at, .note = again.why});
  const JobRecord* const job = common_.record_of(id);
  const Job* const known = common_.view().find(id);
  if (job == nullptr || known == nullptr) return;
  Updated kept{.job = id, .spec = known->spec};
  GpuRequest& gpu = kept.spec.request.gpu;
  if (const GpuTypes types = types_of(parse_shards(job->gres), common_.cluster)) gpu.types = types;
  if (again.begin != kStart) {
    kept.spec.conditions.edit().begin = again.begin;
    gpu.only = again.only;
  }
  if (gpu == known->spec.request.gpu && again.begin == kStart) return;
  kept.spec.time_limit = job->time_limit;
  ask(kept);
}

void Reconciliation::put_back(JobId id, Attempt attempt, const std::string& word,
                              const std::string& why) {
  const Job* const known = common_.view().find(id);
  if (known == nullptr) return;
  const NextTry next = unmade_.add(*known, common_.cluster, word);
  const auto place = place_of(known->grant, common_.cluster);
  const std::string text = std::string(live::kBecause) + "Slurm did not start it" +
                           (place ? " on " + place->nodes : "") + ": " + why + "; the next try " +
                           seconds_text(next.wait) + " s later" +
                           (next.only != 0 ? ", elsewhere" : "");
  say("job " + std::to_string(id.value()) + ": " + text);
  queue_again(
      id, attempt,
      {.why = text, .at = known->since, .begin = common_.now() + next.wait, .only = next.only});
}

/// Slurm 22.05 begins jobs whose node failed during their start without their shards, with no GPU
/// in their environment: they may use any, and Slurm counts nothing for them. Once sent back they
/// are well. A record says so only if it is of the attempt that berth let run.
void Reconciliation::look_for_shards(const JobRecord& job, Berth& berth) {
  const Job* const known = common_.view().find(job_of(job.id));
  const auto note = note_of(job);
  if (berth.stage != Berth::Stage::Runs || known == nullptr) return;
  if (!note || note->attempt != berth.attempt) return;
  const std::string missing = missing_from(job, known->grant, common_.cluster);
  if (missing.empty()) {
    berth.bare_since = kNever;
    if (job.phase == Phase::Running) bare_.erase(known->id);
  } else if (berth.is_suspect) {
    send_back(job, berth, "Slurm began it without its shards of " + missing);
  } else if (berth.bare_since == kNever) {
    berth.bare_since = common_.now();
  }
}

/// If Slurm has shown it without its shards for a while, and answered all that time, and none of
/// its nodes is away or just back: what it tells then is not of before.
void Reconciliation::send_back_bare(JobId id, Berth& berth) {
  if (berth.bare_since == kNever || berth.stage != Berth::Stage::Runs) return;
  const Duration told_for =
      std::min(common_.now() - berth.bare_since, common_.courier->answers_for());
  if (told_for < kDoubt) return;
  const JobRecord* const job = common_.record_of(id);
  const Job* const known = common_.view().find(id);
  if (job == nullptr || known == nullptr) return;
  const auto is_away = [&](const Share& share) {
    return away_.contains(common_.cluster.node_of(share.gpu));
  };
  if (std::ranges::any_of(known->grant.shares, is_away)) return;
  const std::string missing = missing_from(*job, known->grant, common_.cluster);
  if (missing.empty()) return;
  send_back(*job, berth, "Slurm began it without its shards of " + missing);
}

/// A run that must not go on: it is repeated, or ends if its user forbade that (`--no-requeue`).
void Reconciliation::send_back(const JobRecord& job, Berth& berth, const std::string& why) {
  berth.stage = Berth::Stage::SentBack;
  berth.why_back = why;
  const std::string name = "job " + std::to_string(job.id);
  const std::string comment = to_text(note_of(job).value_or(SlurmNote())) + "; " + why;
  say(name + ": " + why +
      "; it is queued again (until `scontrol reconfigure` Slurm may count them "
      "as taken)");
  common_.courier->send(Requeue{job.id, comment}, [this, id = job_of(job.id), name, comment,
                                                   attempt = berth.attempt](const auto& done) {
    if (done) return;
    say(name + ": " + done.error().message);
    const auto found = common_.berths.find(id);
    if (found == common_.berths.end() || found->second.attempt != attempt) return;
    common_.order(Cancel{slurm_id(id), comment}, name + " that Slurm does not queue again");
  });
}

/// Slurm may begin it without its shards each time.
void Reconciliation::hold_if_bare_again(JobId id) {
  if (++bare_[id] < kMostBareRuns) return;
  bare_.erase(id);
  hold(id, "Slurm began it without its shards " + std::to_string(kMostBareRuns) +
               " times; berth release lets it try again");
}

/// A job whose run has just ended.
void Reconciliation::hold(JobId id, const std::string& why) {
  common_.note(id, std::string(live::kBecause) + why);
  ask(HoldAsked{id});
}

}  // namespace berth::slurm
