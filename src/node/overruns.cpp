#include "node/overruns.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/split.hpp"
#include "core/text/slurm_lines.hpp"
#include "core/text/text.hpp"

namespace berth::node {

namespace {

constexpr Bytes kOneShard{std::int64_t{1} << 30};
constexpr Bytes kLeastOverrun{std::int64_t{64} << 20};  ///< As the engine has it.

// ---- Slurm's texts ---------------------------------------------------------------------------

/// What follows `JobId=JOB `, up to the next line that begins with a job.
std::vector<std::string_view> records_of(std::string_view shown, std::uint32_t job) {
  constexpr std::string_view kBegin = "JobId=";
  const std::string own = std::string(kBegin) + std::to_string(job) + " ";
  std::vector<std::string_view> records;
  while (!shown.empty()) {
    std::size_t end = shown.find("\n" + std::string(kBegin));
    end = end == std::string_view::npos ? shown.size() : end + 1;
    if (shown.starts_with(own)) records.push_back(shown.substr(0, end));
    shown.remove_prefix(end);
  }
  return records;
}

/// The smaller one.
JobGrant narrowed(const std::optional<JobGrant>& known, const JobGrant& other) {
  if (!known) return other;
  JobGrant both{.has_whole = known->has_whole && other.has_whole, .of = {}};
  for (const auto& [gpu, bytes] : known->of) {
    const auto same = other.of.find(gpu);
    if (same != other.of.end()) both.of[gpu] = std::min(bytes, same->second);
  }
  return both;
}

/// What is of no one GPU, as `shard:20(CNT:20)`, or is shared by other rules, as `mps`, is whole:
/// nobody could say what it may hold.
JobGrant grant_of(std::string_view gres) {
  JobGrant grant;
  each_gres(gres, [&](const GresPart& part) {
    if (part.count <= 0) return;
    const auto gpus = gpus_of_gres(part);
    if (part.name != "shard" || gpus.empty()) {
      grant.has_whole =
          grant.has_whole || part.name == "gpu" || part.name == "shard" || part.name == "mps";
      return;
    }
    for (const auto& [gpu, gib] : gpus) grant.of[gpu] += kOneShard * gib;
  });
  return grant;
}

// ---- What a GPU lacks ------------------------------------------------------------------------

/// A tenant of one GPU.
struct GpuTenant {
  std::uint32_t job = 0;
  Bytes granted{0};
  Bytes allowed{0};  ///< With the contexts of its processes.
  Bytes held{0};
  bool has_whole = false;
  bool has_grant = false;     ///< Of some GPU of the node.
  bool is_elsewhere = false;  ///< Within what it was granted of other GPUs of the node.

