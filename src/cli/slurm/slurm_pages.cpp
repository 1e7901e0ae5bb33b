#include "cli/slurm/slurm_pages.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>

#include "core/base/split.hpp"
#include "core/text/counted.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

constexpr const char* kFits = "fits";

struct Meaning {
  std::string_view word;
  std::string_view text;
};

constexpr auto kMeanings = std::to_array<Meaning>({
    {"Resources", "it is next, and not enough is free"},
    {"Priority", "jobs of higher priority go first"},
    {"Dependency", "a dependency is not met"},
    {"DependencyNeverSatisfied", "its dependency can never be met: cancel it"},
    {"BeginTime", "its begin time has not come"},
    {"JobHeldUser", "its user holds it: scontrol release"},
    {"JobHeldAdmin", "an administrator, or berth-slurm, holds it"},
    {"ReqNodeNotAvail", "nodes that it needs are down, drained or reserved"},
    {"Reservation", "its reservation has not begun, or another's is in the way"},
    {"PartitionDown", "its partition is down"},
    {"PartitionInactive", "its partition takes no jobs"},
    {"PartitionNodeLimit", "it asks for more nodes than its partition gives to a job, or has up"},
    {"PartitionTimeLimit", "its time limit is longer than its partition's"},
    {"JobArrayTaskLimit", "as many tasks of its array run as may at once"},
    {"Licenses", "a licence is not free"},
    {"BadConstraints", "no node can ever run it"},
    {"Cleaning", "Slurm cleans up after its last run"},
    {"Prolog", "a prolog runs"},
});

std::string gib_text(std::int64_t gib) { return std::to_string(gib) + " GiB"; }

std::string counted_gpus(std::int64_t count, const std::string& what) {
  return std::to_string(count) + what + (count == 1 ? " GPU" : " GPUs");
}

/// `2026-11-30T14:00:15` as days since some day; 0 for no date.
std::int64_t day_of(std::string_view date) {
  const auto part = [&](std::size_t at, std::size_t size) {
    int number = 0;
    if (date.size() < at + size) return 0;
    std::from_chars(date.data() + at, date.data() + at + size, number);
    return number;
  };
  constexpr int kMonth = 31;  // within a day or two, which is enough for 30 of them
  if (part(0, 4) == 0) return 0;
  return (std::int64_t{part(0, 4)} * 12 + part(5, 2)) * kMonth + part(8, 2);
}

bool is_far(std::string_view start, std::string_view now) {
  constexpr std::int64_t kFar = 30;
  return day_of(start) > day_of(now) + kFar;
}

/// Seconds since some day of `2026-11-30T14:00:15`; nothing for no time.
std::optional<std::int64_t> seconds_of(std::string_view time) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  const int read = std::sscanf(std::string(time).c_str(), "%d-%u-%uT%d:%d:%d", &year, &month, &day,
                               &hour, &minute, &second);
  constexpr int kAll = 6;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (read != kAll || !date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((std::int64_t{days} * 24 + hour) * 60 + minute) * 60 + second;
}

/// Of `1-02:00:00` or `02:00:00`; nothing for `UNLIMITED` and the like.
std::optional<std::int64_t> seconds_of_limit(std::string_view limit) {
  int days = 0;
  const std::size_t dash = limit.find('-');
  if (dash != std::string_view::npos) {
    std::from_chars(limit.data(), limit.data() + dash, days);
    limit.remove_prefix(dash + 1);
  }
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  constexpr int kAll = 3;
  if (std::sscanf(std::string(limit).c_str(), "%d:%d:%d", &hours, &minutes, &seconds) != kAll) {
    return std::nullopt;
  }
  return ((std::int64_t{days} * 24 + hours) * 60 + minutes) * 60 + seconds;
}

std::string spaced(const std::string& time) {
  std::string text = printable(time);
  if (const auto mark = text.find('T'); mark != std::string::npos) text[mark] = ' ';
  return text;
}

