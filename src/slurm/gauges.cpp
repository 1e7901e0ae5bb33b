#include "slurm/gauges.hpp"

#include <algorithm>

#include "core/text/text.hpp"
#include "daemon/attempts/stand_in.hpp"

namespace berth::slurm {

namespace {

constexpr int kOverdue = 3;  ///< Reports that may be missing.
void add(live::Look& look, const GpuProcess& process, const Owner& owner) {
  look.sample->processes->push_back(process);
  look.owners[process.pid] = owner;
}

bool is_overdue(const node::NodeReport& report, Duration age) {
  return report.every > Duration(0) && age > report.every * kOverdue;
}

}  // namespace

live::Look look_of(GpuId gpu, const node::NodeGpu& told, const Account& account, Instant now) {
  if (!told.problem.empty()) {
    const ErrorCode code = told.is_lost ? ErrorCode::Lost : ErrorCode::Io;
    return {.gpu = gpu, .began = now, .sample = fail(code, told.problem), .owners = {}};
  }
  live::Look look{.gpu = gpu, .began = now, .sample = Sample(), .owners = {}};
  look.sample->total = account.capacity;
  look.sample->processes.emplace();
  Bytes spare = std::max(Bytes(0), told.usable - account.capacity);
  Bytes known{0};
  std::map<SlurmId, Bytes> strangers = account.strangers;
  for (const node::NodeHolding& holding : told.jobs) {
    if (!account.has_processes(holding.job)) continue;
    if (const auto stranger = strangers.find(holding.job); stranger != strangers.end()) {
      stranger->second = std::max(stranger->second, holding.now);
      continue;
    }
    const Bytes beyond = std::max(Bytes(0), holding.now - account.granted(holding.job));
    const Bytes excused = std::min({beyond, spare, account.context * holding.processes});
    spare -= excused;
    const pid_t pid = daemon::stand_in(holding.job);
    known += holding.now - excused;
    add(look, {.pid = pid, .bytes = holding.now - excused}, OfJob{JobId(holding.job)});
    if (holding.most > holding.now) {
      look.sample->ended.push_back({.pid = pid, .bytes = holding.most});
    }
  }
  for (const auto& [job, bytes] : strangers) {
    known += bytes;
    add(look, {.pid = daemon::stand_in(job), .bytes = bytes}, OfStranger());
  }
  if (told.other > spare) {
    known += told.other - spare;
    add(look, {.pid = daemon::kElsewhere, .bytes = told.other - spare}, OfStranger());
  }
  std::ranges::sort(*look.sample->processes, {}, &GpuProcess::pid);
  look.sample->used = std::min(known, account.capacity);
  return look;
}

std::set<GpuId> Gauges::on_text(NodeId node, const std::string& text, Instant now) {
  Node& known = nodes_[node];
  if (known.text == text) return {};
  const bool is_first = known.text.empty();
  known.text = text;
  auto report = node::parse_node_report(text);
  known.trouble = report ? "" : report.error().message;
  if (!report || !*report) {
    known.report.reset();
    return {};
  }
  known.report = std::move(**report);
  const Duration age = now - (kStart + seconds(known.report->at));
  known.is_old = is_first && is_overdue(*known.report, age);
  known.heard = known.is_old ? now - age : now;
  if (known.is_old) return {};
  index(node);
  std::set<GpuId> gpus;
  for (const GpuId gpu : cluster_.node(node).gpu_ids()) {
    if (gpus_.contains(gpu)) gpus.insert(gpu);
  }
  return gpus;
}

void Gauges::index(NodeId node) {
  const NodeSpec& spec = cluster_.node(node);
  for (const GpuId gpu : spec.gpu_ids()) {
    const auto before = gpus_.extract(gpu);
    if (!before) continue;
    for (const node::NodeHolding& holding : before.mapped().jobs) {
      const auto seen = seen_.find(holding.job);
      if (seen != seen_.end() && seen->second.erase(gpu) > 0 && seen->second.empty()) {
        seen_.erase(seen);
      }
    }
  }
  for (const node::NodeGpu& told : nodes_[node].report->gpus) {
    if (told.index >= spec.gpus) continue;
    const GpuId gpu(spec.first_gpu.value() + told.index);
    gpus_[gpu] = told;
    for (const node::NodeHolding& holding : told.jobs) seen_[holding.job].insert(gpu);
  }
}

const node::NodeGpu* Gauges::told(GpuId gpu) const {
  const auto found = gpus_.find(gpu);
  return found == gpus_.end() ? nullptr : &found->second;
}

std::set<GpuId> Gauges::gpus_of(SlurmId job) const {
  const auto found = seen_.find(job);
  return found == seen_.end() ? std::set<GpuId>() : found->second;
}

Gauges::Voices Gauges::voices(Instant now) const {
  Voices voices;
  for (std::size_t i = 0; i < cluster_.nodes().size(); ++i) {
    const auto node = nodes_.find(NodeId(static_cast<std::uint32_t>(i)));
    const std::string name = cluster_.nodes()[i].name + ": ";
    if (node != nodes_.end() && !node->second.trouble.empty()) {
      voices.troubles.push_back(name + node->second.trouble);
    } else if (node == nodes_.end() || !node->second.report) {
      ++voices.missing;
      voices.troubles.push_back(name + "no agent");
    } else if (const Duration age = now - node->second.heard;
               is_overdue(*node->second.report, age)) {
      voices.troubles.push_back(name + "its agent is silent for " + seconds_text(age) + " s");
    } else {
      ++voices.telling;
    }
  }
  return voices;
}

}  // namespace berth::slurm
