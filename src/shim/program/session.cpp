#include "shim/program/session.hpp"

#include <malloc.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/text/text.hpp"
#include "shim/proc.hpp"
#include "shim/program/io.hpp"
#include "shim/program/user.hpp"

namespace berth::shim {

namespace {

Exit exit_of_status(int status) {
  const bool signalled = WIFSIGNALED(status);
  return {.kind = signalled ? Exit::Kind::Signal : Exit::Kind::Code,
          .number = signalled ? WTERMSIG(status) : WEXITSTATUS(status),
          .at = wall_clock()};
}

/// Gives the memory of the arguments and the environment back; the name is kept for messages.
void drop_words(Order& order) {
  std::size_t size = 0;
  for (const auto& word : order.environment) size += word.size();
  for (const auto& word : order.arguments) size += word.size();
  order.environment = std::vector<std::string>();  // `{}` would keep its room
  order.arguments = {order.arguments.front()};
  if (size > kLargestPacket) malloc_trim(0);
}

/// Of two times to wait; -1 is without end.
int earlier(int one, int other) {
  if (one < 0 || other < 0) return std::max(one, other);
  return std::min(one, other);
}

/// The signals by which the daemon wants it to end.
constexpr std::array kEnds{kStopSignal, kSaveSignal, kKillSignal};

bool is_end(std::uint32_t signal) {
  return std::ranges::find(kEnds, static_cast<int>(signal)) != kEnds.end();
}

/// False once the daemon wants it to end: that signal is taken later.
bool is_wanted() {
  sigset_t waiting;
  if (sigpending(&waiting) != 0) return true;
  return std::ranges::none_of(kEnds,
                              [&](int signal) { return sigismember(&waiting, signal) == 1; });
}

}  // namespace

Session::Session(const Spare& spare, Told told)
    : spare_(spare),
      order_(std::move(told.order)),
      attempt_(std::move(told.attempt)),
      log_(std::move(told.log), order_.log_cap) {}

void Session::run() {
  failure_ = start();
  // What its client has sent already would be lost on the way to the next shim.
  const bool has_client = pump_ && pump_->has_client();
  if (is_of_machine(failure_) && !has_client) return give_back();
  if (launched_) hold();
  conclude();
}

Failure Session::start() {
  if (const int error = append_line(attempt_.number(), shim_line(spare_.self))) {
    return {Step::Record, error};
  }
  if (!order_.attach) return start_with(std::nullopt);
  auto client = connect_client(order_, *order_.attach);
  if (client) return start_with(std::move(*client));
  return order_.attach->optional ? start_with(std::nullopt) : client.error();
}

Failure Session::start_with(std::optional<Client> client) {
  auto streams = make_streams(order_, client ? client->outputs() : Outputs::Apart);
  if (!streams) {
    pump_.emplace(ShimEnds{}, log_, std::move(client));
    return streams.error();
  }
  if (!order_.output.empty()) {
    auto copy = Copy::begin(order_);
    const Failure failure = copy ? copy->wait_open(is_wanted) : copy.error();
    if (failure.step != Step::None) {
      pump_.emplace(ShimEnds{}, log_, std::move(client));
      return failure;
    }
    log_.also_to(std::move(*copy));
  }
  const off_t before_go = lseek(attempt_.number(), 0, SEEK_END);
  auto launched = launch(order_, streams->job, attempt_.number());
  pump_.emplace(std::move(streams->shim), log_, std::move(client));
  if (order_.attach && order_.attach->optional) pump_->let_go();
  if (!launched) return launched.error();
  if (is_of_machine(launched->failure())) {  // and ended by itself, before its program ran
    if (ftruncate(attempt_.number(), before_go) != 0) return {Step::Record, errno};
    return launched->failure();
  }
  launched_ = *launched;
  ending_.emplace(launched->pid(), order_);
  elsewhere_.emplace(user_of(order_));
  // One that stayed behind empty would say that the job can be ended by it.
  if (launched->cgroup_error() != 0 && !order_.keeps_cgroup) rmdir(order_.cgroup.c_str());
  const auto stat = stat_of(launched->pid());
  send_event(spare_.daemon, Started{{launched->pid(), stat ? stat->start : 0}});
  drop_words(order_);
  return {};
}

/// Until the job's process and all below it are gone, or never will be.
void Session::hold() {
  for (bool is_left = true; is_left && ending_->hanging() == 0;) {
    PollSet set;
    set.add(spare_.signals, POLLIN);
    pump_->watch(set);
    set.wait(earlier(elsewhere_->timeout(), earlier(ending_->timeout(), pump_->timeout())));
    obey(pump_->move(set));
    if (set.has(spare_.signals, POLLIN)) is_left = take_signals();
    if (!is_left) break;
    elsewhere_->on_time();
    ending_->on_time();
  }
}

/// Returns: false if the tree is gone.
bool Session::take_signals() {
  std::array<signalfd_siginfo, 4> taken;
  const Moved got = read_some(spare_.signals, reinterpret_cast<char*>(taken.data()), sizeof taken);
  bool is_left = true;
  for (std::size_t i = 0; i < got.bytes / sizeof taken[0]; ++i) {
    if (taken[i].ssi_signo == SIGCHLD) is_left = reap();
    if (is_end(taken[i].ssi_signo) && !std::exchange(was_told_to_end_, true)) {
      const bool says_why = taken[i].ssi_code == SI_QUEUE;
      say_end(says_why ? static_cast<EndedFor>(taken[i].ssi_int) : EndedFor::Unsaid);
    }
    if (taken[i].ssi_signo == kSaveSignal) ending_->save();
    if (taken[i].ssi_signo == kStopSignal) ending_->stop();
    if (taken[i].ssi_signo == kKillSignal) ending_->kill();
    if (taken[i].ssi_signo == kAttachSignal) attach();
    const bool is_warning = taken[i].ssi_signo == kWarnSignal && taken[i].ssi_code == SI_QUEUE;
    if (is_warning && !std::exchange(was_warned_, true)) warn(taken[i].ssi_int);
  }
  return is_left;
}

/// Before the job hears of it: what it says to that comes after.
void Session::say_end(EndedFor why) {
  if (const std::string text = ended_text(order_.job, why); !text.empty())
    log_.say_everywhere(text);
}

/// Of a shell around a program, the program alone: what does not handle it would die of it.
void Session::warn(int signal) {
  if (ending_->warn(signal, pump_->foreground())) return;
  const char* const name = sigabbrev_np(signal);
  log_.say_everywhere("no process of the job handles SIG" + std::string(name ? name : "?") +
                      ", which was to warn it of its time limit");
}

/// The kernel tells a terminal's foreground of another size only, and a screen has to be drawn anew
/// for another reader, too.
void Session::attach() {
  const auto request = take_attach_request(attempt_.number());
  if (!request) return;
  auto client = connect_client(order_, *request);
  if (!client) return;  // it has gone meanwhile, or is not the job's user
  was_attached_ = true;
  pump_->replace(std::move(*client), *request);
  if (pump_->has_terminal()) ending_->pass_on(SIGWINCH, pump_->foreground());
}

/// Reaps ended processes. Returns: false if no process is left: a process that loses its parent
/// becomes ours, so without a child there is no tree.
bool Session::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) return false;
    if (pid == 0) break;
    collect(pid, status);
  }
  if (exit_ && !had_leftovers_) {
    had_leftovers_ = true;
    elsewhere_->look();
    ending_->job_ended();
  }
  return true;
}