/// Whether it has begun, or begins before the job would end that starts now.
bool is_in_the_way(const SlurmReservation& reservation, const SlurmJob& job, std::string_view now) {
  const auto from = seconds_of(reservation.start);
  const auto present = seconds_of(now);
  const auto limit = seconds_of_limit(job.limit);
  return !from || !present || *from <= *present || !limit || *present + *limit > *from;
}

/// Not only cores of its nodes.
bool is_whole(const SlurmReservation& reservation, const SlurmFacts& facts) {
  std::int64_t cpus = 0;
  for (const SlurmNode& node : facts.nodes) {
    if (reservation.nodes.contains(node.name)) cpus += node.cpus + node.taken_cpus;
  }
  return reservation.cpus >= cpus;
}

bool rules_out(const SlurmJob& job, const SlurmNode& node) {
  return job.excluded.contains(node.name) ||
         (!job.required.empty() && !job.required.contains(node.name));
}

bool is_open_to(const SlurmJob& job, const SlurmNode& node) {
  return std::ranges::any_of(job.partitions,
                             [&](const auto& name) { return node.partitions.contains(name); });
}

/// GPUs that have what it asks of each.
std::int64_t fitting_gpus(const SlurmWant& want, const SlurmNode& node) {
  return std::ranges::count_if(node.gpus, [&](const SlurmGpu& gpu) {
    return want.gib > 0 ? gpu.free() >= want.gib : !gpu.is_whole && gpu.taken == 0;
  });
}

std::string lacking_gpus(const SlurmWant& want, const SlurmNode& node) {
  if (node.gpus.empty()) return "has no GPU";
  const bool is_shared = want.gib > 0;
  const auto most = std::ranges::max(node.gpus, {}, &SlurmGpu::gib).gib;
  if (is_shared && most == 0) return "its GPUs have no shards";
  if (is_shared && most < want.gib) return "its GPUs have " + gib_text(most);
  if (static_cast<std::int64_t>(node.gpus.size()) < want.gpus) {
    return "has " + counted_gpus(static_cast<std::int64_t>(node.gpus.size()), "");
  }
  if (!is_shared) {
    return "has " + counted_gpus(fitting_gpus(want, node), "") + " without jobs";
  }
  if (want.gpus > 1) {
    return "has " + counted_gpus(fitting_gpus(want, node), "") + " with " + gib_text(want.gib) +
           " free";
  }
  const auto free = std::ranges::max_element(node.gpus, {}, &SlurmGpu::free);
  std::string text = gib_text(free->free()) + " free on a GPU at most";
  std::string jobs;
  for (const std::string& job : free->jobs) jobs += (jobs.empty() ? "" : ", ") + job;
  if (jobs.empty()) return text;
  return text + " (GPU " + std::to_string(free - node.gpus.begin()) + ": " + jobs + ")";
}

/// Memory of processes outside of Slurm is not counted by it, and in the way of all.
std::string told_of_others(const SlurmNode& node) {
  constexpr std::int64_t kNotice = 512;  // MiB
  std::string text;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const auto& measured = node.gpus[i].measured;
    if (!measured || measured->other_mib < kNotice) continue;
    text += (text.empty() ? "processes outside of Slurm hold " : ", ") +
            to_text(Bytes(measured->other_mib << 20)) + " of GPU " + std::to_string(i);
  }
  return text;
}

Json places_of(const SlurmJob& job, const SlurmView& view) {
  Json places = Json::array();
  for (const SlurmNode& node : view.facts.nodes) {
    if (!is_open_to(job, node)) continue;
    const std::string others = told_of_others(node);
    std::string lacks = slurm_lack(job, node);
    const std::string reserved = slurm_reserved(job, node, view);
    if (!reserved.empty()) lacks = reserved + (lacks == kFits ? "" : "; " + lacks);
    Json place = {{"node", node.name}, {"lacks", lacks}};
    if (!others.empty()) place["outside"] = others;
    places.push_back(std::move(place));
  }
  return places;
}

