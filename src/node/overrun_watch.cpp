#include "node/overrun_watch.hpp"

#include <algorithm>
#include <utility>

#include "core/base/time.hpp"

namespace berth::node {

namespace {

constexpr auto kAskAgain = std::chrono::seconds(5);
/// How long the memory of a job that was ended may take to come back, before others end for it.
constexpr auto kReliefHere = std::chrono::seconds(5);
/// With which berth-slurm's note of a job begins.
constexpr std::string_view kOfBerthSlurm = "berth ";

std::set<std::uint32_t> jobs_on(const std::vector<NodeGpu>& gpus) {
  std::set<std::uint32_t> jobs;
  for (const NodeGpu& gpu : gpus) {
    for (const NodeHolding& holding : gpu.jobs) jobs.insert(holding.job);
  }
  return jobs;
}

bool names_same(const NodeOverrun& one, const NodeOverrun& other) {
  return one.job == other.job && one.gpu == other.gpu;
}

bool is_there(const std::string& state) {
  return state == "RUNNING" || state == "SUSPENDED" || state == "COMPLETING";
}

}  // namespace

OverrunRule OverrunWatch::rule() const {
  return {.context = rules_.context, .ends_all = rules_.overuse == daemon::Overuse::End};
}

std::set<std::uint32_t> OverrunWatch::leaving(Time now) {
  std::set<std::uint32_t> jobs;
  for (const auto& [job, at] : ended_) {
    if (now - at < kReliefHere) jobs.insert(job);
  }
  return jobs;
}

/// Returns: false if Slurm does not answer.
bool OverrunWatch::learn_one(std::uint32_t job, Time now) {
  const auto shown = ports_.slurm({"scontrol", "-o", "-d", "show", "job", std::to_string(job)});
  const auto grant = shown ? grant_in(*shown, job, rules_.node) : std::nullopt;
  if (grant) {
    grants_[job] = *grant;
    ask_again_.erase(job);
  } else {
    ask_again_[job] = now + kAskAgain;
  }
  return shown || shown.error().message.contains("Invalid job id");
}

/// A controller that does not answer is asked once in kAskAgain, and not for each job.
void OverrunWatch::learn(const std::set<std::uint32_t>& jobs, Time now) {
  bool answers = true;
  for (const std::uint32_t job : jobs) {
    const auto wait = ask_again_.find(job);
    const bool is_asked = wait != ask_again_.end() && now < wait->second;
    if (grants_.contains(job) || is_asked) continue;
    if (answers) {
      answers = learn_one(job, now);
    } else {
      ask_again_[job] = now + kAskAgain;
    }
  }
}

void OverrunWatch::forget_all_but(const std::set<std::uint32_t>& jobs) {
  const auto is_gone = [&](std::uint32_t job) { return !jobs.contains(job); };
  const auto is_gone_row = [&](const auto& row) { return is_gone(row.first); };
  std::erase_if(grants_, is_gone_row);
  std::erase_if(ask_again_, is_gone_row);
  std::erase_if(ended_, is_gone_row);
  std::erase_if(others_, is_gone);
  std::erase_if(warned_, is_gone);
}

/// The jobs that hold nothing yet are looked for only while a job holds too much: that reads the
/// names of all processes.
void OverrunWatch::look(const std::vector<NodeGpu>& gpus, Time now) {
  std::set<std::uint32_t> jobs = jobs_on(gpus);
  learn(jobs, now);
  const auto found = overruns_on(gpus, grants_, rule());
  if (found.empty()) return forget_all_but(jobs);
  jobs.merge(ports_.jobs_here());
  forget_all_but(jobs);
  learn(jobs, now);
  auto suspects = overruns_to_end(gpus, grants_, leaving(now), rule());
  std::erase_if(suspects, [&](const NodeOverrun& one) { return others_.contains(one.job); });
  if (!suspects.empty()) return end_those(suspects, now);
  if (rules_.overuse != daemon::Overuse::Warn) return;
  for (const NodeOverrun& overrun : found) warn(overrun);
}

/// Looked at once more, with what Slurm says now: a job that runs again may have another grant.
void OverrunWatch::end_those(const std::vector<NodeOverrun>& suspects, Time now) {
  for (const NodeOverrun& suspect : suspects) learn_one(suspect.job, now);
  const auto still = overruns_to_end(ports_.observe(), grants_, leaving(now), rule());
  for (const NodeOverrun& overrun : still) {
    const auto is_suspect = [&](const NodeOverrun& one) { return names_same(one, overrun); };
    if (std::ranges::any_of(suspects, is_suspect)) end(overrun, now);
  }
}

/// Slurm takes no note of a job that has ended, so it is told first. The note says what the job
/// held, and not that it was ended: that is true even if nothing follows. While a controller does
/// not answer nothing is ended: nobody could say of whose queue the job is, and Slurm starts none
/// beside it.
void OverrunWatch::end(const NodeOverrun& overrun, Time now) {
  const auto rows = ports_.slurm(identity_words(overrun.job));
  const auto identity = rows ? identity_in(*rows, overrun.job) : std::nullopt;
  if (!rows) {
    ports_.log("job " + std::to_string(overrun.job) + ": " + to_text(overrun) +
               ", and is not ended: " + rows.error().message);
  }
  if (!identity || !is_there(identity->state)) return;
  if (identity->admin_comment.starts_with(kOfBerthSlurm)) {
    others_.insert(overrun.job);
    return;
  }
  tell(*identity, overrun.job, "ended: " + to_text(overrun));
  const auto done = ports_.slurm({"scancel", identity->handle});
  if (overrun.is_lacked) ports_.kill(overrun.job, overrun.gpu);
  ended_[overrun.job] = now;
  ports_.log("job " + identity->handle + ": ended: " + to_text(overrun) +
             (done ? "" : "; scancel: " + done.error().message));
}

/// In its output, and for later. A job that is ending takes no more notes.
void OverrunWatch::tell(const JobIdentity& identity, std::uint32_t job, const std::string& note) {
  constexpr std::string_view kEnded = "ended: ";
  const std::string fact = note.starts_with(kEnded) ? note.substr(kEnded.size()) : note;
  const auto noted = ports_.slurm({"scontrol", "update", "jobid=" + identity.handle,
                                   "admincomment=" + with_note(identity.admin_comment, fact)});
  // By its number, which is this task's alone here.
  const auto said = ports_.slurm({"scontrol", "notify", std::to_string(job), "berth: " + note});
  for (const auto* done : {&noted, &said}) {
    if (*done) continue;
    ports_.log("job " + identity.handle + ": its user is not told: " + done->error().message);
  }
}

/// Once, also where an agent before this one did.
void OverrunWatch::warn(const NodeOverrun& overrun) {
  if (!warned_.insert(overrun.job).second) return;
  const auto rows = ports_.slurm(identity_words(overrun.job));
  const auto identity = rows ? identity_in(*rows, overrun.job) : std::nullopt;
  if (!identity || identity->state != "RUNNING") return;
  const std::string& comment = identity->admin_comment;
  if (comment.starts_with(kOfBerthSlurm) || comment.contains(kNoteMark)) return;
  tell(*identity, overrun.job, to_text(overrun) + "; it is ended if others need the rest");
}

}  // namespace berth::node
