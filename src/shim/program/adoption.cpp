#include "shim/program/adoption.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "shim/program/ending.hpp"
#include "shim/program/failure.hpp"
#include "shim/program/poll_set.hpp"
#include "shim/program/tree.hpp"
#include "shim/program/user.hpp"

namespace berth::shim {

namespace {

/// Between looks at what is below it: all processes of the machine are asked for their parents.
constexpr std::chrono::milliseconds kLookBelow = std::chrono::seconds(5);
/// The same while it ends: nobody tells the shim of the end of one that is not its child.
constexpr std::chrono::milliseconds kLookAtEnd{20};
constexpr std::chrono::milliseconds kKillAgain{100};
constexpr std::chrono::milliseconds kGraceForRest = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kKilledInVain = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(24 * 365);

bool is_over(const Descriptor& pidfd) {
  pollfd one{.fd = pidfd.number(), .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) > 0;
}

void send_if_heard(const Stat& stat, int signal) {
  if (takes(stat, signal)) send_to(stat, signal);
}

}  // namespace

Adoption::Adoption(const Spare& spare, Told told)
    : spare_(spare),
      order_(std::move(told.order)),
      attempt_(std::move(told.attempt)),
      log_(std::move(told.log), order_.log_cap) {}

void Adoption::run() {
  if (begin()) hold();
  conclude();
}

/// Returns: false if the process is not there any more, as the record says then.
bool Adoption::begin() {
  const Process& wanted = *order_.adopted;
  const std::string name = "process " + std::to_string(wanted.pid);
  int error = append_line(attempt_.number(), shim_line(spare_.self));
  process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, wanted.pid, 0)));
  const bool is_there = process_.is_open() && start_of(wanted.pid) == wanted.start;
  if (error == 0 && is_there) error = append_line(attempt_.number(), go_line(wanted));
  if (error != 0 || !is_there) {
    const Failure failure{Step::Record, error != 0 ? error : ESRCH};
    refusal_ = is_there ? describe(failure, order_) : name + " had ended before it was adopted";
    exit_ = exit_of(failure);
    log_.say_everywhere(refusal_);
    return false;
  }
  seen_ = {wanted};
  look();  // before anybody is told: it may end then
  log_.say_everywhere(name + " was started by hand and is adopted as this job; what it writes " +
                      "stays where it goes");
  send_event(spare_.daemon, Started{wanted});
  return true;
}

void Adoption::hold() {
  while (!seen_.empty() && !is_given_up_) {
    PollSet set;
    set.add(spare_.signals, POLLIN);
    if (!has_ended_) set.add(process_.number(), POLLIN);
    set.wait(timeout());
    look();
    if (set.has(spare_.signals, POLLIN)) take_signals();
    note_end();
    on_time();
  }
  note_end();
}

/// What it leaves behind has no owner any more, and is ended.
void Adoption::note_end() {
  if (has_ended_ || !is_over(process_)) return;
  has_ended_ = true;
  ended_at_ = wall_clock();
  if (!was_told_to_end_) end_tree();
}

/// Nobody tells how it ended by itself: a code of 0 stands for that.
Exit Adoption::end_of_it() const {
  const bool was_killed = killed_at_.has_value();
  return {.kind = was_told_to_end_ ? Exit::Kind::Signal : Exit::Kind::Code,
          .number = !was_told_to_end_ ? 0
                    : was_killed      ? SIGKILL
                                      : SIGTERM,
          .at = has_ended_ ? ended_at_ : wall_clock()};
}

void Adoption::look() {
  std::vector<Process> now;
  for (const Stat& stat : live_with_all_below(seen_)) now.push_back({stat.pid, stat.start});
  seen_ = std::move(now);
}

void Adoption::take_signals() {
  std::array<signalfd_siginfo, 4> taken;
  const Moved got = read_some(spare_.signals, reinterpret_cast<char*>(taken.data()), sizeof taken);
  for (std::size_t i = 0; i < got.bytes / sizeof taken[0]; ++i) {
    const auto signal = static_cast<int>(taken[i].ssi_signo);
    const bool has_value = taken[i].ssi_code == SI_QUEUE;
    const bool is_warning = signal == kWarnSignal && has_value;
    if (is_warning && !std::exchange(was_warned_, true)) {
      signal_as_user(taken[i].ssi_int, send_if_heard);
    }
    const bool is_end = signal == kSaveSignal || signal == kStopSignal || signal == kKillSignal;
    if (is_end && !std::exchange(was_told_to_end_, true) && has_value) {
      const std::string text = ended_text(order_.job, static_cast<EndedFor>(taken[i].ssi_int));
      if (!text.empty()) log_.say_everywhere(text);
    }
    obey(signal);
  }
}

/// It cannot be told to save its state: it never said how.
void Adoption::obey(int signal) {
  if (signal == kStopSignal || signal == kSaveSignal) end_tree();
  if (signal == kKillSignal) kill_tree();
}

void Adoption::signal_as_user(int signal, void (*send)(const Stat&, int)) {
  do_as(user_of(order_), [&] {
    for (const Stat& stat : live_with_all_below(seen_)) send(stat, signal);
  });
}

void Adoption::end_tree() {
  signal_as_user(SIGTERM, send_to);
  signal_as_user(SIGCONT, send_to);
  const auto grace = std::min(kLongestWait, std::chrono::milliseconds(order_.grace_millis));
  const auto at = Clock::now() + (has_ended_ ? std::min(grace, kGraceForRest) : grace);
  kill_at_ = std::min(at, kill_at_.value_or(at));
}

/// What is stopped forks no more, so that no round of killing misses a child of its.
void Adoption::kill_tree() {
  constexpr int kMostRounds = 100;
  for (const int signal : {SIGSTOP, SIGKILL}) {
    std::set<pid_t> known;
    bool is_new = true;
    for (int round = 0; is_new && round < kMostRounds; ++round) {
      is_new = false;
      for (const Stat& stat : live_with_all_below(seen_)) {
        if (!known.insert(stat.pid).second) continue;
        send_to(stat, signal);
        is_new = true;
      }
      look();
    }
  }
  if (!killed_at_) killed_at_ = Clock::now();
  is_given_up_ = !seen_.empty() && Clock::now() - *killed_at_ >= kKilledInVain;
  kill_at_ = Clock::now() + kKillAgain;
}

int Adoption::timeout() const {
  const auto next = has_ended_ || kill_at_ ? kLookAtEnd : kLookBelow;
  return static_cast<int>(next.count());
}

void Adoption::on_time() {
  if (kill_at_ && Clock::now() >= *kill_at_) kill_tree();
}

void Adoption::conclude() {
  if (!exit_) exit_ = end_of_it();
  append_line(attempt_.number(), exit_line(*exit_));
  send_event(spare_.daemon, Ended{.exit = *exit_, .note = notes()});
}

std::string Adoption::notes() const {
  if (!refusal_.empty()) return refusal_;
  if (!is_given_up_) return "";
  return std::to_string(seen_.size()) + (seen_.size() == 1 ? " process hangs" : " processes hang") +
         " in the kernel, killed, until let go; GPU memory that it still holds is foreign";
}

}  // namespace berth::shim
