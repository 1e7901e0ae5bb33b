// What the machines lack of cores and host memory, where GPUs have room for a job, or else where
// there are GPUs at all.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "core/text/text.hpp"
#include "engine/explain.hpp"

namespace berth {

namespace {

/// What of a node is not in use.
struct FreeHost {
  NodeId node;
  CpuMilli cpu{0};
  Bytes memory{0};
  std::int64_t gpus = 0;  ///< That the job may use there.
};

class HostSearch {
 public:
  HostSearch(const ClusterView& view, const Request& request, std::span<const std::int64_t> gpus_on)
      : view_(view), request_(request), all_(static_cast<std::size_t>(request.gpu.count.raw())) {
    for (std::uint32_t n = 0; n < view.cluster().nodes().size(); ++n) {
      const NodeSpec& node = view.cluster().node(NodeId(n));
      const NodeUse& use = view.use().node(NodeId(n));
      if (!use.healthy || (all_ > 0 && gpus_on[n] == 0)) continue;
      free_.push_back({.node = NodeId(n),
                       .cpu = node.cpu - use.cpu,
                       .memory = node.host - use.host,
                       .gpus = gpus_on[n]});
    }
  }

  std::string shortage() const {
    if (free_.empty() || suffices()) return "";
    return of_one(nearest());
  }

 private:
  CpuMilli cpu_of(std::size_t here) const {
    return CpuMilli(host_part(request_.cpu.raw(), here, all_));
  }
  Bytes memory_of(std::size_t here) const {
    return Bytes(host_part(request_.host.raw(), here, all_));
  }
  /// Of the job's GPUs, as many as it may have on this node.
  std::size_t part_on(const FreeHost& host) const {
    return std::min(all_, static_cast<std::size_t>(host.gpus));
  }

  /// Whether the nodes together bear as many of its GPUs as it asks for.
  bool suffices() const {
    std::size_t borne = 0;
    for (const FreeHost& host : free_) {
      std::size_t here = part_on(host);
      const auto is_borne = [&] {
        return cpu_of(here) <= host.cpu && memory_of(here) <= host.memory;
      };
      while (here > 0 && !is_borne()) --here;
      if (all_ == 0 && is_borne()) return true;
      borne += here;
    }
    return all_ > 0 && borne >= all_;
  }

  /// The one that has most of its GPUs, and of these the one that lacks least.
  const FreeHost& nearest() const {
    return *std::ranges::min_element(free_, {}, [&](const FreeHost& host) {
      const std::size_t here = part_on(host);
      const CpuMilli cpu = std::max(CpuMilli(0), cpu_of(here) - host.cpu);
      const Bytes memory = std::max(Bytes(0), memory_of(here) - host.memory);
      const int lacking = (cpu > CpuMilli(0) ? 1 : 0) + (memory > Bytes(0) ? 1 : 0);
      const bool lacks_nothing = lacking == 0;  // one of a gang, whose others lack something
      return std::tuple(lacks_nothing, all_ - here, lacking, cpu, memory, host.node);
    });
  }

  std::string of_one(const FreeHost& host) const {
    const NodeSpec& node = view_.cluster().node(host.node);
    const std::size_t here = part_on(host);
    const bool has_all = here == all_;
    std::string text;
    const auto add = [&](const std::string& needs, const std::string& there,
                         const std::string& what, const std::string& are_free) {
      text += (text.empty() ? "needs " : " and ") + needs + " of " + there + " " + what;
      if (!has_all) text += " beside " + std::to_string(here) + " of its GPUs";
      text += ", " + are_free + " are free";
    };
    if (cpu_of(here) > host.cpu) {
      add(cores_text(cpu_of(here)), cores_text(node.cpu), "cores", cores_text(host.cpu));
    }
    if (memory_of(here) > host.memory) {
      add(to_text(memory_of(here)), to_text(node.host), "of host memory", to_text(host.memory));
    }
    if (view_.cluster().nodes().size() > 1) text += " on " + node.name;
    const auto holders = holders_on(host.node);
    return holders.empty() ? text : text + " (held by " + list_of(holders, view_) + ")";
  }

  std::vector<JobId> holders_on(NodeId there) const {
    std::vector<JobId> holders;
    for (const JobId id : view_.running()) {
      const Grant& grant = view_.find(id)->grant;
      const bool takes = (request_.cpu > CpuMilli(0) && grant.cpu > CpuMilli(0)) ||
                         (request_.host > Bytes(0) && grant.memory > Bytes(0));
      bool is_there = false;
      for_each_node(view_.cluster(), grant,
                    [&](NodeId node, std::size_t) { is_there |= node == there; });
      if (takes && is_there) holders.push_back(id);
    }
    std::ranges::sort(holders);
    return holders;
  }

  const ClusterView& view_;
  const Request& request_;
  std::size_t all_;
  std::vector<FreeHost> free_;
};

}  // namespace

std::string host_shortage(const ClusterView& view, const Request& request,
                          std::span<const std::int64_t> gpus_on) {
  if (view.settings().admission.mode == AdmissionMode::None) return "";
  return HostSearch(view, request, gpus_on).shortage();
}

}  // namespace berth