void Session::collect(pid_t pid, int status) {
  if (pid == launched_->pid()) {
    exit_ = exit_of_status(status);
    failure_ = launched_->failure();
  } else if (ending_->ends_leftovers() && !was_told_to_end_) {
    ++left_behind_;
  }
}

void Session::obey(const Wishes& wishes) {
  for (const int signal : wishes.signals) {
    if (was_attached_) passed_by_attached_ = signal;
    ending_->pass_on(signal, pump_->foreground());
  }
  if (!wishes.hung_up) return;
  was_hung_up_ = true;
  ending_->hang_up(pump_->foreground());
}

/// The record says that nothing ran by what it lacks: a daemon that comes later launches it again.
void Session::give_back() {
  if (!order_.cgroup.empty() && !order_.keeps_cgroup) rmdir(order_.cgroup.c_str());
  send_event(spare_.daemon, Unstarted{.why = describe(failure_, order_)});
}

void Session::conclude() {
  if (launched_ && !exit_) {  // its own process hangs
    exit_ = Exit{.kind = Exit::Kind::Signal, .number = SIGKILL, .at = wall_clock()};
  }
  if (pump_) pump_->drain();
  log_.finish();
  if (log_.copy() != nullptr) log_.copy()->finish();
  if (exit_ && shell_code(*exit_) != 0 && !was_told_to_end_) show_ends_elsewhere();
  if (failure_.step != Step::None) report_failure();
  report();
  if (pump_) pump_->finish(shell_code(*exit_));
  if (!order_.cgroup.empty() && !order_.keeps_cgroup) rmdir(order_.cgroup.c_str());
}

void Session::show_ends_elsewhere() {
  for (const Elsewhere::End& end : elsewhere_->ends()) {
    log_.quote("its errors went to " + shown(end.file) + ", which ends so:", end.text);
  }
}

void Session::report_failure() {
  const std::string words = describe(failure_, order_);
  if (pump_) {
    pump_->say(words);
  } else {
    log_.say(words);
  }
  exit_ = exit_of(failure_);
}

/// The record before the event: a daemon that dies between them finds it.
void Session::report() {
  append_line(attempt_.number(), exit_line(*exit_));
  send_event(spare_.daemon, Ended{.exit = *exit_, .note = notes()});
}

std::string Session::notes() const {
  std::vector<std::string> notes = log_.notes();
  if (failure_.step != Step::None) notes.push_back(describe(failure_, order_));
  if (passed_by_attached_ != 0) {
    const char* const name = sigabbrev_np(passed_by_attached_);
    notes.push_back("berth attach sent it SIG" + std::string(name == nullptr ? "?" : name));
  }
  if (was_hung_up_) notes.push_back("its terminal or its client was gone: it was sent SIGHUP");
  if (ending_ && ending_->outlasted_grace()) {
    notes.push_back("killed, as it had not ended " +
                    duration_text(std::chrono::milliseconds(order_.grace_millis)) +
                    " after it was told to");
  }
  if (left_behind_ > 0) {
    notes.push_back("ended " + std::to_string(left_behind_) +
                    (left_behind_ == 1 ? " process left behind" : " processes left behind"));
  }
  if (const int hanging = ending_ ? ending_->hanging() : 0; hanging > 0) {
    notes.push_back(
        std::to_string(hanging) + (hanging == 1 ? " process hangs" : " processes hang") +
        " in the kernel, killed, until let go; GPU memory that it still holds is foreign");
  }
  if (launched_ && launched_->cgroup_error() != 0) {
    notes.push_back(std::string("not in its cgroup: ") +
                    strerrordesc_np(launched_->cgroup_error()));
  }
  std::string text;
  for (const std::string& note : notes) text += (text.empty() ? "" : "; ") + note;
  return text;
}

}  // namespace berth::shim
