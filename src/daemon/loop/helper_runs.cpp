#include "daemon/loop/helper_runs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "daemon/loop/helper.hpp"
#include "daemon/loop/processes.hpp"

namespace berth::daemon {

struct HelperRuns::Run {
  HelperProcess process;
  Over over;  ///< Empty once it was called.
  HelperEnd end;
  bool ends_group = false;
  std::size_t most_said = 0;
  std::unique_ptr<Loop::Watch> speech;
  std::unique_ptr<Loop::Watch> exit;
  std::unique_ptr<Loop::Alarm> limit;
};

HelperRuns::HelperRuns(Loop& loop) : loop_(loop) {}

HelperRuns::~HelperRuns() {
  for (const auto& [pid, run] : runs_) {
    if (run->ends_group) ::kill(-pid, SIGKILL);
    send_signal(run->process.pidfd, SIGKILL);
  }
}

Expected<void> HelperRuns::start(const HelperOrder& order, Over over) {
  const auto input = helper_input(order.input);
  if (!input) return std::unexpected(input.error());
  auto process = start_helper(order.flag, *input, order.variables);
  if (!process) return std::unexpected(process.error());
  ::fcntl(process->output.number(), F_SETFL, O_NONBLOCK);  // others may hold its other end
  const pid_t pid = process->pid;
  Run& run = *(runs_[pid] = std::make_unique<Run>());
  run.process = std::move(*process);
  run.over = std::move(over);
  run.ends_group = order.ends_group;
  run.most_said = order.most_said;
  run.speech = std::make_unique<Loop::Watch>(loop_, run.process.output.number(),
                                             [this, &run] { hear(run); });
  run.exit = std::make_unique<Loop::Watch>(loop_, run.process.pidfd.number(), [this, &run, pid] {
    while (run.speech) {  // to its last word
      const std::size_t before = run.end.said.size();
      hear(run);
      if (run.end.said.size() == before) break;
    }
    if (run.ends_group) ::kill(-pid, SIGKILL);
    run.end.is_well = reap(run.process.pidfd) == "exit status 0";
    conclude(run);
    runs_.erase(pid);
  });
  run.limit = std::make_unique<Loop::Alarm>(loop_, [this, &run, pid] {
    ::kill(-pid, SIGKILL);  // its session's; the number is its own until it is reaped
    send_signal(run.process.pidfd, SIGKILL);
    run.end.was_too_slow = true;
    conclude(run);
  });
  run.limit->set(order.most);
  return {};
}

void HelperRuns::hear(Run& run) {
  std::array<char, 16'384> bytes;
  const ssize_t got = ::read(run.process.output.number(), bytes.data(), bytes.size());
  if (got == 0) return run.speech.reset();  // its end is told by the pidfd
  const std::size_t room = run.most_said - run.end.said.size();
  if (got > 0) run.end.said.append(bytes.data(), std::min(room, static_cast<std::size_t>(got)));
}

void HelperRuns::conclude(Run& run) {
  run.speech.reset();
  if (const Over over = std::exchange(run.over, nullptr)) over(run.end);
}

}  // namespace berth::daemon
