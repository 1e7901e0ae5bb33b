#include "slurm/dependency.hpp"

#include <optional>
#include <string_view>

#include "core/base/split.hpp"
#include "slurm/texts.hpp"

namespace berth::slurm {

namespace {

Met judge_jobs(std::string_view kind, const Tally& jobs) {
  if (kind == "after") return jobs.pending == 0 ? Met::Yes : Met::NotYet;
  if (jobs.unfinished > 0) return Met::NotYet;
  const bool went_well = jobs.done == jobs.jobs;
  if (kind == "afterany" || jobs.jobs == 0) return Met::Yes;
  return went_well == (kind == "afternotok") ? Met::Never : Met::Yes;
}

/// `afterok:7_3(unfulfilled)`, `after:7_*+5(unfulfilled)`, `singleton(unfulfilled)`.
Met judge_part(std::string_view part, const JobRecord& job, const JobTable& jobs,
               std::int64_t now) {
  part = part.substr(0, part.find('('));
  if (part == "singleton") return jobs.is_next_of_its_name(job) ? Met::Yes : Met::NotYet;
  std::string_view delay = part;
  std::string_view name = next_part(delay, '+');
  const std::string_view kind = next_part(name, ':');
  const std::string_view number = name.substr(0, name.find('_'));
  const auto id = number_of<SlurmId>(number);
  const auto minutes =
      delay.empty() ? std::optional<std::int64_t>(0) : number_of<std::int64_t>(delay);
  if (!id || !minutes) return Met::NotYet;
  const std::string_view tasks = name.substr(number.size());
  const bool is_whole = tasks.empty() || tasks == "_*";
  const auto task = is_whole ? std::nullopt : number_of<std::uint32_t>(tasks.substr(1));
  if (!is_whole && !task) return Met::NotYet;
  if (*minutes > 0) {
    const std::int64_t start = is_whole ? jobs.last_start(*id) : jobs.last_start(*id, *task);
    if (kind != "after" || now < start + *minutes * 60) return Met::NotYet;
  }
  const Tally named = is_whole ? jobs.tally(*id) : jobs.tally(*id, *task);
  if (kind == "aftercorr") {  // for the task of the same number, if there is one
    const bool is_task = job.array != 0 && job.tasks.empty();
    const Tally counterpart = is_task ? jobs.tally(*id, job.task) : Tally();
    return judge_jobs("afterok", counterpart.jobs > 0 ? counterpart : named);
  }
  const bool is_known =
      kind == "after" || kind == "afterany" || kind == "afterok" || kind == "afternotok";
  return is_known ? judge_jobs(kind, named) : Met::NotYet;
}

}  // namespace

Met judge(const JobRecord& job, const JobTable& jobs, std::int64_t now) {
  std::string_view dependency = job.dependency;
  const bool any = dependency.find('?') != std::string_view::npos;
  bool waits = false;
  bool never = false;
  while (!dependency.empty()) {
    const Met met = judge_part(next_part(dependency, any ? '?' : ','), job, jobs, now);
    if (any && met == Met::Yes) return met;
    waits = waits || met == Met::NotYet;
    never = never || met == Met::Never;
  }
  if (any) return waits ? Met::NotYet : Met::Never;
  if (never) return Met::Never;
  return waits ? Met::NotYet : Met::Yes;
}

}  // namespace berth::slurm
