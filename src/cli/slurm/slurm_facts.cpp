#include "cli/slurm/slurm_facts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/split.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

std::optional<std::int64_t> slurm_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::string word_in(const SlurmWords& words, std::string_view key) {
  const auto found = words.find(key);
  return found == words.end() ? "" : found->second;
}

std::int64_t count_of(const SlurmWords& words, std::string_view key) {
  return slurm_number(word_in(words, key)).value_or(0);
}

/// `100M`, `976562.50G` in MiB.
std::int64_t mebibytes_in(const std::string& text) {
  double amount = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, amount);
  if (error != std::errc()) return 0;
  const char unit = end == last ? 'M' : *end;
  const double each = unit == 'G'   ? 1024
                      : unit == 'T' ? 1024.0 * 1024
                      : unit == 'K' ? 1.0 / 1024
                                    : 1;
  return static_cast<std::int64_t>(std::ceil(amount * each));
}

std::set<std::string, std::less<>> parts_of(std::string_view list) {
  std::set<std::string, std::less<>> parts;
  while (!list.empty()) parts.emplace(next_part(list, ','));
  return parts;
}

/// A part of a request or of a node's resources, as `gres/shard:a100:20(S:0)` or `gres/gpu=1`.
struct GresPart {
  std::string_view name;
  std::int64_t count = 1;
  std::string_view inside;  ///< Of its parentheses.
};

GresPart gres_part(std::string_view text) {
  GresPart part;
  if (text.starts_with("gres:") || text.starts_with("gres/")) text.remove_prefix(5);
  if (const auto open = text.rfind('('); open != std::string_view::npos && text.ends_with(')')) {
    part.inside = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
  }
  part.name = text.substr(0, text.find_first_of(":="));
  const auto last = text.find_last_of(":=");
  if (last != std::string_view::npos) {
    part.count = slurm_number(text.substr(last + 1)).value_or(1);
  }
  return part;
}

template <typename Take>
void each_gres(std::string_view list, const Take& take) {
  while (!list.empty()) take(gres_part(next_part_outside_parentheses(list)));
}

