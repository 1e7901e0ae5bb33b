#include "report/timeline.hpp"

#include <nlohmann/json.hpp>

namespace berth::sim {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kReplace = Json::error_handler_t::replace;

/// `ph` M: the name of a track. A process is 1 and more: viewers treat 0 as their own.
void add_names(const Cluster& cluster, std::string& text) {
  for (std::uint32_t n = 0; n < cluster.nodes().size(); ++n) {
    const NodeSpec& node = cluster.node(NodeId(n));
    text +=
        Json{{"ph", "M"}, {"name", "process_name"}, {"pid", n + 1}, {"args", {{"name", node.name}}}}
            .dump(-1, ' ', false, kReplace) +
        ",\n";
    for (std::uint32_t g = 0; g < node.gpus; ++g) {
      text += Json{{"ph", "M"},
                   {"name", "thread_name"},
                   {"pid", n + 1},
                   {"tid", g + 1},
                   {"args", {{"name", "GPU " + std::to_string(g)}}}}
                  .dump() +
              ",\n";
    }
  }
}

Json slice(const trace::TraceJob& job, const Stretch& stretch, const Cluster& cluster, GpuId gpu) {
  const NodeId node = cluster.node_of(gpu);
  return {{"ph", "X"},
          {"name", job.name},
          {"cat", "job"},
          {"pid", node.value() + 1},
          {"tid", gpu.value() - cluster.node(node).first_gpu.value() + 1},
          {"ts", micros(stretch.from)},
          {"dur", micros(stretch.to - stretch.from)},
          {"args", {{"gpus", stretch.gpus.size()}, {"submitted", micros(job.submit)}}}};
}

}  // namespace

std::string timeline_json(const trace::Trace& trace, const Cluster& cluster, const Result& result) {
  std::string text = "[\n";
  add_names(cluster, text);
  for (const Stretch& stretch : result.stretches) {
    if (stretch.to == kNever) continue;
    for (const GpuId gpu : stretch.gpus) {
      text += slice(trace.jobs[stretch.job], stretch, cluster, gpu).dump(-1, ' ', false, kReplace) +
              ",\n";
    }
  }
  if (text.ends_with(",\n")) text.resize(text.size() - 2);
  return text + "\n]\n";
}

}  // namespace berth::sim
