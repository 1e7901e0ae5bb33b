#include "daemon/suspend/suspend_helper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "core/text/text.hpp"
#include "daemon/attempts/descent.hpp"
#include "daemon/loop/processes.hpp"
#include "gpu/checkpoint.hpp"
#include "gpu/nvml.hpp"
#include "posix/error.hpp"
#include "shim/proc.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kSoon = minutes(1);
constexpr Duration kLater = minutes(10);
constexpr int kMostLooks = 200;  ///< Looks for memory that a driver is slow to show as gone.
constexpr auto kPause = std::chrono::milliseconds(10);

void say(const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(STDOUT_FILENO, whole.data(), whole.size()) < 0) ::_exit(1);  // nobody listens
}

std::string name_of(pid_t pid) {
  const std::string name = process_name(pid);
  return std::to_string(pid) + (name.empty() ? "" : " (" + name + ")");
}

Duration wait_after(ErrorCode code) {
  if (code == ErrorCode::InvalidArgument) return kForever;
  return code == ErrorCode::Conflict || code == ErrorCode::NotFound ? kSoon : kLater;
}

bool lives(const shim::Process& process) { return shim::start_of(process.pid) == process.start; }

// ---- Freezing --------------------------------------------------------------------------------

Expected<void> write_to(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool wrote = file.is_open() && ::write(file.number(), text.data(), text.size()) ==
                                           static_cast<ssize_t>(text.size());
  return wrote ? Expected<void>() : Expected<void>(io_error(path));
}

void send(const shim::Process& process, int signal) {
  if (const auto pidfd = open_process(process)) send_signal(*pidfd, signal);
}

/// Until two rounds meet no new process: a stopped one makes none, and one that a round missed,
/// because its parent ended just then, is below the shim in the next.
void stop_all(pid_t shim) {
  std::set<pid_t> stopped;
  for (int quiet_rounds = 0; quiet_rounds < 2;) {
    const std::size_t before = stopped.size();
    for (const shim::Process& process : processes_below(shim)) {
      send(process, SIGSTOP);
      stopped.insert(process.pid);
    }
    quiet_rounds = stopped.size() == before ? quiet_rounds + 1 : 0;
  }
}

Expected<void> freeze(const Errand& errand) {
  if (errand.cgroup.empty()) {
    stop_all(errand.shim);
    return {};
  }
  return write_to(errand.cgroup + "/cgroup.freeze", "1");
}

Expected<void> thaw(const Errand& errand) {
  if (!errand.cgroup.empty()) return write_to(errand.cgroup + "/cgroup.freeze", "0");
  for (const shim::Process& process : processes_below(errand.shim)) send(process, SIGCONT);
  return {};
}

// ---- The errands -----------------------------------------------------------------------------

class Helper {
 public:
  Helper(Errand errand, CheckpointPort& port) : errand_(std::move(errand)), port_(port) {}

  Expected<void> suspend() {
    if (auto found = find_holders(); !found) return found;
    for (const Holder& holder : errand_.holders) say_holder(holder);
    if (!may_go()) ::_exit(0);  // its daemon changed its mind
    // Both orders by pid: which process waits for which never depends on chance.
    if (auto done = for_each_in(ProcessState::Running, "locked",
                                [&](const Holder& holder) {
                                  return port_.lock(holder.process.pid, errand_.lock_timeout);
                                });
        !done) {
      return done;
    }
    if (auto done =
            for_each_in(ProcessState::Locked, "checkpointed",
                        [&](const Holder& holder) { return port_.checkpoint(holder.process.pid); });
        !done) {
      return done;
    }
    if (auto done = freeze(errand_); !done) return done;
    say("did frozen");
    return see_memory_gone();
  }

  Expected<void> resume() {
    if (auto done = thaw(errand_); !done) return done;
    say("did thawed");
    if (auto done = for_each_in(ProcessState::Checkpointed, "restored",
                                [&](const Holder& holder) {
                                  const auto moves = moves_of(holder);
                                  return port_.restore(holder.process.pid, moves);
                                });
        !done) {
      return done;
    }
    return for_each_in(ProcessState::Locked, "unlocked",
                       [&](const Holder& holder) { return port_.unlock(holder.process.pid); });
  }

 private:
  using Held = std::map<pid_t, Bytes>;

  /// Processes of the job with memory on its GPUs, as the driver shows them now.
  Expected<Held> held_now() {
    if (!gpus_) {
      auto opened = Nvml::open(errand_.nvml);
      if (!opened) return std::unexpected(opened.error());
      gpus_ = std::move(*opened);
    }
    const auto devices = gpus_->devices();
    if (!devices) return std::unexpected(devices.error());
    const Shims shims{{errand_.shim, errand_.job}};
    Kinship kinship(shims);
    Held held;
    for (const Device& device : devices->list) {
      if (std::ranges::find(errand_.gpus, device.uuid) == errand_.gpus.end()) continue;
      const auto sample = gpus_->glance(device.index);
      if (!sample) return std::unexpected(sample.error());
      if (!sample->processes) {
        return fail(ErrorCode::InvalidArgument, "GPU " + std::to_string(device.index) +
                                                    ": the driver does not list its processes");
      }
      for (const GpuProcess& process : *sample->processes) {
        if (!std::holds_alternative<OfJob>(kinship.of(process.pid))) continue;
        if (process.is_mps_client) {  // by the driver's word: a name is no server's alone
          return fail(ErrorCode::InvalidArgument,
                      "process " + name_of(process.pid) + " uses GPU " +
                          std::to_string(device.index) +
                          " through MPS, whose clients cannot be checkpointed");
        }
        held[process.pid] = held[process.pid] + process.bytes.value_or(Bytes(0));
      }
    }
    return held;
  }

