// berth-shim: holds one job. A daemon starts it beforehand, as a spare, with a socket as descriptor
// 3; see order.hpp for what is said there, and record.hpp for what it leaves behind.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "posix/keyring.hpp"
#include "shim/proc.hpp"
#include "shim/program/adoption.hpp"
#include "shim/program/session.hpp"

namespace berth::shim {

namespace {

constexpr int kDaemon = 3;

/// So that no descriptor of ours ever is 0, 1 or 2, and none of the daemon's is the job's.
void settle_descriptors() {
  int file = 0;
  while ((file = open("/dev/null", O_RDWR)) >= 0 && file < kDaemon) {
  }
  close_range(kDaemon + 1, ~0U, 0);
  fcntl(kDaemon, F_SETFD, FD_CLOEXEC);
}

/// Everything at its default, whatever the daemon ignored; the job gets it so. Returns: a signalfd.
int settle_signals() {
  // The kernel's own call, for libc keeps its hands off two that a careless parent ignores: those
  // of its threads. Its structure of zeros is the default on every machine.
  constexpr std::array<unsigned long, 4> kDefault{};
  constexpr int kLast = 64;
  for (int number = 1; number <= kLast; ++number) {
    syscall(SYS_rt_sigaction, number, kDefault.data(), nullptr, kLast / 8);
  }
  for (const int number : {SIGPIPE, SIGHUP, SIGINT}) signal(number, SIG_IGN);
  sigset_t heard;
  sigemptyset(&heard);
  for (const int number :
       {SIGCHLD, kSaveSignal, kStopSignal, kKillSignal, kWarnSignal, kAttachSignal}) {
    sigaddset(&heard, number);
  }
  sigprocmask(SIG_SETMASK, &heard, nullptr);
  return signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Returns: false if a signal came first; a spare has nothing to stop.
bool wait_for_daemon(int signals) {
  for (;;) {
    PollSet set;
    set.add(kDaemon, POLLIN);
    set.add(signals, POLLIN);
    set.wait(-1);
    if (set.has(kDaemon, POLLIN)) return true;
    if (set.has(signals, POLLIN)) return false;
  }
}

int refuse(const Error& error) {
  if (error.code == ErrorCode::Io) {
    constexpr std::string_view kWords = "berth-shim: is started by berthd, not by hand\n";
    write_some(STDERR_FILENO, kWords);
    return 2;
  }
  const Exit exit{.kind = Exit::Kind::Setup, .number = EBADMSG, .at = wall_clock()};
  send_event(kDaemon, Ended{.exit = exit, .note = error.message});
  return 1;
}

int serve() {
  settle_descriptors();
  setsid();
  join_own_session_keyring();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t self = getpid();
  const auto stat = stat_of(self);
  const Spare spare{.daemon = kDaemon,
                    .signals = settle_signals(),
                    .self = {.pid = self, .start = stat ? stat->start : 0}};
  if (!wait_for_daemon(spare.signals)) return 0;
  auto told = receive_order(kDaemon);
  if (!told) return refuse(told.error());
  if (!*told) return 0;
  if ((*told)->order.adopted) {
    Adoption(spare, std::move(**told)).run();
  } else {
    Session(spare, std::move(**told)).run();
  }
  return 0;
}

}  // namespace

}  // namespace berth::shim

int main() {
  // No destructors: the kernel is faster at it, and nothing is buffered.
  _exit(berth::shim::serve());
}
