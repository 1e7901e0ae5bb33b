#include "slurm/executor.hpp"

#include <utility>

namespace berth::slurm {

Expected<void> SlurmExecutor::launch(const live::Assignment& assigned) {
  const JobId id = assigned.job.id;
  const JobRecord* const job = common_.record_of(id);
  if (job == nullptr) return fail(ErrorCode::NotFound, "Slurm no longer knows it");
  const auto place = place_of(assigned.grant, common_.cluster);
  if (!place) return put_back(assigned, place.error().message);
  const Shards before = parse_shards(job->gres);
  const Shards now = parse_shards(place->gres);
  if (!before.per.empty() && before != now) {
    const std::string why = "Slurm keeps it to " + job->gres + ", and this place is " + place->text;
    if (!is_narrowed_by(before, assigned.job)) return put_back(assigned, why);
    common_.around->loop.post([this, id, attempt = assigned.attempt, why] {
      reconciliation_.queue_again(id, attempt, {.why = why, .at = common_.now()});
    });
    return {};
  }
  SlurmNote note{.vram = assigned.job.spec.request.gpu.vram,
                 .gpus = assigned.job.spec.request.gpu.count.raw(),
                 .duration_class = assigned.job.spec.duration_class,
                 .is_held = false,
                 .attempt = assigned.attempt,
                 .place = place->text.empty() ? place->nodes : place->text};
  common_.berths[id] = {.attempt = assigned.attempt,
                        .stage = Berth::Stage::Sent,
                        .restarts = job->restarts,
                        .since = common_.now()};
  common_.berths[id].is_suspect = !job->nodes.empty();
  common_.courier->send(Dispatch{.id = slurm_id(id),
                                 .nodes = place->nodes,
                                 .node_count = place->node_count,
                                 .gres = place->gres,
                                 .admin_comment = to_text(note),
                                 .ran_before = assigned.attempt > Attempt(1)},
                        [this, id, attempt = assigned.attempt](const Expected<SlurmId>& done) {
                          const auto berth = common_.berths.find(id);
                          if (berth == common_.berths.end() || berth->second.attempt != attempt)
                            return;
                          if (!done) {
                            common_.berths.erase(berth);
                            const std::string& why = done.error().message;
                            return reconciliation_.put_back(id, attempt, why, why);
                          }
                          if (berth->second.stage != Berth::Stage::Sent) return;
                          berth->second.stage = Berth::Stage::Released;
                          berth->second.since = common_.now();
                        });
  return {};
}

/// Later: a start is answered first.
Expected<void> SlurmExecutor::put_back(const live::Assignment& assigned, const std::string& why) {
  common_.around->loop.post([this, id = assigned.job.id, attempt = assigned.attempt, why] {
    reconciliation_.put_back(id, attempt, why, why);
  });
  return {};
}

/// True if the job may be placed elsewhere than on the GPUs that Slurm keeps it to.
bool SlurmExecutor::is_narrowed_by(const Shards& kept, const Job& job) const {
  const GpuTypes types = types_of(kept, common_.cluster);
  return types != 0 && job.spec.request.gpu.types != types;
}

void SlurmExecutor::stop(JobId id, Attempt attempt, live::Manner manner) {
  const auto berth = common_.berths.find(id);
  if (berth == common_.berths.end() || berth->second.attempt != attempt) return;
  const Job* const known = common_.view().find(id);
  const std::string name = "job " + std::to_string(id.value());
  const bool runs_again =
      known != nullptr && !known->ending && known->after_stop == JobState::Queued;
  const JobRecord* const job = common_.record_of(id);
  const bool has_overrun = manner == live::Manner::AtOnce && job != nullptr;
  const std::string comment = has_overrun ? to_text(note_of(*job).value_or(SlurmNote())) + "; " +
                                                common_.around->keeper.note_of(id)
                                          : "";
  if (!runs_again) return common_.order(Cancel{slurm_id(id), comment}, name);
  if (berth->second.rests_since != kNever) return;  // nothing of it runs
  berth->second.stage = Berth::Stage::Requeued;
  if (job == nullptr || job->phase != Phase::Pending)
    return common_.order(Requeue{slurm_id(id), ""}, name);
  // Slurm does not queue again what it has not begun.
  common_.order(Hold{slurm_id(id)}, name, [this, id, attempt, name] {
    const JobRecord* const now = common_.record_of(id);
    const auto found = common_.berths.find(id);
    if (found == common_.berths.end() || found->second.attempt != attempt) return;
    if (now != nullptr && now->phase != Phase::Pending)
      return common_.order(Requeue{now->id, ""}, name);
    if (found->second.rests_since == kNever) reconciliation_.rest(id, found->second);
  });
}

void SlurmExecutor::forget(JobId job, Attempt attempt) {
  const auto berth = common_.berths.find(job);
  if (berth != common_.berths.end() && berth->second.attempt == attempt)
    common_.berths.erase(berth);
}

void SlurmExecutor::on_step(const live::StepTaken& step) {
  for (const Effect& effect : step.effects.list) {
    const auto* const finished = std::get_if<Finished>(&effect);
    if (finished == nullptr) continue;
    const JobRecord* const job = common_.record_of(finished->job);
    if (job == nullptr || job->phase == Phase::Over) continue;
    std::string comment;
    if (finished->outcome == Outcome::Rejected) {
      comment = to_text(note_of(*job).value_or(SlurmNote())) + "; " + finished->note;
    }
    common_.order(Cancel{job->id, comment}, "job " + std::to_string(job->id));
  }
}

}  // namespace berth::slurm
