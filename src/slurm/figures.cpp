#include "slurm/figures.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace berth::slurm {

namespace {

constexpr std::size_t kMostTold = 4;  ///< Nodes of which a check says what is wrong.

std::string told_of(const Gauges::Voices& voices) {
  std::string text;
  for (std::size_t i = 0; i < std::min(voices.troubles.size(), kMostTold); ++i) {
    text += "; " + voices.troubles[i];
  }
  if (voices.troubles.size() <= kMostTold) return text;
  return text + "; and " + std::to_string(voices.troubles.size() - kMostTold) + " more";
}

}  // namespace

nlohmann::json Figures::memory_check() const {
  const std::size_t nodes = common_.cluster.nodes().size();
  const Gauges::Voices voices = gauges_.voices(common_.now());
  if (voices.missing == nodes) {
    return {{"name", "memory"},
            {"status", "warn"},
            {"detail",
             "GPU memory is what jobs declare; it is not measured, as no node has an agent (berthd "
             "--agent), and nothing keeps a job to it"}};
  }
  return {
      {"name", "memory"},
      {"status", voices.telling == nodes ? "ok" : "warn"},
      {"detail",
       "measured by agents on " + std::to_string(voices.telling) + " of " + std::to_string(nodes) +
           " nodes: a job there that takes more than its shards is ended when a report shows "
           "it and others were granted the memory; not caught: what happens between two looks" +
           told_of(voices)}};
}

/// What jobs hold that berth did not start is not free.
void Figures::count_stranger(const JobRecord& job) {
  const bool holds = job.phase == Phase::Running || job.phase == Phase::Suspended;
  auto held = holds ? held_by(job, common_.cluster) : std::map<GpuId, Bytes>();
  if (held.empty()) {
    strangers_.erase(job.id);
  } else {
    strangers_[job.id] = std::move(held);
  }
}

void Figures::tell() {
  tell_strangers();
  for (const GpuId gpu : std::exchange(seen_, {})) look_at(gpu);
}

/// Where no agent tells what they hold it is their shards. The others are to be looked at.
void Figures::tell_strangers() {
  std::map<GpuId, Bytes> foreign;
  for (const auto& [id, held] : strangers_) {
    for (const auto& [gpu, bytes] : held) foreign[gpu] += bytes;
  }
  for (const auto& [gpu, bytes] : foreign_) foreign.try_emplace(gpu, Bytes(0));
  for (const auto& [gpu, bytes] : foreign) {
    if (const auto told = foreign_.find(gpu); told != foreign_.end() && told->second == bytes) {
      continue;
    }
    if (gauges_.told(gpu) != nullptr) {
      seen_.insert(gpu);
    } else {
      common_.conductor->tell(
          {Measured{.gpu = gpu, .foreign = bytes, .used = bytes, .tenants = {}}});
    }
  }
  foreign_ = std::move(foreign);
}

/// What its agent told last, and what Slurm knows of it now.
void Figures::look_at(GpuId gpu) {
  const node::NodeGpu* const told = gauges_.told(gpu);
  if (told == nullptr) return;
  Account account{.capacity = common_.cluster.gpu(gpu).capacity,
                  .context = common_.around->options.context,
                  .has_processes =
                      [this](SlurmId id) {
                        const JobRecord* const job = common_.record_of(JobId(id));
                        return job != nullptr &&
                               (job->is_completing || job->phase == Phase::Running ||
                                job->phase == Phase::Suspended);
                      },
                  .granted = [this, gpu](SlurmId id) { return granted(id, gpu); }};
  for (const auto& [id, held] : strangers_) {
    if (const auto here = held.find(gpu); here != held.end()) account.strangers[id] = here->second;
  }
  common_.conductor->on_look(look_of(gpu, *told, account, common_.now()));
}

Bytes Figures::granted(SlurmId id, GpuId gpu) const {
  const Job* const job = common_.view().find(JobId(id));
  if (job == nullptr) return Bytes(0);
  const auto share = std::ranges::find(job->grant.shares, gpu, &Share::gpu);
  return share == job->grant.shares.end() ? Bytes(0) : share->granted;
}

}  // namespace berth::slurm
