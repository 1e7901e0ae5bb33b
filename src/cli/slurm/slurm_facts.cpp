#include "cli/slurm/slurm_facts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/split.hpp"
#include "core/text/slurm_note.hpp"

namespace berth::cli {

namespace {

std::int64_t count_of(const SlurmWords& words, std::string_view key) {
  return slurm_number(slurm_word(words, key)).value_or(0);
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

// ---- Nodes -------------------------------------------------------------------------------------

std::string trouble_of(const SlurmWords& words) {
  const std::string state = slurm_word(words, "State");
  std::string reason = slurm_word(words, "Reason");
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
  node.name = slurm_word(words, "NodeName");
  if (node.name.empty()) return std::nullopt;
  node.trouble = trouble_of(words);
  node.taken_cpus = count_of(words, "CPUAlloc");
  node.cpus = count_of(words, "CPUTot") - node.taken_cpus;
  node.memory_mib = count_of(words, "RealMemory") - count_of(words, "AllocMem");
  node.partitions = parts_of(slurm_word(words, "Partitions"));
  node.features = parts_of(slurm_word(words, "ActiveFeatures"));
  constexpr std::int64_t kMostOfNode = 1024;
  std::int64_t gpus = 0;
  std::int64_t shards = 0;
  each_gres(slurm_word(words, "Gres"), [&](const GresPart& part) {
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
                        ? mebibytes_in(slurm_word(words, "MinMemoryNode"))
                        : mebibytes_in(slurm_word(words, "MinMemoryCPU")) * want.cpus;
  add_want(want, slurm_word(words, "TresPerNode"), 1);
  add_want(want, slurm_word(words, "TresPerTask"), share_of(tasks, want.nodes));
  std::int64_t in_all = 0;
  each_gres(slurm_word(words, "TresPerJob"), [&](const GresPart& part) {
    if (part.name == "gpu") in_all = part.count;
  });
  if (in_all > 0) want.gpus = share_of(in_all, want.nodes);
  return want;
}

void set_names(SlurmJob& job, const SlurmWords& words) {
  job.handle = slurm_handle(words);
  job.names = {slurm_word(words, "JobId"), job.handle};
  if (job.handle.contains('_')) job.names.insert(slurm_word(words, "ArrayJobId"));
  if (job.handle.contains('+')) job.names.insert(slurm_word(words, "HetJobId"));
}

/// What an agent wrote behind what else an administrator's comment says (node/overruns.hpp).
std::string agents_note(const std::string& admin_comment) {
  constexpr std::string_view kMark = "berth: ";
  const auto at = admin_comment.find("berth: it held ");
  return at == std::string::npos ? "" : admin_comment.substr(at + kMark.size());
}

/// What job_submit.lua wrote of a job that is berth-slurm's; the shards come when it starts. If its
/// user holds it beside that, Slurm's own word is right.
void take_note(SlurmJob& job, std::string_view record) {
  constexpr std::string_view kKey = " AdminComment=";
  const auto begin = record.find(kKey);
  if (begin == std::string_view::npos) return;
  std::string_view comment = record.substr(begin + kKey.size());
  for (const char* const behind : {" Comment=", " StdErr="}) {
    comment = comment.substr(0, comment.find(behind));
  }
  const auto note = parse_slurm_note(comment);
  if (!note || !*note) return;
  job.is_for_berth_slurm = !(*note)->is_held;
  job.want.gpus = (*note)->gpus;
  job.want.gib = shards_of((*note)->vram);
}

/// Its part that no user can write into: what follows has the network, the command and the comment.
std::string_view slurms_own(std::string_view record) {
  return record.substr(0, record.find(" MinCPUsNode="));
}

SlurmJob slurm_job_of(const SlurmRecord& record) {
  const SlurmWords words = slurm_words(record.text);
  SlurmJob job;
  set_names(job, words);
  job.name = record.name;
  job.user = slurm_word(words, "UserId");
  job.user.resize(std::min(job.user.find('('), job.user.size()));
  job.state = slurm_word(words, "JobState");
  job.reason = slurm_word(words, "Reason");
  job.dependency = slurm_word(words, "Dependency");
  job.start = slurm_word(words, "StartTime");
  job.place = slurm_word(words, "NodeList");
  job.note = agents_note(slurm_word(words, "AdminComment"));
  job.feature = slurm_word(words, "Features");
  job.reservation = slurm_word(words, "Reservation");
  job.limit = slurm_word(words, "TimeLimit");
  job.partitions = parts_of(slurm_word(words, "Partition"));
  for (auto& name : slurm_names(slurm_word(words, "ExcNodeList")))
    job.excluded.insert(std::move(name));
  for (auto& name : slurm_names(slurm_word(words, "ReqNodeList")))
    job.required.insert(std::move(name));
  job.is_alone = slurm_word(words, "OverSubscribe") == "NO";
  job.want = want_of(words);
  take_note(job, record.text);
  if (job.runs()) job.holds = slurm_holdings(slurms_own(record.text));
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

SlurmFacts slurm_facts(std::string_view nodes, const std::vector<SlurmRecord>& jobs) {
  SlurmFacts facts;
  while (!nodes.empty()) {
    if (auto node = node_of(next_part(nodes, '\n'))) facts.nodes.push_back(std::move(*node));
  }
  for (const SlurmRecord& record : jobs) facts.jobs.push_back(slurm_job_of(record));
  for (const SlurmJob& job : facts.jobs) put(facts, job);
  return facts;
}

void add_reservations(SlurmFacts& facts, std::string_view shown) {
  while (!shown.empty()) {
    const SlurmWords words = slurm_words(next_part(shown, '\n'));
    SlurmReservation one{.name = slurm_word(words, "ReservationName"),
                         .start = slurm_word(words, "StartTime"),
                         .end = slurm_word(words, "EndTime"),
                         .nodes = {},
                         .users = parts_of(slurm_word(words, "Users"))};
    for (auto& name : slurm_names(slurm_word(words, "Nodes"))) one.nodes.insert(std::move(name));
    each_gres(slurm_word(words, "TRES"), [&](const GresPart& part) {
      if (part.name == "cpu") one.cpus = part.count;
    });
    if (!one.name.empty()) facts.reservations.push_back(std::move(one));
  }
}

void add_partitions(SlurmFacts& facts, std::string_view shown) {
  while (!shown.empty()) {
    const SlurmWords words = slurm_words(next_part(shown, '\n'));
    facts.longest.emplace(slurm_word(words, "PartitionName"), slurm_word(words, "MaxTime"));
  }
}

}  // namespace berth::cli