std::string state_text(const SlurmJob& job) {
  std::string text = job.state;
  std::ranges::transform(text, text.begin(), lowered);
  return job.waits() ? "waiting" : text;
}

/// An agent notes of a job that goes on as well, where it is told to warn.
const char* noted_text(const SlurmJob& job) {
  return job.state == "RUNNING" || job.state == "SUSPENDED" ? "memory" : "because";
}

Json check_row(const char* name, const char* status, const std::string& detail) {
  return {{"name", name}, {"status", status}, {"detail", detail}};
}

std::string setting_in(std::string_view config, std::string_view key) {
  while (!config.empty()) {
    std::string_view line = next_part(config, '\n');
    const std::string_view name = next_part(line, '=');
    if (name.substr(0, name.find(' ')) != key) continue;
    return std::string(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  }
  return "";
}

/// Slurm before 23.11 counts a GPU as free for a job that wants it whole when one of two jobs that
/// share it ends.
bool mixes_wrongly(std::string_view version) {
  std::string_view rest = version;
  int year = 0;
  int month = 0;
  const std::string_view first = next_part(rest, '.');
  const std::string_view second = next_part(rest, '.');
  std::from_chars(first.data(), first.data() + first.size(), year);
  std::from_chars(second.data(), second.data() + second.size(), month);
  return year < 23 || (year == 23 && month < 11);
}

Json mixture_check(const SlurmFacts& facts, const std::string& version) {
  if (!mixes_wrongly(version)) {
    return check_row("whole GPUs", "ok", "Slurm " + version + " counts them beside shards");
  }
  std::string mixed;
  for (const SlurmNode& node : facts.nodes) {
    const bool has_whole = std::ranges::any_of(
        node.gpus, [](const SlurmGpu& gpu) { return gpu.gib > 0 && gpu.is_whole; });
    if (has_whole) mixed += (mixed.empty() ? "" : ", ") + node.name;
  }
  if (mixed.empty()) {
    return check_row("whole GPUs", "ok",
                     "no job has a whole GPU of a node with shards, where Slurm " + version +
                         " would give it to others, too");
  }
  return check_row("whole GPUs", "warn",
                   "jobs have whole GPUs of nodes with shards: " + mixed + "; Slurm " + version +
                       " gives such GPUs to others, too, unless the job has its nodes alone; "
                       "job_submit.lua of berth keeps them apart");
}

Json words_check(std::string_view config) {
  const bool decides = setting_in(config, "JobSubmitPlugins").contains("lua");
  const bool filters = setting_in(config, "CliFilterPlugins").contains("lua");
  if (decides && filters) {
    return check_row("words", "ok", "lua in JobSubmitPlugins and CliFilterPlugins");
  }
  return check_row("words", "warn",
                   std::string(decides ? "CliFilterPlugins" : "JobSubmitPlugins") +
                       " has no lua: " +
                       (decides ? "steps that ask for GPUs are refused in jobs that share one"
                                : "--vram and vram=SIZE mean nothing"));
}

/// Of jobs that wait for berth-slurm; nothing where there are none.
std::optional<Json> held_check(const SlurmFacts& facts) {
  const auto count = std::ranges::count_if(
      facts.jobs, [](const SlurmJob& job) { return job.waits() && job.is_for_berth_slurm; });
  if (count == 0) return std::nullopt;
  return check_row("held", "warn",
                   number_of_things(static_cast<std::size_t>(count), "jobs") +
                       " for which berth-slurm is to say when to start, which does not answer on "
                       "this machine");
}

/// By cgroup.conf of the controller, which `scontrol show config` has at its end.
Json devices_check(std::string_view config) {
  const bool constrains = setting_in(config, "ConstrainDevices") == "yes";
  const bool has_plugin = setting_in(config, "TaskPlugin").contains("cgroup");
  if (constrains && has_plugin) {
    return check_row("devices", "ok", "jobs can open their own GPUs alone (ConstrainDevices)");
  }
  return check_row("devices", "warn",
                   "a job can open GPUs that are not its own, also if it asks for none: " +
                       std::string(constrains ? "TaskPlugin in slurm.conf has no task/cgroup"
                                              : "cgroup.conf has no ConstrainDevices=yes"));
}

Json agents_check(const SlurmFacts& facts) {
  std::size_t with_gpus = 0;
  std::size_t measured = 0;
  for (const SlurmNode& node : facts.nodes) {
    with_gpus += node.gpus.empty() ? 0 : 1;
    measured += std::ranges::any_of(node.gpus, [](const auto& gpu) { return !!gpu.measured; });
  }
  const std::string nodes = std::to_string(measured) + " of " + std::to_string(with_gpus);
  return check_row("memory", measured == with_gpus ? "ok" : "warn",
                   "measured by agents (berthd --agent) on " + nodes +
                       " nodes with GPUs; elsewhere it is what jobs declare");
}

}  // namespace

