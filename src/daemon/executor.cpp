#include "daemon/executor.hpp"

#include <unistd.h>

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
  return launcher_.launch(order_of(assigned, options_, machine_));
}

void ShimExecutor::forget(JobId job, Attempt attempt) {
  launcher_.forget(job, attempt);
  if (options_.cgroup.empty()) return;
  ::rmdir(cgroup_path(options_.cgroup, job, attempt).c_str());  // one that no shim came to remove
}

}  // namespace berth::daemon
