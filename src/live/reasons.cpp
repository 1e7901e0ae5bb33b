#include "live/reasons.hpp"

#include <algorithm>
#include <vector>

#include "core/text/text.hpp"

namespace berth::live {

namespace {

/// `asked 6 GiB`.
std::string request_words(const Job* job) {
  const Bytes vram = job == nullptr ? Bytes(0) : job->spec.request.gpu.vram;
  return vram == Bytes(0) ? "had a whole GPU" : "asked " + to_text(vram);
}

/// Of one that a neighbour or foreign use seems to have hurt, it is said at its release.
std::string oom_words(const Job* job) {
  const std::string words = "ran out of GPU memory";
  if (job != nullptr && job->hurt_by) return words;
  return words + ", " + request_words(job);
}

}  // namespace

void Reasons::note_end(JobId job, const Job* current, const Ending& ending) {
  std::string words = current == nullptr ? "" : failed_gpus(*current);
  if (!words.contains(ending.note)) words += (words.empty() ? "" : "; ") + ending.note;
  if (ending.outcome == Outcome::Oom) {
    words += words.empty() ? "" : "; ";
    words += oom_words(find(job));
  }
  const std::string before = keeper_.note_of(job);
  if (before.starts_with(kPreempted)) words = before + (words.empty() ? "" : "; ") + words;
  if (!words.empty()) keeper_.note(job, words);
}

std::map<JobId, std::string> Reasons::told_of(GpuId gpu) const {
  std::map<JobId, std::string> told;
  if (watcher_.failure(gpu).empty()) return told;
  for (const JobId id : keeper_.engine().view().tenants_of(gpu)) {
    told[id] = failed_gpus(*find(id));
  }
  return told;
}

void Reasons::note_failure(GpuId gpu, const std::map<JobId, std::string>& told) {
  for (const JobId id : keeper_.engine().view().tenants_of(gpu)) {
    const std::string now = failed_gpus(*find(id));
    std::string note = keeper_.note_of(id);
    if (note.find(now) != std::string::npos) continue;
    const auto before = told.find(id);
    const std::size_t at = before == told.end() ? std::string::npos : note.find(before->second);
    if (at == std::string::npos && says_who_ended(note)) {
      note += "; " + now;
    } else if (at == std::string::npos) {
      note.insert(0, note.empty() ? "" : "; ").insert(0, now);
    } else {
      note.replace(at, before->second.size(), now);
    }
    keeper_.note(id, note);
  }
}

/// `GPU 1 failed: Xid 79`, of those that a job has, and what follows; "" if none failed.
std::string Reasons::failed_gpus(const Job& job) const {
  std::string text;
  for (const GpuId gpu : gpus_of(job.grant)) {
    const std::string fault = watcher_.failure(gpu);
    if (fault.empty()) continue;
    text += (text.empty() ? "GPU " : "; GPU ") + std::to_string(gpu.value()) + " failed: " + fault;
  }
  const Conditions& asked = *job.spec.conditions;
  const bool leaves = job.state == JobState::Stopping || asked.requeues > 0;
  const bool again = asked.requeue_on_gpu_failure && leaves && !job.ending;
  if (!text.empty() && again) text += "; starts again elsewhere";
  return text;
}

void Reasons::note_preemption(JobId job) {
  const ClusterView view = keeper_.engine().view();
  const Job* const known = view.find(job);
  if (known == nullptr) return;
  const std::vector<GpuId> gpus = gpus_of(known->grant);
  std::string by;
  for (const Hold& hold : view.holds()) {
    const bool is_there = std::ranges::any_of(
        hold.placement.gpus, [&](GpuId gpu) { return std::ranges::find(gpus, gpu) != gpus.end(); });
    if (is_there && by.empty()) by = " by job " + keeper_.handle_of(hold.job);
  }
  const std::string then =
      saves_itself(*known) ? ", starts again with what it saves" : ", starts again";
  keeper_.note(job, std::string(kPreempted) + by + then);
}

void Reasons::note_overrun(const Stop& wanted) {
  const Job* const known = find(wanted.job);
  if (known == nullptr) return;
  const bool is_granted = wanted.why == StopFor::Overrun;
  for (const Share& share : known->grant.shares) {
    if (share.charge <= share.granted) continue;
    keeper_.note(wanted.job,
                 "ended: it held " + to_text(share.charge) + " on GPU " +
                     std::to_string(share.gpu.value()) + ", was granted " + to_text(share.granted) +
                     ", and " +
                     (is_granted ? "the rest is granted to others" : "others wait for the rest"));
  }
}

void Reasons::note_trespass(JobId job) {
  const Job* const known = find(job);
  if (known == nullptr) return;
  const auto all = watcher_.trespasses_of(*known);
  if (all.empty()) return;
  const auto found = std::ranges::max_element(all, {}, &Watcher::Trespasser::bytes);
  std::string given;
  for (const GpuId gpu : gpus_of(known->grant)) {
    given += (given.empty() ? "GPU " : ", GPU ") + std::to_string(gpu.value());
  }
  // Negative: a stand-in for one that has no number here.
  const std::string process =
      found->pid > 0 ? "process " + std::to_string(found->pid) : std::string("a process");
  keeper_.note(job, "ended: " + process + " of it held " + to_text(found->bytes) + " on GPU " +
                        std::to_string(found->gpu.value()) + ", which it was not given; it has " +
                        (given.empty() ? "no GPU" : given));
  const UserId user = known->spec.user;
  const Intruder intruder{.job = job,
                          .user = keeper_.name_of(user),
                          .text = keeper_.culprit_text(
                              {.job = job, .user = user, .gpu = found->gpu, .held = found->bytes})};
  for (const JobId neighbour : keeper_.engine().view().tenants_of(found->gpu)) {
    keeper_.note(neighbour, intrusions_.noted(neighbour, keeper_.note_of(neighbour), intruder));
  }
}

}  // namespace berth::live