// ---- A job -------------------------------------------------------------------------------------

std::string slurm_reason(const SlurmJob& job) {
  if (job.is_for_berth_slurm && job.reason.starts_with("JobHeld")) {
    return "berth-slurm lets it start, and does not answer on this machine (" +
           printable(job.reason) + ")";
  }
  std::string_view rest = job.reason;
  const std::string_view word = next_part(rest, ',');
  const auto known = std::ranges::find(kMeanings, word, &Meaning::word);
  std::string text;
  if (known != kMeanings.end()) {
    text = known->text;
  } else if (word.starts_with("Assoc") || word.starts_with("QOS")) {
    text = word.starts_with("QOS") ? "a limit of its QOS" : "a limit of its account or user";
    if (word.contains("GRES")) text += " on GPUs or shards";
  } else if (word.starts_with("Max")) {
    text = "a limit on its user's jobs";
  }
  if (!job.dependency.empty()) text += ": " + job.dependency;
  if (text.empty() && job.reason.empty()) return "Slurm has not looked at it yet";
  if (text.empty()) return printable(job.reason);
  return printable(text + " (" + std::string(job.reason) + ")");
}

std::string slurm_start(const SlurmJob& job, std::string_view now) {
  if (job.start.empty()) return "unknown: Slurm has no plan for it";
  if (is_far(job.start, now)) {
    return "unknown: jobs in its way have no time limit, so that Slurm says " +
           printable(job.start.substr(0, job.start.find('T')));
  }
  return spaced(job.start) + (job.reason == "BeginTime" ? ", its begin time" : ", by Slurm's plan");
}

std::string slurm_want(const SlurmWant& want) {
  if (want.gpus == 0) return "no GPU";
  std::string text = counted_gpus(want.gpus, want.gib > 0 ? "" : " whole");
  if (want.gib > 0) text += " with " + gib_text(want.gib) + (want.gpus > 1 ? " each" : "");
  if (want.nodes > 1) text += " on each of " + std::to_string(want.nodes) + " nodes";
  return text;
}

std::string slurm_lack(const SlurmJob& job, const SlurmNode& node) {
  if (!node.trouble.empty()) return node.trouble;
  if (job.excluded.contains(node.name)) return "is excluded for this job";
  if (!job.required.empty() && !job.required.contains(node.name)) return "the job names others";
  const bool is_plain = job.feature.find_first_of("&|[]()*,") == std::string::npos;
  if (!job.feature.empty() && is_plain && !node.features.contains(job.feature)) {
    return "lacks the feature " + job.feature;
  }
  const SlurmWant& want = job.want;
  std::string text;
  if (job.is_alone && node.taken_cpus > 0) text = "runs other jobs, and this wants it alone";
  if (text.empty() && want.gpus > fitting_gpus(want, node)) text = lacking_gpus(want, node);
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (want.cpus > node.cpus) {
    add("has " + std::to_string(node.cpus) + " cores free of " + std::to_string(want.cpus));
  }
  if (want.memory_mib > node.memory_mib) {
    add("has " + to_text(Bytes(node.memory_mib << 20)) + " of host memory free of " +
        to_text(Bytes(want.memory_mib << 20)));
  }
  return text.empty() ? kFits : text;
}