  Expected<void> find_holders() {
    const auto held = held_now();
    if (!held) return std::unexpected(held.error());
    std::erase_if(errand_.holders, [](const Holder& holder) { return !lives(holder.process); });
    for (const auto& [pid, bytes] : *held) {
      const auto known =
          std::ranges::find(errand_.holders, pid, [](const Holder& h) { return h.process.pid; });
      if (known != errand_.holders.end()) {
        known->bytes = std::max(known->bytes, bytes);
        continue;
      }
      const auto start = shim::start_of(pid);
      if (!start) continue;
      errand_.holders.push_back({.process = {pid, *start}, .bytes = bytes, .gpus = errand_.gpus});
    }
    std::ranges::sort(errand_.holders, {}, [](const Holder& h) { return h.process.pid; });
    return {};
  }

  static void say_holder(const Holder& holder) {
    std::string line = "holds " + std::to_string(holder.process.pid) + " " +
                       std::to_string(holder.process.start) + " " +
                       std::to_string(holder.bytes.raw());
    for (const std::string& gpu : holder.gpus) line += " " + gpu;
    say(line);
  }

  static bool may_go() {
    say("asks");
    std::string answer;
    char letter = 0;
    while (answer.size() < kGo.size() && ::read(STDIN_FILENO, &letter, 1) == 1) answer += letter;
    return answer == kGo;
  }

  /// Calls step(holder) for each that is in this state. One that has ended is no error.
  template <class Step>
  Expected<void> for_each_in(ProcessState wanted, const char* words, Step step) {
    for (const Holder& holder : errand_.holders) {
      const pid_t pid = holder.process.pid;
      const auto state = port_.state(pid);
      if (!lives(holder.process)) continue;
      if (!state) return std::unexpected(state.error());
      if (*state == ProcessState::Failed) {
        return fail(ErrorCode::Io,
                    "the driver could not checkpoint process " + name_of(pid) + " and gave it up");
      }
      if (*state != wanted) continue;
      const auto done = step(holder);
      if (!lives(holder.process)) continue;
      if (!done) return done;
      say("did " + std::string(words) + " " + std::to_string(pid));
    }
    return {};
  }

  std::vector<GpuMove> moves_of(const Holder& holder) const {
    std::vector<GpuMove> moves;
    bool moves_any = false;
    for (std::size_t i = 0; i < holder.gpus.size() && i < errand_.gpus.size(); ++i) {
      moves.push_back({holder.gpus[i], errand_.gpus[i]});
      moves_any = moves_any || holder.gpus[i] != errand_.gpus[i];
    }
    return moves_any ? moves : std::vector<GpuMove>();
  }

  /// A process that was made, or that first used a GPU, after the job's were counted.
  Expected<void> see_memory_gone() {
    Held held;
    for (int look = 0; look < kMostLooks; ++look) {
      const auto now = held_now();
      if (!now) return std::unexpected(now.error());
      held = *now;
      if (held.empty()) return {};
      std::this_thread::sleep_for(kPause);
    }
    const auto& [pid, bytes] = *held.begin();
    return fail(ErrorCode::Conflict, "process " + name_of(pid) + " still holds " + to_text(bytes) +
                                         " of GPU memory after the checkpoint");
  }

  Errand errand_;
  CheckpointPort& port_;
  std::unique_ptr<GpuPort> gpus_;
};

int tell(const Expected<void>& done) {
  if (done) {
    say("done");
    return 0;
  }
  const Duration again = wait_after(done.error().code);
  say("failed " + std::to_string(again == kForever ? -1 : micros(again) / 1'000'000) + " " +
      done.error().message);
  return 1;
}

int run(Errand errand) {
  auto opened = open_checkpoints(errand.cuda);
  if (!opened) return tell(std::unexpected(opened.error()));
  if (errand.what == Errand::What::Probe) {
    // It has no GPU memory, so the answer is another error where there are checkpoints.
    const auto state = opened->port->state(::getpid());
    if (!state && state.error().code == ErrorCode::InvalidArgument) {
      return tell(berth::fail(ErrorCode::InvalidArgument,
                              "the driver does not support checkpoints on this machine"));
    }
    say("version " + std::to_string(opened->version));
    return tell({});
  }
  const auto what = errand.what;
  Helper helper(std::move(errand), *opened->port);
  return tell(what == Errand::What::Suspend ? helper.suspend() : helper.resume());
}

}  // namespace

int suspend_helper() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string text;
  char letter = 0;
  while (!text.ends_with("\n\n") && ::read(STDIN_FILENO, &letter, 1) == 1) text += letter;
  auto errand = decode_errand(text);
  if (!errand) return 2;
  pollfd daemon{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&daemon, 1, 0) > 0 && (daemon.revents & POLLHUP) != 0) return 1;  // it died first
  return run(std::move(*errand));
}

}  // namespace berth::daemon
