#include "cli/slurm/ask_slurm.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "cli/print/output.hpp"
#include "core/text/counted.hpp"
#include "http/address.hpp"

namespace berth::cli {

namespace {

/// What a command prints. Requires: a text of ours, as a shell reads it.
Expected<std::string> output_of_command(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return fail(ErrorCode::Io, command + ": cannot be started");
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), size);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  constexpr int kNoSuchCommand = 127;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSuchCommand) {
    return fail(
        ErrorCode::NotFound,
        "$BERTH_BACKEND is slurm, no berth-slurm runs here, and there is no scontrol to ask "
        "Slurm by");
  }
  return fail(ErrorCode::Io, command + ": " + printable(text.substr(0, text.find('\n'))));
}

/// Each asked for alone, up to a bound. Returns: how many could not be told.
std::size_t add_uncertain(SlurmShown& told, const SlurmIds& ids) {
  constexpr std::size_t kMost = 500;  // some milliseconds each
  std::vector<std::int64_t> jobs = told.uncertain;
  if (jobs.empty()) return 0;
  jobs.resize(std::min(jobs.size(), kMost));
  const auto names = output_of_command(slurm_names_command(jobs));
  std::size_t added = 0;
  for (const std::int64_t job : jobs) {
    const auto own = ids.find(job);
    const std::string alone = own->second.empty() ? std::to_string(job) : own->second;
    const auto shown = output_of_command("scontrol -o -d show job " + alone);
    auto record = shown && names ? slurm_record(*shown, *names, *own) : std::nullopt;
    if (!record) continue;
    told.records.push_back(std::move(*record));
    ++added;
  }
  std::ranges::sort(told.records, {}, &SlurmRecord::id);
  return told.uncertain.size() - added;
}

}  // namespace

bool is_for_slurm(const CommonOptions& options) {
  const SocketChoice choice = choose_socket(options);
  struct stat status{};
  return choice.path == http::kSlurmSocket && ::stat(choice.path.c_str(), &status) != 0;
}

Expected<SlurmFacts> ask_slurm() {
  const auto nodes = output_of_command("scontrol -o -d show node");
  if (!nodes) return std::unexpected(nodes.error());
  const auto jobs = output_of_command("scontrol -o -d show job");
  if (!jobs) return std::unexpected(jobs.error());
  const auto rows = output_of_command(std::string(kSlurmIdsCommand));  // later: it has no fewer
  if (!rows) return std::unexpected(rows.error());
  const SlurmIds ids = slurm_ids(*rows);
  SlurmShown told = slurm_records(*jobs, ids);
  const std::size_t left_out = add_uncertain(told, ids);
  if (left_out > 0) {
    std::fprintf(stderr, "berth: %s left out, with texts that look like Slurm's\n",
                 number_of_things(left_out, "jobs").c_str());
  }
  SlurmFacts facts = slurm_facts(*nodes, told.records);
  // Without these the rest is as true as it was.
  add_reservations(facts, output_of_command("scontrol -o show reservation").value_or(""));
  add_partitions(facts, output_of_command("scontrol -o show partition").value_or(""));
  return facts;
}

Expected<std::string> ask_slurm_config() { return output_of_command("scontrol show config"); }

std::string slurm_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local)};
}

Expected<std::vector<SlurmJob>> slurm_jobs_named(const SlurmFacts& facts,
                                                 const std::vector<std::string>& typed) {
  std::vector<SlurmJob> jobs;
  if (typed.empty()) {
    std::ranges::copy_if(facts.jobs, std::back_inserter(jobs), &SlurmJob::runs);
    std::ranges::copy_if(facts.jobs, std::back_inserter(jobs), &SlurmJob::waits);
    return jobs;
  }
  for (const std::string& name : typed) {
    const std::size_t before = jobs.size();
    std::ranges::copy_if(facts.jobs, std::back_inserter(jobs), [&](const SlurmJob& job) {
      return job.names.contains(name) || job.name == name || slurm_handle_has(job.handle, name);
    });
    if (jobs.size() == before) {
      return fail(ErrorCode::NotFound, "job " + name +
                                           ": Slurm knows no such job (any more); sacct has those "
                                           "that ended long ago, where there is a slurmdbd");
    }
  }
  return jobs;
}

}  // namespace berth::cli
