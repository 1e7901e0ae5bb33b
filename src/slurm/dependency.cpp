#include "slurm/dependency.hpp"

#include <algorithm>

#include "slurm/texts.hpp"

namespace berth::slurm {

namespace {

Met judge_jobs(std::string_view kind, const std::vector<const JobRecord*>& jobs) {
  const auto all = [&](auto is_so) { return std::ranges::all_of(jobs, is_so); };
  const auto is_over = [](const JobRecord* job) { return job->phase == Phase::Over; };
  const auto went_well = [](const JobRecord* job) { return job->outcome == Outcome::Done; };
  if (jobs.empty()) return Met::Yes;
  if (kind == "after") {
    const bool began = all([](const JobRecord* job) { return job->phase != Phase::Pending; });
    return began ? Met::Yes : Met::NotYet;
  }
  if (kind == "afterok" && std::ranges::any_of(jobs, [&](const JobRecord* job) {
        return is_over(job) && !went_well(job);
      })) {
    return Met::Never;
  }
  if (!all(is_over)) return Met::NotYet;
  if (kind == "afternotok") return all(went_well) ? Met::Never : Met::Yes;
  return Met::Yes;
}

/// `afterok:7_3(unfulfilled)`.
Met judge_part(std::string_view part, const FindJobs& find) {
  part = part.substr(0, part.find('('));
  const std::size_t colon = part.find(':');
  const std::string_view kind = part.substr(0, colon);
  const bool is_known =
      kind == "after" || kind == "afterany" || kind == "afterok" || kind == "afternotok";
  if (!is_known || colon == std::string_view::npos) return Met::NotYet;
  std::string_view job = part.substr(colon + 1);
  const std::size_t line = job.find('_');
  std::optional<std::uint32_t> task;
  if (line != std::string_view::npos && job.substr(line) != "_*") {
    task = number_of<std::uint32_t>(job.substr(line + 1));
    if (!task) return Met::NotYet;
  }
  const auto id = number_of<SlurmId>(job.substr(0, line));
  return id ? judge_jobs(kind, find(*id, task)) : Met::NotYet;
}

}  // namespace

Met judge(std::string_view dependency, const FindJobs& find) {
  const bool any = dependency.find('?') != std::string_view::npos;
  bool waits = false;
  bool never = false;
  while (!dependency.empty()) {
    const std::size_t end = dependency.find_first_of(",?");
    const Met met = judge_part(dependency.substr(0, end), find);
    if (any && met == Met::Yes) return met;
    waits = waits || met == Met::NotYet;
    never = never || met == Met::Never;
    dependency = end == std::string_view::npos ? "" : dependency.substr(end + 1);
  }
  if (any) return waits ? Met::NotYet : Met::Never;
  if (never) return Met::Never;
  return waits ? Met::NotYet : Met::Yes;
}

}  // namespace berth::slurm