/// `0-1,3` of `IDX:0-1,3`.
std::vector<std::uint32_t> indices_in(std::string_view inside) {
  std::vector<std::uint32_t> indices;
  constexpr std::int64_t kMostGpus = 1024;
  if (!inside.starts_with("IDX:")) return indices;
  inside.remove_prefix(4);
  while (!inside.empty()) {
    std::string_view range = next_part(inside, ',');
    const auto first = slurm_number(next_part(range, '-'));
    const auto last = range.empty() ? first : slurm_number(range);
    if (!first || !last || *first < 0 || *last > kMostGpus) break;
    for (std::int64_t i = *first; i <= *last; ++i) {
      indices.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return indices;
}

// ---- Nodes -------------------------------------------------------------------------------------

std::string trouble_of(const SlurmWords& words) {
  const std::string state = word_in(words, "State");
  std::string reason = word_in(words, "Reason");
  if (const auto who = reason.find(" ["); who != std::string::npos) reason.resize(who);
  for (const auto& [mark, text] :
       {std::pair("DRAIN", "is drained"), std::pair("DOWN", "is down"),
        std::pair("FAIL", "is failing"), std::pair("MAINT", "is reserved"),
        std::pair("NOT_RESPONDING", "does not answer"), std::pair("POWERED", "is powered down")}) {
    if (state.contains(mark) ||
        (std::string_view(mark) == "NOT_RESPONDING" && state.ends_with('*'))) {
      return reason.empty() ? text : std::string(text) + ": " + reason;
    }
  }
  return "";
}

/// Of `Extra=berth-agent at=... gpu=0 usable=81559 used=20492 other=12 job=...`.
void add_measures(SlurmNode& node, std::string_view line) {
  const auto mark = line.find("Extra=berth-agent ");
  if (mark == std::string_view::npos) return;
  std::string_view rest = line.substr(mark);
  SlurmGpu* gpu = nullptr;
  while (!rest.empty()) {
    std::string_view value = next_part(rest, ' ');
    const std::string_view key = next_part(value, '=');
    const auto amount = slurm_number(value);
    if (key == "gpu") {
      const auto index = static_cast<std::size_t>(amount.value_or(-1));
      gpu = index < node.gpus.size() ? &node.gpus[index] : nullptr;
    } else if (gpu != nullptr && amount && key == "used") {
      gpu->measured.emplace().used_mib = *amount;
    } else if (gpu != nullptr && gpu->measured && amount && key == "other") {
      gpu->measured->other_mib = *amount;
    }
  }
}

std::optional<SlurmNode> node_of(std::string_view line) {
  const SlurmWords words = slurm_words(line);
  SlurmNode node;
  node.name = word_in(words, "NodeName");
  if (node.name.empty()) return std::nullopt;
  node.trouble = trouble_of(words);
  node.taken_cpus = count_of(words, "CPUAlloc");
  node.cpus = count_of(words, "CPUTot") - node.taken_cpus;
  node.memory_mib = count_of(words, "RealMemory") - count_of(words, "AllocMem");
  node.partitions = parts_of(word_in(words, "Partitions"));
  node.features = parts_of(word_in(words, "ActiveFeatures"));
  constexpr std::int64_t kMostOfNode = 1024;
  std::int64_t gpus = 0;
  std::int64_t shards = 0;
  each_gres(word_in(words, "Gres"), [&](const GresPart& part) {
    if (part.name == "gpu") gpus += part.count;
    if (part.name == "shard") shards += part.count;
  });
  if (gpus > 0 && gpus <= kMostOfNode) {
    node.gpus.resize(static_cast<std::size_t>(gpus), SlurmGpu{.gib = shards / gpus});
  }
  add_measures(node, line);
  return node;
}

// ---- Jobs --------------------------------------------------------------------------------------

/// What one word of its request asks of each node.
void add_want(SlurmWant& want, std::string_view list, std::int64_t times) {
  each_gres(list, [&](const GresPart& part) {
    if (part.name == "shard") {
      want.gib = part.count;
      want.gpus = std::max<std::int64_t>(times, 1);
    }
    if (part.name == "gpu") want.gpus = std::max<std::int64_t>(part.count * times, 1);
  });
}

std::int64_t share_of(std::int64_t all, std::int64_t nodes) {
  return (all + nodes - 1) / std::max<std::int64_t>(nodes, 1);
}

SlurmWant want_of(const SlurmWords& words) {
  SlurmWant want;
  want.nodes = std::max<std::int64_t>(count_of(words, "NumNodes"), 1);
  const std::int64_t tasks = std::max(count_of(words, "NumTasks"), want.nodes);
  want.cpus =
      std::max(count_of(words, "MinCPUsNode"), share_of(count_of(words, "NumCPUs"), want.nodes));
  want.memory_mib = words.contains("MinMemoryNode")
                        ? mebibytes_in(word_in(words, "MinMemoryNode"))
                        : mebibytes_in(word_in(words, "MinMemoryCPU")) * want.cpus;
  add_want(want, word_in(words, "TresPerNode"), 1);
  add_want(want, word_in(words, "TresPerTask"), share_of(tasks, want.nodes));
  std::int64_t in_all = 0;
  each_gres(word_in(words, "TresPerJob"), [&](const GresPart& part) {
    if (part.name == "gpu") in_all = part.count;
  });
  if (in_all > 0) want.gpus = share_of(in_all, want.nodes);
  return want;
}

/// `shard:20(IDX:0)` of 22.05, `shard:60(30/80,0/80,0/80,30/80)` of 24.11, `gpu:2(IDX:0-1)`.
void add_holding(SlurmJob& job, const std::string& node, const GresPart& part) {
  if (part.name != "shard" && part.name != "gpu") return;
  const std::vector<std::uint32_t> indices = indices_in(part.inside);
  for (const std::uint32_t gpu : indices) {
    const std::int64_t each = part.count / static_cast<std::int64_t>(indices.size());
    job.holds.push_back({.node = node, .gpu = gpu, .gib = part.name == "gpu" ? 0 : each});
  }
  if (!part.inside.contains('/')) return;
  std::string_view rest = part.inside;
  for (std::uint32_t gpu = 0; !rest.empty(); ++gpu) {
    const auto gib = slurm_number(next_part(rest, ','));
    if (gib && *gib > 0) job.holds.push_back({.node = node, .gpu = gpu, .gib = *gib});
  }
}

/// Of each `Nodes=n1 CPU_IDs=0 Mem=100 GRES=shard:20(IDX:0)` in the line.
void add_holdings(SlurmJob& job, std::string_view line) {
  constexpr std::string_view kNodes = " Nodes=";
  for (auto at = line.find(kNodes); at != std::string_view::npos; at = line.find(kNodes, at + 1)) {
    std::string_view rest = line.substr(at + kNodes.size());
    const std::vector<std::string> nodes = slurm_names(next_part(rest, ' '));
    next_part(rest, ' ');  // CPU_IDs
    next_part(rest, ' ');  // Mem
    std::string_view gres = next_part(rest, ' ');
    if (next_part(gres, '=') != "GRES") continue;
    each_gres(gres, [&](const GresPart& part) {
      for (const std::string& node : nodes) add_holding(job, node, part);
    });
  }
}

void set_names(SlurmJob& job, const SlurmWords& words) {
  const std::string id = word_in(words, "JobId");
  const std::string array = word_in(words, "ArrayJobId");
  const std::string task = word_in(words, "ArrayTaskId");
  job.names.insert(id);
  job.handle = id;
  if (array.empty() || task.empty()) return;
  const bool is_one = std::ranges::all_of(task, is_digit);
  job.handle = array + "_" + (is_one ? task : "[" + task + "]");
  job.names.insert(array);
  job.names.insert(job.handle);
}

std::optional<SlurmJob> slurm_job_of(std::string_view line) {
  const SlurmWords words = slurm_words(line);
  SlurmJob job;
  if (word_in(words, "JobId").empty()) return std::nullopt;
  set_names(job, words);
  job.name = word_in(words, "JobName");
  job.user = word_in(words, "UserId");
  job.user.resize(std::min(job.user.find('('), job.user.size()));
  job.state = word_in(words, "JobState");
  job.reason = word_in(words, "Reason");
  job.dependency = word_in(words, "Dependency");
  job.start = word_in(words, "StartTime");
  job.place = word_in(words, "NodeList");
  job.feature = word_in(words, "Features");
  job.partitions = parts_of(word_in(words, "Partition"));
  for (auto& name : slurm_names(word_in(words, "ExcNodeList")))
    job.excluded.insert(std::move(name));
  for (auto& name : slurm_names(word_in(words, "ReqNodeList")))
    job.required.insert(std::move(name));
  job.is_alone = word_in(words, "OverSubscribe") == "NO";
  job.want = want_of(words);
  if (job.runs()) add_holdings(job, line);
  return job;
}

void put(SlurmFacts& facts, const SlurmJob& job) {
  for (const SlurmHolding& holding : job.holds) {
    const auto node = std::ranges::find(facts.nodes, holding.node, &SlurmNode::name);
    if (node == facts.nodes.end() || holding.gpu >= node->gpus.size()) continue;
    SlurmGpu& gpu = node->gpus[holding.gpu];
    gpu.taken += holding.gib;
    gpu.is_whole = gpu.is_whole || holding.gib == 0;
    gpu.jobs.push_back(job.handle);
  }
}

}  // namespace

std::vector<std::string> slurm_names(std::string_view list) {
  constexpr std::int64_t kMostNames = 100'000;
  std::vector<std::string> names;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto open = list.find('[');
    const auto close = list.find(']', open);
    if (open == std::string_view::npos || close == std::string_view::npos || comma < open) {
      names.emplace_back(next_part(list, ','));
      continue;
    }
    const std::string stem(list.substr(0, open));
    std::string_view ranges = list.substr(open + 1, close - open - 1);
    list.remove_prefix(close + 1);
    const std::string_view behind = next_part(list, ',');
    while (!ranges.empty()) {
      std::string_view range = next_part(ranges, ',');
      const std::string_view from = next_part(range, '-');
      const auto first = slurm_number(from);
      const auto last = range.empty() ? first : slurm_number(range);
      if (!first || !last || *last - *first > kMostNames) break;
      for (std::int64_t i = *first; i <= *last; ++i) {
        std::string number = std::to_string(i);
        if (number.size() < from.size()) number.insert(0, from.size() - number.size(), '0');
        names.push_back(stem + number + std::string(behind));
      }
    }
  }
  return names;
}

SlurmWords slurm_words(std::string_view line) {
  SlurmWords words;
  std::string last;
  while (!line.empty()) {
    std::string_view value = next_part(line, ' ');
    if (value.empty()) continue;
    const bool has_key = is_letter(value.front()) && value.contains('=');
    if (!has_key) {  // a text of several words, as of a reason
      if (!last.empty()) words[last] += " " + std::string(value);
      continue;
    }
    const std::string key(next_part(value, '='));
    const bool is_none =
        value == "(null)" || value == "None" || value == "Unknown" || value == "N/A";
    last = words.contains(key) ? "" : key;
    if (!last.empty()) words[key] = is_none ? "" : value;
  }
  return words;
}

SlurmFacts slurm_facts(std::string_view nodes, std::string_view jobs) {
  SlurmFacts facts;
  while (!nodes.empty()) {
    if (auto node = node_of(next_part(nodes, '\n'))) facts.nodes.push_back(std::move(*node));
  }
  while (!jobs.empty()) {
    if (auto job = slurm_job_of(next_part(jobs, '\n'))) facts.jobs.push_back(std::move(*job));
  }
  for (const SlurmJob& job : facts.jobs) put(facts, job);
  return facts;
}

}  // namespace berth::cli
