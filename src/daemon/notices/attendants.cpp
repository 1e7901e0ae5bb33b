#include "daemon/notices/attendants.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "live/command.hpp"

namespace berth::daemon {

/// Whether the job waits for its first start, and for this client.
bool Attendants::is_of(JobId id, pid_t process) const {
  const Job* const job = parts_.keeper.engine().view().find(id);
  if (job == nullptr || holds_berth(job->state) || job->attempt > Attempt(0)) return false;
  const auto blob = parts_.keeper.store().blob(job->spec.command);
  const auto command = blob ? live::decode_command(*blob) : std::unexpected(blob.error());
  return command && command->attach && !command->attach->optional &&
         command->attach->socket.starts_with("/proc/" + std::to_string(process) + "/");
}

void Attendants::on_follower(JobId job, pid_t process) {
  if (clients_.contains(job) || !is_of(job, process)) return;
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!pidfd.is_open()) return errno == ESRCH ? on_end(job, process) : void();
  auto watch = std::make_unique<Loop::Watch>(parts_.loop, pidfd.number(),
                                             [this, job, process] { on_end(job, process); });
  clients_.emplace(job, Client{.process = std::move(pidfd), .watch = std::move(watch)});
}

void Attendants::on_end(JobId job, pid_t process) {
  clients_.erase(job);
  if (is_of(job, process)) gone_(job);
}

}  // namespace berth::daemon