std::string slurm_reserved(const SlurmJob& job, const SlurmNode& node, const SlurmView& view) {
  if (rules_out(job, node)) return "";
  std::string text;
  for (const SlurmReservation& one : view.facts.reservations) {
    const bool has_node = one.nodes.contains(node.name);
    if (one.name == job.reservation) {
      if (!has_node) return "is not in the job's reservation " + printable(one.name);
      continue;
    }
    if (!has_node || !is_in_the_way(one, job, view.now)) continue;
    text += (text.empty() ? "is reserved " : "; is reserved ") +
            std::string(is_whole(one, view.facts) ? "(" : "in part (") + printable(one.name) +
            ") from " + spaced(one.start) + " to " + spaced(one.end);
    if (one.users.contains(job.user)) {
      text += ", for its user, too: --reservation=" + printable(one.name);
    }
  }
  return text;
}

namespace {

/// `asks 01:00:00, short has 00:10:00`, where that is why it waits.
std::string limits_text(const SlurmJob& job, const SlurmFacts& facts) {
  if (job.reason != "PartitionTimeLimit") return "";
  std::string text = "asks " + printable(job.limit);
  for (const std::string& partition : job.partitions) {
    const auto longest = facts.longest.find(partition);
    if (longest == facts.longest.end()) continue;
    text += ", " + printable(partition) + " has " + printable(longest->second);
  }
  return text;
}

}  // namespace

Json slurm_job_json(const SlurmJob& job, std::string_view now) {
  Json json = {{"handle", printable(job.handle)},  {"name", printable(job.name)},
               {"user_name", printable(job.user)}, {"state", state_text(job)},
               {"nodes", printable(job.place)},    {"gpus_per_node", job.want.gpus},
               {"node_count", job.want.nodes},     {"vram_bytes", job.want.gib << 30}};
  if (job.waits()) {
    json["reason"] = slurm_reason(job);
    json["start"] = slurm_start(job, now);
  }
  if (!job.note.empty()) json["note"] = printable(job.note);
  return json;
}

Json slurm_why_json(const SlurmJob& job, const SlurmView& view) {
  Json json = slurm_job_json(job, view.now);
  if (job.waits()) json["places"] = places_of(job, view);
  return json;
}

std::string slurm_why_page(const SlurmJob& job, const SlurmView& view, const Look& look) {
  Page page(look);
  const std::string title = "job " + printable(job.handle);
  if (!job.waits()) {
    page.line(title, "is not waiting: Slurm says " + printable(job.state) +
                         (job.place.empty() ? "" : " on " + printable(job.place)));
    if (!job.note.empty()) page.line(noted_text(job), printable(job.note));
    return page.text();
  }
  page.line(title, printable(job.name) + " waits: " + slurm_reason(job));
  page.line("asks", slurm_want(job.want));
  page.line("time limit", limits_text(job, view.facts));
  page.line("starts", slurm_start(job, view.now));
  for (const Json& place : places_of(job, view)) {
    const std::string outside = text_of(place, "outside");
    page.line(printable(text_of(place, "node")),
              printable(text_of(place, "lacks")) + (outside.empty() ? "" : "; " + outside));
  }
  return page.text();
}

// ---- Lists -------------------------------------------------------------------------------------