  Bytes charge() const { return std::max(allowed, held); }
  bool overruns() const { return !has_whole && !is_elsewhere && held - allowed >= kLeastOverrun; }
};

Bytes context_of(const NodeHolding* holding, Bytes context) {
  return context * std::max<std::int64_t>(holding == nullptr ? 1 : holding->processes, 1);
}

/// Where Slurm's numbers of GPUs were not the driver's, each job would be on a GPU that it was not
/// granted. What it holds in all tells whether it took more.
bool is_within_all(const std::vector<NodeGpu>& gpus, std::uint32_t job, const JobGrant& grant,
                   Bytes context) {
  Bytes held{0};
  Bytes allowed{0};
  for (const auto& [gpu, bytes] : grant.of) allowed += bytes;
  for (const NodeGpu& gpu : gpus) {
    for (const NodeHolding& holding : gpu.jobs) {
      if (holding.job != job) continue;
      held += holding.now;
      if (!grant.of.empty()) allowed += context_of(&holding, context);
    }
  }
  return held <= allowed;
}

std::vector<GpuTenant> tenants_on(const NodeGpu& gpu, const std::vector<NodeGpu>& gpus,
                                  const JobGrants& grants, Bytes context) {
  std::vector<GpuTenant> tenants;
  for (const auto& [job, grant] : grants) {
    const auto granted = grant.of.find(gpu.index);
    const auto found = std::ranges::find(gpu.jobs, job, &NodeHolding::job);
    const NodeHolding* const holding = found == gpu.jobs.end() ? nullptr : &*found;
    if (granted == grant.of.end() && holding == nullptr) continue;
    GpuTenant tenant{.job = job, .has_whole = grant.has_whole, .has_grant = !grant.of.empty()};
    if (holding != nullptr) tenant.held = holding->now;
    if (granted != grant.of.end()) {
      tenant.granted = granted->second;
      tenant.allowed = granted->second + context_of(holding, context);
    } else {
      tenant.is_elsewhere = is_within_all(gpus, job, grant, context);
    }
    tenants.push_back(tenant);
  }
  return tenants;
}

/// More than nothing where the tenants cannot all have what they may.
Bytes lack_of(const NodeGpu& gpu, const std::vector<GpuTenant>& tenants) {
  Bytes lacking = gpu.other - gpu.usable;
  for (const GpuTenant& tenant : tenants) lacking += tenant.charge();
  for (const NodeHolding& holding : gpu.jobs) {  // of which no grant is known
    if (std::ranges::find(tenants, holding.job, &GpuTenant::job) == tenants.end()) {
      lacking += holding.now;
    }
  }
  return lacking;
}

NodeOverrun overrun_of(const GpuTenant& tenant, std::uint32_t gpu) {
  return {.job = tenant.job, .gpu = gpu, .held = tenant.held, .granted = tenant.granted};
}

}  // namespace

std::optional<JobGrant> grant_in(std::string_view shown, std::uint32_t job, std::string_view node) {
  std::optional<JobGrant> least;
  bool is_shown = false;
  for (const std::string_view record : records_of(shown, job)) {
    is_shown = true;
    for (const SlurmNodesPart& part : slurm_nodes_parts(record)) {
      const bool is_here = std::ranges::find(part.nodes, node) != part.nodes.end();
      if (is_here && !part.gres.empty()) least = narrowed(least, grant_of(part.gres));
    }
  }
  if (!is_shown) return std::nullopt;
  return least.value_or(JobGrant());
}

std::vector<std::string> identity_words(std::uint32_t job) {
  return {"squeue",
          "--noheader",
          "--array",
          "--states=all",
          "--jobs=" + std::to_string(job),
          "--Format=JobID:20,JobArrayID:40,State:20,admin_comment:400"};
}

std::optional<JobIdentity> identity_in(std::string_view rows, std::uint32_t job) {
  constexpr auto kWidths = std::to_array<std::size_t>({20, 40, 20});
  while (!rows.empty()) {
    std::string_view row = next_part(rows, '\n');
    std::array<std::string, kWidths.size()> words;
    for (std::size_t i = 0; i < kWidths.size(); ++i) {
      const std::string_view column = row.substr(0, kWidths[i]);
      words[i] = column.substr(0, column.find(' '));
      row.remove_prefix(column.size());
    }
    if (words[0] != std::to_string(job)) continue;
    while (row.ends_with(' ')) row.remove_suffix(1);
    return JobIdentity{.handle = words[1],
                       .state = words[2],
                       .admin_comment = row == "(null)" ? "" : std::string(row)};
  }
  return std::nullopt;
}

std::vector<NodeOverrun> overruns_on(const std::vector<NodeGpu>& gpus, const JobGrants& grants,
                                     const OverrunRule& rule) {
  std::vector<NodeOverrun> found;
  for (const NodeGpu& gpu : gpus) {
    for (const GpuTenant& tenant : tenants_on(gpu, gpus, grants, rule.context)) {
      if (tenant.overruns()) found.push_back(overrun_of(tenant, gpu.index));
    }
  }
  return found;
}

std::vector<NodeOverrun> overruns_to_end(const std::vector<NodeGpu>& gpus, const JobGrants& grants,
                                         const std::set<std::uint32_t>& leaving,
                                         const OverrunRule& rule) {
  std::vector<NodeOverrun> ends;
  for (const NodeGpu& gpu : gpus) {
    std::vector<GpuTenant> tenants = tenants_on(gpu, gpus, grants, rule.context);
    Bytes lacking = tenants.size() > 1 ? lack_of(gpu, tenants) : Bytes(0);
    for (const GpuTenant& tenant : tenants) {
      if (leaving.contains(tenant.job)) lacking -= tenant.charge();
    }
    std::ranges::sort(tenants, {}, [](const GpuTenant& tenant) {
      return std::pair(tenant.allowed - tenant.held, tenant.job);
    });
    for (const GpuTenant& tenant : tenants) {
      const bool is_lacked = lacking > Bytes(0);
      if (!tenant.overruns() || leaving.contains(tenant.job)) continue;
      if (!is_lacked && !(rule.ends_all && tenant.has_grant)) continue;
      ends.push_back(overrun_of(tenant, gpu.index));
      ends.back().is_lacked = is_lacked;
      lacking -= tenant.charge();
    }
  }
  return ends;
}

std::string to_text(const NodeOverrun& overrun) {
  return "it held " + berth::to_text(overrun.held) + " on GPU " + std::to_string(overrun.gpu) +
         ", was granted " + berth::to_text(overrun.granted) +
         (overrun.is_lacked ? ", and the rest is granted to others" : "");
}

std::string with_note(std::string_view admin_comment, const std::string& note) {
  std::string_view rest = admin_comment.substr(0, admin_comment.find(kNoteMark));
  while (rest.ends_with(' ') || rest.ends_with(';')) rest.remove_suffix(1);
  return std::string(rest) + (rest.empty() ? "" : "; ") + "berth: " + note;
}

}  // namespace berth::node
