#include "node/agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "daemon/loop/processes.hpp"
#include "daemon/machine/machine.hpp"
#include "daemon/notices/notify.hpp"
#include "node/jobs.hpp"
#include "node/overrun_watch.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"

namespace berth::node {

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr Duration kPatience = seconds(60);  ///< With a controller that does not answer.

// ---- What is there ---------------------------------------------------------------------------

/// A job of which the driver does not tell all is left out: its shards stand for it.
NodeGpu gpu_of(const Sample& sample, const OwnerOf& owner_of) {
  NodeGpu gpu{.usable = sample.total - sample.reserved, .used = sample.used};
  if (!sample.processes) return gpu;
  std::map<std::uint32_t, NodeHolding> jobs;
  std::set<std::uint32_t> untold;
  Bytes known{0};
  for (const GpuProcess& process : *sample.processes) {
    const Bytes bytes = process.bytes.value_or(Bytes(0));
    const Owner owner = owner_of(process.pid);
    const auto* const of = std::get_if<OfJob>(&owner);
    known += bytes;
    if (of == nullptr) {
      gpu.other += bytes;
      continue;
    }
    const auto id = static_cast<std::uint32_t>(of->job.value());
    if (!process.bytes) untold.insert(id);
    NodeHolding& holding = jobs[id];
    holding.job = id;
    holding.now += bytes;
    ++holding.processes;
  }
  if (untold.empty()) gpu.other += std::max(Bytes(0), sample.used - known);
  for (auto& [id, holding] : jobs) {
    holding.most = holding.now;
    if (!untold.contains(id)) gpu.jobs.push_back(holding);
  }
  return gpu;
}

/// A process that has just ended looks like somebody else's memory, once.
NodeGpu look_at(GpuPort& port, std::uint32_t device,
                const std::function<OwnerOf()>& look_at_processes) {
  auto sample = port.glance(device);
  if (sample && lists_vanished(*sample, look_at_processes())) sample = port.glance(device);
  if (!sample) {
    const Error& error = sample.error();
    return {.problem = error.message, .is_lost = error.code == ErrorCode::Lost};
  }
  return gpu_of(*sample, look_at_processes());
}

/// By device.
std::vector<std::uint32_t> indices_of(const Devices& devices) {
  std::vector<std::uint32_t> places;
  std::set<std::uint32_t> minors;
  for (const Device& device : devices.list) {
    places.push_back(device.index);
    if (device.minor) minors.insert(*device.minor);
  }
  if (minors.size() != places.size()) return places;
  for (const Device& device : devices.list) places[device.index] = *device.minor;
  return places;
}

// ---- What is told ----------------------------------------------------------------------------

bool grew(Bytes from, Bytes to, Bytes step) { return to - from >= step; }
bool differs(Bytes one, Bytes other, Bytes step) {
  return grew(one, other, step) || grew(other, one, step);
}

const NodeHolding* holding_of(const NodeGpu& gpu, std::uint32_t job) {
  const auto found = std::ranges::find(gpu.jobs, job, &NodeHolding::job);
  return found == gpu.jobs.end() ? nullptr : &*found;
}

bool has_same_jobs(const NodeGpu& one, const NodeGpu& other) {
  return std::ranges::equal(one.jobs, other.jobs, {}, &NodeHolding::job, &NodeHolding::job);
}

/// What berth must know soon.
bool is_urgent(const NodeGpu& told, const NodeGpu& now, Bytes step) {
  if (told.problem.empty() != now.problem.empty() || told.is_lost != now.is_lost ||
      !has_same_jobs(told, now))
    return true;
  if (differs(told.other, now.other, step)) return true;
  return std::ranges::any_of(now.jobs, [&](const NodeHolding& holding) {
    return grew(holding_of(told, holding.job)->now, holding.most, step);
  });
}

bool is_changed(const NodeGpu& told, const NodeGpu& now, Bytes step) {
  return differs(told.other, now.other, step) || differs(told.used, now.used, step) ||
         std::ranges::any_of(now.jobs, [&](const NodeHolding& holding) {
           const NodeHolding* const before = holding_of(told, holding.job);
           return differs(before->now, holding.now, step) || grew(before->now, holding.most, step);
         });
}

// ---- Slurm's own program ---------------------------------------------------------------------

/// What was written into a pipe until it was closed. Returns: nothing after `patience`.
std::optional<std::string> read_all(int pipe, Duration patience) {
  const auto until = SteadyClock::now() + patience;
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyClock::now()).count();
    pollfd wanted{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = left <= 0 ? 0 : ::poll(&wanted, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t got = ::read(pipe, part.data(), part.size());
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// With standard output and errors into one pipe. Returns: its pid. Errors: Io.
Expected<pid_t> spawn(const std::vector<std::string>& words, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, arguments.front(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed == 0) return pid;
  errno = failed;
  return io_error(words.front());
}

/// Errors: Conflict where the field is in somebody else's use.
Expected<void> check_node(const std::string& node) {
  const auto shown = run_program_for({"scontrol", "show", "node", node}, kPatience);
  if (!shown) return std::unexpected(shown.error());
  constexpr std::string_view kField = "Extra=";
  const std::size_t at = shown->find(kField);
  if (at == std::string::npos) return {};
  const std::string text = shown->substr(at + kField.size());
  if (parse_node_report(text.substr(0, text.find('\n'))).value_or(NodeReport())) return {};
  return fail(ErrorCode::Conflict, "node " + node + ": its Extra field is in use: " +
                                       text.substr(0, std::min<std::size_t>(text.find('\n'), 60)) +
                                       "; scontrol update nodename=" + node + " extra= empties it");
}

/// True once SIGTERM or SIGINT has come, which are blocked.
bool is_told_to_end(const sigset_t& signals, Duration wait) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(wait);
  const timespec time{
      .tv_sec = whole.count(),
      .tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(wait - whole).count()};
  return ::sigtimedwait(&signals, nullptr, &time) > 0;
}

/// Tells once for each trouble, and when it is over.
class Trouble {
 public:
  void set(const std::string& text) {
    if (text == text_) return;
    text_ = text;
    std::fprintf(stderr, "berthd: agent: %s\n",
                 text.empty() ? "Slurm is told again" : text.c_str());
  }

 private:
  std::string text_;
};

/// Tells Slurm what is worth telling. A controller that takes its time holds up nothing else.
class Teller {
 public:
  explicit Teller(AgentOptions agent)
      : agent_(std::move(agent)), told_at_(SteadyClock::now() - agent_.pace.every) {}

  void tell(std::vector<NodeGpu> now) {
    const bool is_free = has_answer();
    keep_most(now, before_);
    before_ = now;
    if (!is_free) return;
    const auto ago = std::chrono::duration_cast<Duration>(SteadyClock::now() - told_at_);
    if (!is_worth_telling(told_, now, ago, agent_.pace)) return;
    told_at_ = SteadyClock::now();  // one that fails is not repeated at once either
    const NodeReport report{.at = std::time(nullptr), .every = agent_.pace.every, .gpus = now};
    telling_ = std::move(now);
    before_.clear();
    answer_ = std::async(std::launch::async, run_program_for,
                         std::vector<std::string>{"scontrol", "update", "nodename=" + agent_.node,
                                                  "extra=" + to_text(report)},
                         kPatience);
  }

 private:
  /// Of the call before, if there was one.
  bool has_answer() {
    if (!answer_.valid()) return true;
    if (answer_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    const auto done = answer_.get();
    trouble_.set(done ? "" : done.error().message);
    told_ = done ? telling_ : std::vector<NodeGpu>();
    if (!done) keep_most(before_, telling_);
    return true;
  }

  const AgentOptions agent_;
  SteadyClock::time_point told_at_;
  std::vector<NodeGpu> told_;
  std::vector<NodeGpu> telling_;
  std::vector<NodeGpu> before_;  ///< Seen since, with the most of each job.
  std::future<Expected<std::string>> answer_;
  Trouble trouble_;
};

// ---- Overruns --------------------------------------------------------------------------------

constexpr Duration kShortPatience = seconds(5);  ///< Meanwhile no GPU is looked at.

/// Requires: `steps` outlives it.
std::function<OwnerOf()> looks_by(SlurmSteps& steps) {
  return [&steps] {
    return [jobs = std::make_shared<SlurmJobs>(steps)](pid_t pid) { return jobs->of(pid); };
  };
}

/// Whose a process is, is asked once more when its number can be no other's.
void kill_on(GpuPort& port, std::uint32_t device, std::uint32_t job) {
  const auto sample = port.glance(device);
  if (!sample || !sample->processes) return;
  std::vector<std::pair<pid_t, Descriptor>> pidfds;
  for (const GpuProcess& process : *sample->processes) {
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    if (pidfd >= 0) pidfds.emplace_back(process.pid, pidfd);
  }
  SlurmJobs owners;
  for (const auto& [pid, pidfd] : pidfds) {
    const Owner owner = owners.of(pid);
    const auto* const of = std::get_if<OfJob>(&owner);
    if (of != nullptr && of->job == JobId(job)) daemon::send_signal(pidfd, SIGKILL);
  }
}

Bytes context_on(const Cluster& cluster, Bytes fallback) {
  Bytes most{0};
  for (const GpuSpec& gpu : cluster.gpus()) most = std::max(most, gpu.context);
  return cluster.gpus().empty() ? fallback : most;
}

/// None where memory is not guaranteed. Requires: the machine and the steps outlive it.
std::optional<OverrunWatch> watch_on(daemon::Machine& machine, const daemon::Options& options,
                                     const std::string& node, SlurmSteps& steps) {
  if (options.rules.settings.admission.mode != AdmissionMode::Guarantee) return std::nullopt;
  GpuPort& port = *machine.port;
  const Devices& devices = machine.devices;
  return OverrunWatch(
      {.node = node,
       .overuse = options.overuse,
       .context = context_on(machine.cluster, options.context)},
      {.slurm = [](const auto& words) { return run_program_for(words, kShortPatience); },
       .observe = [&] { return observe(port, devices, looks_by(steps)); },
       .jobs_here = slurm_jobs_here,
       .kill =
           [&](std::uint32_t job, std::uint32_t gpu) {
             const auto indices = indices_of(devices);
             const auto at = std::ranges::find(indices, gpu);
             if (at == indices.end()) return;
             kill_on(port, static_cast<std::uint32_t>(at - indices.begin()), job);
           },
       .log =
           [](const std::string& text) {
             std::fprintf(stderr, "berthd: agent: %s\n", text.c_str());
           }});
}

}  // namespace

std::vector<NodeGpu> observe(GpuPort& port, const Devices& devices,
                             const std::function<OwnerOf()>& look_at_processes) {
  const std::vector<std::uint32_t> indices = indices_of(devices);
  std::vector<NodeGpu> gpus;
  for (const Device& device : devices.list) {
    NodeGpu gpu = device.problem.empty()
                      ? look_at(port, device.index, look_at_processes)
                      : NodeGpu{.problem = device.problem, .is_lost = device.is_lost};
    gpu.index = indices[device.index];
    gpus.push_back(std::move(gpu));
  }
  std::ranges::sort(gpus, {}, &NodeGpu::index);
  return gpus;
}

bool is_worth_telling(const std::vector<NodeGpu>& told, const std::vector<NodeGpu>& now,
                      Duration ago, const AgentPace& pace) {
  if (ago < pace.least) return false;
  if (ago >= pace.every) return true;
  if (told.size() != now.size()) return ago >= pace.usual;  // the last one did not arrive
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (is_urgent(told[i], now[i], pace.large)) return true;
    if (ago >= pace.usual && is_changed(told[i], now[i], pace.small)) return true;
  }
  return false;
}

void keep_most(std::vector<NodeGpu>& now, const std::vector<NodeGpu>& before) {
  for (NodeGpu& gpu : now) {
    const auto same = std::ranges::find(before, gpu.index, &NodeGpu::index);
    if (same == before.end()) continue;
    for (NodeHolding& holding : gpu.jobs) {
      if (const NodeHolding* const then = holding_of(*same, holding.job)) {
        holding.most = std::max(holding.most, then->most);
      }
    }
  }
}

Expected<std::string> run_program_for(const std::vector<std::string>& words, Duration patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("a pipe");
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const auto pid = spawn(words, theirs.number());
  if (!pid) return std::unexpected(pid.error());
  theirs.close();
  const auto said = read_all(ours.number(), patience);
  if (!said) ::kill(*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!said) return fail(ErrorCode::Io, words.front() + ": no answer in time");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return *said;
  return fail(ErrorCode::Io, words.front() + ": " + last_line(*said));
}

Expected<void> run_agent(const daemon::Options& options, const AgentOptions& agent) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto machine = daemon::open_machine(options);
  if (!machine) return std::unexpected(machine.error());
  if (!machine->port) return fail(ErrorCode::NotFound, machine->no_driver);
  if (auto known = check_node(agent.node); !known) return known;
  std::fprintf(stderr, "berthd: agent of node %s: %zu GPUs\n", agent.node.c_str(),
               machine->devices.list.size());
  daemon::notify("READY=1");
  Teller teller(agent);
  SlurmSteps steps;
  std::optional<OverrunWatch> watch = watch_on(*machine, options, agent.node, steps);
  do {
    const std::vector<NodeGpu> now = observe(*machine->port, machine->devices, looks_by(steps));
    if (watch) watch->look(now, SteadyClock::now());
    teller.tell(now);
  } while (!is_told_to_end(signals, options.probe));
  return {};
}

}  // namespace berth::node
