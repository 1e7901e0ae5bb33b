#include "daemon/executor.hpp"

#include <set>

#include "daemon/oom.hpp"
#include "daemon/order.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kTail = 16 * 1024;  ///< Of a log, looked at for last words.

Outcome outcome_of(const shim::Exit& exit, const std::string& log) {
  if (is_oom(exit, [&] { return read_tail(log, kTail); })) return Outcome::Oom;
  return shim::shell_code(exit) == 0 ? Outcome::Done : Outcome::Failed;
}

}  // namespace

live::Ending ending_of(const shim::Exit& exit, const std::string& note, const std::string& log,
                       const Clock& clock) {
  return {.outcome = outcome_of(exit, log),
          .code = shim::shell_code(exit),
          .at = clock.at(exit.at),
          .note = note};
}

Expected<void> ShimExecutor::launch(const live::Assignment& assigned) {
  shim::Order order = order_of(assigned, options_, machine_);
  order.keeps_cgroup =
      limits_.begin(keeper_.engine().view(), order.job, order.attempt, order.cgroup);
  return launcher_.launch(order);
}

live::Trace ShimExecutor::adopt(JobId job, Attempt attempt) {
  const live::Trace trace = launcher_.adopt(job, attempt);
  if (trace == live::Trace::Lives) {
    limits_.adopt(keeper_.engine().view(), job, attempt,
                  cgroup_path(options_.cgroup, job, attempt));
  }
  return trace;
}

std::vector<std::string> ShimExecutor::sweep(const live::StandingOf& standing_of, JobId last) {
  std::set<std::string> current;
  keeper_.engine().view().for_each_job(
      [&](const Job& job) { current.insert(cgroup_path(options_.cgroup, job.id, job.attempt)); });
  limits_.sweep(current);
  return launcher_.sweep(standing_of, last);
}

void ShimExecutor::forget(JobId job, Attempt attempt) {
  launcher_.forget(job, attempt);
  limits_.forget(job, attempt, cgroup_path(options_.cgroup, job, attempt));
}

}  // namespace berth::daemon