std::string slurm_jobs_page(const std::vector<SlurmJob>& jobs, const SlurmView& view,
                            const Look& look) {
  Table table({{"JOB"}, {"NAME", Align::Left, 8}, {"USER"}, {"STATE"}, {"ASKS"}, {"WHERE OR WHY"}});
  for (const SlurmJob& job : jobs) {
    std::string last = printable(job.place);
    if (job.waits()) {
      last = slurm_reason(job);
      if (!job.start.empty() && !is_far(job.start, view.now)) {
        last += ", starts " + slurm_start(job, view.now);
      }
    }
    table.add({{printable(job.handle)},
               {printable(job.name)},
               {printable(job.user)},
               {state_text(job), job.runs() ? Colour::Green : Colour::None},
               {slurm_want(job.want)},
               {last}});
  }
  return table.empty() ? "" : table.text(look);
}

std::string slurm_gpus_page(const SlurmFacts& facts, const Look& look) {
  Table table({{"GPU"},
               {"GIB", Align::Right},
               {"TAKEN", Align::Right},
               {"FREE", Align::Right},
               {"USED", Align::Right},
               {"JOBS"}});
  for (const SlurmNode& node : facts.nodes) {
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      const SlurmGpu& gpu = node.gpus[i];
      std::string jobs;
      for (const std::string& job : gpu.jobs) jobs += (jobs.empty() ? "" : ", ") + printable(job);
      if (!node.trouble.empty()) jobs += (jobs.empty() ? "" : "; ") + printable(node.trouble);
      const bool has_shards = gpu.gib > 0;
      table.add({{printable(node.name) + ":" + std::to_string(i)},
                 {has_shards ? std::to_string(gpu.gib) : "-"},
                 {gpu.is_whole ? "whole"
                  : has_shards ? std::to_string(gpu.taken)
                               : "-"},
                 {has_shards     ? std::to_string(gpu.free())
                  : gpu.is_whole ? "-"
                                 : "whole"},
                 {gpu.measured ? to_text(Bytes(gpu.measured->used_mib << 20)) : "-"},
                 {jobs}});
    }
  }
  if (!table.empty()) return table.text(look);
  return "none of Slurm's " + std::to_string(facts.nodes.size()) + " nodes has a GPU\n";
}

Json slurm_gpus_json(const SlurmFacts& facts) {
  Json gpus = Json::array();
  for (const SlurmNode& node : facts.nodes) {
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      const SlurmGpu& gpu = node.gpus[i];
      Json row = {{"node", printable(node.name)},
                  {"index", i},
                  {"capacity_bytes", gpu.gib << 30},
                  {"charged_bytes", gpu.taken << 30},
                  {"free_bytes", gpu.free() << 30},
                  {"is_whole", gpu.is_whole},
                  {"jobs", gpu.jobs},
                  {"trouble", printable(node.trouble)}};
      if (gpu.measured) {
        row["used_bytes"] = gpu.measured->used_mib << 20;
        row["foreign_bytes"] = gpu.measured->other_mib << 20;
      }
      gpus.push_back(std::move(row));
    }
  }
  return {{"gpus", std::move(gpus)}};
}

Json slurm_checks(const SlurmFacts& facts, std::string_view config) {
  const std::string version = setting_in(config, "SLURM_VERSION");
  const bool spreads =
      setting_in(config, "SelectTypeParameters").contains("MULTIPLE_SHARING_GRES_PJ");
  Json checks = Json::array();
  checks.push_back(check_row("slurm", "ok",
                             "Slurm " + version +
                                 " schedules; no berth-slurm runs here, so all is "
                                 "read from Slurm"));
  checks.push_back(words_check(config));
  if (auto held = held_check(facts)) checks.push_back(std::move(*held));
  checks.push_back(check_row("sharing", "ok",
                             spreads ? "a job may have memory on several GPUs, for a task each"
                                     : "a job shares one GPU of each node"));
  checks.push_back(mixture_check(facts, version));
  checks.push_back(devices_check(config));
  checks.push_back(agents_check(facts));
  return checks;
}

}  // namespace berth::cli
