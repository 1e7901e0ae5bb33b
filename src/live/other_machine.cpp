#include "live/other_machine.hpp"

#include <vector>

#include "core/text.hpp"
#include "engine/explain.hpp"
#include "engine/possible.hpp"
#include "live/notes.hpp"

namespace berth::live {

namespace {

std::string memory_list(const Cluster& cluster) {
  std::string list;
  for (const GpuSpec& gpu : cluster.gpus()) {
    list += (list.empty() ? "" : ", ") + to_text(gpu.capacity);
  }
  return list;
}

}  // namespace

std::string what_changed(const Cluster& before, const Cluster& now) {
  const auto differ = [](const std::string& what, const std::string& now_is,
                         const std::string& was) {
    return "this machine now has " + what + now_is + ", its state was written for " + was;
  };
  const auto number = [](std::size_t count) { return std::to_string(count); };
  const std::size_t gpus = now.gpus().size();
  if (gpus != before.gpus().size()) {
    return differ("", number(gpus) + " GPUs", number(before.gpus().size()));
  }
  if (memory_list(now) != memory_list(before)) {
    return differ("GPUs of ", memory_list(now), memory_list(before));
  }
  for (std::size_t g = 0; g < gpus; ++g) {
    const GpuSpec& is = now.gpus()[g];
    const GpuSpec& was = before.gpus()[g];
    if (is.slots != was.slots) return differ("`slots` ", number(is.slots), number(was.slots));
    if (is.context != was.context) {
      return differ("`context` ", to_text(is.context), to_text(was.context));
    }
  }
  CpuMilli cores(0);
  CpuMilli cores_before(0);
  for (const NodeSpec& node : now.nodes()) cores += node.cpu;
  for (const NodeSpec& node : before.nodes()) cores_before += node.cpu;
  if (cores != cores_before) {
    return differ("`cores` ", cores_text(cores), cores_text(cores_before));
  }
  return "the host memory, the names or the types of this machine's GPUs are not those that its "
         "state was written for";
}

bool has_processes(const ClusterView& view) {
  bool any = false;
  view.for_each_job(
      [&](const Job& job) { any = any || holds_berth(job.state) || has_idle_process(job); });
  return any;
}

std::string why_it_waits(const ClusterView& view, const Cluster& now, Keeps keeps) {
  std::vector<JobId> there;
  std::vector<JobId> suspended;
  std::vector<JobId> waiting;
  view.for_each_job([&](const Job& job) {
    if (holds_berth(job.state)) {
      there.push_back(job.id);
    } else if (has_idle_process(job)) {
      suspended.push_back(job.id);
    } else if (keeps == Keeps::JobsThatWait && job.state != JobState::Held &&
               why_impossible(job.id, job.spec.request, now)) {
      waiting.push_back(job.id);
    }
  });
  std::string why;
  const auto add = [&](const std::vector<JobId>& jobs, const char* one, const char* several) {
    if (jobs.empty()) return;
    why += (why.empty() ? "" : ", ") + list_of(jobs, view) + (jobs.size() == 1 ? one : several);
  };
  add(there, " holds a place there", " hold places there");
  add(suspended, " is suspended from there", " are suspended from there");
  add(waiting, " waits for what is gone", " wait for what is gone");
  return why;
}

std::string why_held(const Job& job, const Cluster& now) {
  if (job.state != JobState::Held || has_idle_process(job)) return "";
  const auto why = why_impossible(job.id, job.spec.request, now);
  if (!why) return "";
  const std::string id = std::to_string(job.id.value());
  return std::string(kBecause) + "it " + why->substr(why->find(": ") + 2) +
         ", since this machine's GPUs are others; `berth update " + id +
         "` changes what it asks, `berth release " + id + "` lets it start then";
}

}  // namespace berth::live
