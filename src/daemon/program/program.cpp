#include "daemon/program/program.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "daemon/api/api.hpp"
#include "daemon/attempts/launcher.hpp"
#include "daemon/attempts/leftovers.hpp"
#include "daemon/daemon.hpp"
#include "daemon/limits/mps_errand.hpp"
#include "daemon/loop/solver.hpp"
#include "daemon/notices/announcer.hpp"
#include "daemon/notices/notify.hpp"
#include "daemon/settings/config.hpp"
#include "daemon/suspend/suspend_helper.hpp"
#include "http/server.hpp"
#include "policy/registry.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"
#include "posix/keyring.hpp"
#include "posix/streams.hpp"
#include "trace/speed_files.hpp"

namespace berth::daemon {

namespace {

constexpr int kFailed = 125;
constexpr int kBadUsage = 2;

struct Flags {
  Options options;
  bool accept_loss = false;
  bool trust_clock = false;
  bool shows_config = false;
  std::string config;
  std::string admission;
  std::string policy;
  std::string place;
  std::string preempt_by;
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void add_flags(CLI::App& app, Flags& flags, const Program& program) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--state", flags.options.state,
                 "Folder for the journal, logs and files of berthd.");
  app.add_option("--socket", flags.options.socket, "Path of the API's socket.");
  app.add_option("--emulate", flags.options.emulate, "Emulated GPUs, such as 2x24GiB.");
  app.add_option("--policy", flags.policy, "The scheduling policy.");
  app.add_option("--place", flags.place, "The placement.");
  app.add_option("--admission", flags.admission,
                 "guarantee (default), declared, free-memory or none.");
  app.add_option("--preempt-by", flags.preempt_by,
                 "What becomes of a preempted job: suspend (default), signal or restart.");
  app.add_option("--config", flags.config, "TOML file with these and more settings.");
  app.add_flag("--show-config", flags.shows_config,
               "Print all keys of that file, with values or defaults, in place of serving.");
  app.add_flag("--unsafe", flags.options.unsafe,
               "Allow an admission other than guarantee on real GPUs.");
  app.add_flag("--accept-loss", flags.accept_loss,
               "Start although the journal has lost answered requests, and print what is lost.");
  app.add_flag("--trust-clock", flags.trust_clock,
               "Believe the machine's clock, where the journal is later because it was wrong, or "
               "ends more than a year before.");
  app.set_version_flag("--version", program.name + " " BERTH_VERSION);
  if (program.add_flags) program.add_flags(app);
}

/// Whoever else can write there can have any process signalled, by a forged attempt file, and any
/// command run, by `notify_command`.
Expected<void> check_owner(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return io_error(path);
  }
  if (S_ISCHR(status.st_mode)) return {};  // /dev/null: what is written there is not read
  if (status.st_uid != ::geteuid()) {
    return fail(ErrorCode::InvalidArgument, path + ": belongs to uid " +
                                                std::to_string(status.st_uid) + ", must be uid " +
                                                std::to_string(::geteuid()) + "'s");
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    return fail(ErrorCode::InvalidArgument, path + ": every user may write there");
  }
  const bool is_own_group = status.st_gid == ::getegid();  // of many users theirs alone
  if ((status.st_mode & S_IWGRP) == 0 || is_own_group) return {};
  return fail(ErrorCode::InvalidArgument,
              path + ": group " + std::to_string(status.st_gid) + " may write there");
}

/// What of a state's own folder is trusted: whoever may write there decides what jobs are.
Expected<void> check_owner_of_files(const std::string& state) {
  for (const char* const name : {"/journal.db", "/journal.db-wal", "/job-key"}) {
    const std::string path = state + name;
    if (::access(path.c_str(), F_OK) != 0) continue;
    if (auto ours = check_owner(path); !ours) return ours;
  }
  return {};
}

/// Commands, environments and output of all jobs are for berthd alone, as it makes their files; a
/// copy, as cp and sqlite3 make it, is for every reader. Must follow the opening of the journal: a
/// file of something else is left as it is.
Expected<void> close_to_others(const std::string& state) {
  for (const char* name : {"/attempts", "/logs", "/journal.db", "/journal.db-wal", "/job-key"}) {
    const std::string path = state + name;
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) continue;
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) == 0) continue;
    if (::chmod(path.c_str(), status.st_mode & S_IRWXU) != 0) return io_error(path);
    std::fprintf(stderr, "berthd: %s: others could read it; it is closed to them now\n",
                 path.c_str());
  }
  return {};
}

Expected<std::string> read_text(const std::string& path) {
  // Never waits: a pipe may stand there.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (file.is_open() && ::fstat(file.number(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    return fail(ErrorCode::InvalidArgument, path + ": is a pipe");
  }
  std::string text;
  std::array<char, 16384> part{};
  ssize_t got = file.is_open() ? 1 : -1;
  while (got > 0 && (got = ::read(file.number(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return got < 0 ? Expected<std::string>(io_error(path)) : text;
}

std::optional<std::string> variable_if_there(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Flags win over the file, the file over defaults.
Expected<Options> settle(const Flags& flags, const Surroundings& around, const Program& program) {
  Options options;
  const std::string file = flags.config.empty() ? default_config(around) : flags.config;
  const bool is_there = !file.empty() && ::access(file.c_str(), F_OK) == 0;
  if (is_there || !flags.config.empty()) {
    const auto text = read_text(file);
    if (!text) return std::unexpected(text.error());
    const auto ours = ::geteuid() == 0 ? check_owner(file) : Expected<void>();
    if (!ours) return std::unexpected(ours.error());
    if (auto done = read_config(options, *text, file); !done) return std::unexpected(done.error());
  }
  const Options& given = flags.options;
  if (!given.state.empty()) options.state = given.state;
  if (!given.socket.empty()) options.socket = given.socket;
  if (options.state.empty()) options.state = program.state;
  if (options.socket.empty()) options.socket = program.socket;
  if (!given.emulate.empty()) options.emulate = given.emulate;
  if (!flags.policy.empty()) options.rules.policy = flags.policy;
  if (!flags.place.empty()) options.rules.place = flags.place;
  options.unsafe = given.unsafe;
  options.trusts_clock = flags.trust_clock;
  if (flags.accept_loss) options.loss = journal::Loss::Accepted;
  if (!flags.admission.empty()) {
    const auto mode = parse_word<AdmissionMode>("admission ", flags.admission);
    if (!mode) return std::unexpected(mode.error());
    options.rules.settings.admission.mode = *mode;
  }
  if (!flags.preempt_by.empty()) {
    const auto by = parse_word<PreemptBy>("preempt_by ", flags.preempt_by);
    if (!by) return std::unexpected(by.error());
    options.preempt_by = *by;
  }
  if (auto done = complete(options, around); !done) return std::unexpected(done.error());
  if (!options.speeds.empty()) {
    const auto text = read_text(options.speeds);
    if (!text) return fail(text.error().code, "speeds: " + text.error().message);
    auto done = trace::read_speeds(*text, options.speeds, "v100", options.rules.speeds);
    if (!done) return std::unexpected(done.error());
  }
  options.rules.settings.gpu_values =
      options.gpu_values.value_or(options.rules.speeds.type_values());
  options.given = {.cuda = variable_if_there("CUDA_VISIBLE_DEVICES"),
                   .nvidia = variable_if_there("NVIDIA_VISIBLE_DEVICES"),
                   .order = variable("CUDA_DEVICE_ORDER")};
  const auto own = std::filesystem::read_symlink("/proc/self/exe");
  options.shim = (own.parent_path() / "berth-shim").string();
  options.state = std::filesystem::absolute(options.state).string();
  options.socket = std::filesystem::absolute(options.socket).string();
  return options;
}

/// A shim that was being started when its daemon was killed has the lock until its exec, which a
/// busy machine may put off: two seconds.
bool lock_soon(int file) {
  constexpr int kTries = 400;
  constexpr int kMicros = 5000;
  for (int tries = 0; tries < kTries; ++tries) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(kMicros);
  }
  return false;
}

/// The folders of a state, and the lock that makes this its only daemon. The lock goes with us.
Expected<void> take_state(const std::string& state) {
  std::error_code failed;
  std::filesystem::create_directories(state, failed);
  if (failed) return fail(ErrorCode::Io, state + ": " + failed.message());
  if (auto ours = check_owner(state); !ours) return ours;
  for (const char* folder : {"/attempts", "/logs"}) {
    const std::string path = state + folder;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return io_error(path);
    }
    if (auto ours = check_owner(path); !ours) return ours;
  }
  if (auto ours = check_owner_of_files(state); !ours) return ours;
  const std::string path = state + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return io_error(path);
  // An exec closes from the lowest number up: once this lock is free, so is the journal's.
  constexpr int kHigh = 500;
  const int lock = ::fcntl(file, F_DUPFD_CLOEXEC, kHigh);
  ::close(file);
  if (lock < 0 && errno == EINVAL) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    return fail(ErrorCode::InvalidArgument,
                "the limit of open files is " + std::to_string(files.rlim_cur) +
                    " (ulimit -n, LimitNOFILE= of a unit), berthd needs more than " +
                    std::to_string(kHigh));
  }
  if (lock < 0) return io_error(path);
  if (!lock_soon(lock)) {
    return fail(ErrorCode::Conflict, state + ": another berthd uses it");
  }
  return {};
}

/// Waits for SIGTERM or SIGINT on a thread of its own, and for SIGHUP, which reads the
/// configuration again; all were blocked before any thread began.
/// While the daemon is being opened, which a driver or a disk may hold up for long, such a signal
/// ends the process as it is: what it does until then it does so that a kill harms nothing.
class Signals {
 public:
  static sigset_t block() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to answer, as a full disk
    return set;
  }
  explicit Signals(const sigset_t& set) : thread_([this, set] { wait(set); }) {}
  ~Signals() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    ::kill(::getpid(), SIGTERM);  // so that the thread ends whatever ended the daemon
    thread_.join();
  }

  void are_for(Daemon* daemon) {
    const std::lock_guard lock(mutex_);
    daemon_ = daemon;
  }

 private:
  void wait(const sigset_t& set) {
    const timespec patience{.tv_sec = 3, .tv_nsec = 0};
    int signal = ::sigtimedwait(&set, nullptr, &patience);
    if (signal < 0) {
      tell_if_opening();
      ::sigwait(&set, &signal);
    }
    for (; signal == SIGHUP; ::sigwait(&set, &signal)) {
      const std::lock_guard lock(mutex_);
      if (daemon_ != nullptr) daemon_->ask_reload();
    }
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    if (daemon_ == nullptr) ::_exit(0);
    daemon_->stop();
  }
  void tell_if_opening() {
    const std::lock_guard lock(mutex_);
    if (daemon_ != nullptr || is_over_) return;
    std::fputs("berthd: is not ready yet: waits for the driver or for the disk\n", stderr);
  }

  std::mutex mutex_;
  Daemon* daemon_ = nullptr;
  bool is_over_ = false;
  std::thread thread_;  // last: it uses the others
};

int exit_code_of(const Expected<void>& served) {
  if (served) return 0;
  std::fprintf(stderr, "berthd: %s\n", served.error().message.c_str());
  return kFailed;
}

/// Where jobs are not suspended a preempted job loses all its work.
void tell_what_preemption_costs(const live::Rules& rules, const Settings& settings) {
  if (settings.can_suspend) return;
  const auto chosen = choose(rules.policy);
  if (!chosen || !chosen->preempts()) return;
  if (rules.bounds == kNeverPreempted) {
    std::fprintf(stderr,
                 "berthd: policy %s preempts: only jobs that save their state (--on-preempt) give "
                 "way\n",
                 rules.policy.c_str());
    return;
  }
  std::fprintf(
      stderr,
      "berthd: policy %s preempts: a job that gives way begins again from nothing, at most "
      "%d times, and none gives way that has run for %s s in all ([preemption])\n",
      rules.policy.c_str(), rules.bounds.most, seconds_text(rules.bounds.lost).c_str());
}

using ReadOptions = std::function<Expected<Options>()>;

Expected<void> serve(Options options, const ReadOptions& read, const Program& program) {
  join_own_session_keyring();  // the keys of the shell that started us are not for our jobs
  Signals signals(Signals::block());
  if (auto taken = take_state(options.state); !taken) return taken;
  if (auto original = check_original(options.state + "/attempts"); !original) return original;
  auto site = program.open_site(options);
  if (!site) return std::unexpected(site.error());
  auto daemon = Daemon::open(options, std::move(*site));
  if (!daemon) return std::unexpected(daemon.error());
  if (auto closed = close_to_others(options.state); !closed) return closed;
  const mode_t mode = ::geteuid() == 0 ? 0666 : 0600;
  auto server =
      http::Server::open({.path = options.socket, .mode = mode, .limits = {}}, make_api(**daemon));
  if (!server) return std::unexpected(server.error());
  (*daemon)->set_reader(read);
  signals.are_for(daemon->get());
  tell_what_preemption_costs((*daemon)->options().rules, (*daemon)->options().rules.settings);
  const std::size_t gpus =
      (*daemon)->machine().devices.list.size() - (*daemon)->given().others.size();
  std::fprintf(stderr, "%s: %zu %s, policy %s, state %s, listening at %s\n", program.name.c_str(),
               gpus, gpus == 1 ? "GPU" : "GPUs", (*daemon)->options().rules.policy.c_str(),
               options.state.c_str(), options.socket.c_str());
  if (const std::string& why = (*daemon)->machine().no_driver; gpus == 0 && !why.empty()) {
    std::fprintf(stderr, "%s: no GPUs: %s; jobs without GPUs run\n", program.name.c_str(),
                 why.c_str());
  }
  notify("READY=1");
  const auto ran = (*daemon)->run();
  notify("STOPPING=1");
  server->reset();  // before the daemon: no request may reach it any more
  signals.are_for(nullptr);
  if (!(*daemon)->leave_driver()) ::_exit(exit_code_of(ran));
  return ran;
}

/// `start: berthd takes no words, ...`, `--frob: no such option`.
std::string unexpected_text(const CLI::App& app, const std::string& name) {
  const auto left = app.remaining();
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const auto option = std::ranges::find_if(left, is_option);
  if (option != left.end()) return *option + ": no such option";
  return (left.empty() ? "" : left.front() + ": ") + name +
         " takes no words, and serves once it is started";
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  open_closed_streams();
  if (argc == 2 && std::string_view(argv[1]) == kEndLeftovers) return end_leftovers();
  if (argc == 2 && std::string_view(argv[1]) == kAnnounce) return announce();
  if (argc == 2 && std::string_view(argv[1]) == kSuspendHelper) return suspend_helper();
  if (argc == 2 && std::string_view(argv[1]) == kMpsErrand) return mps_errand();
  if (argc == 2 && std::string_view(argv[1]) == kSolver) return solve_one();
  CLI::App app(program.about, program.name);
  Flags flags;
  add_flags(app, flags, program);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // asked for help
    const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string why = is_extra ? unexpected_text(app, program.name) : error.what();
    std::fprintf(stderr, "%s: %s; see %s --help\n", program.name.c_str(), why.c_str(),
                 program.name.c_str());
    return kBadUsage;
  }
  const Surroundings around{::geteuid(), variable("HOME"), variable("XDG_RUNTIME_DIR")};
  auto options = settle(flags, around, program);
  if (options && flags.shows_config) {
    std::fputs(show_config(*options).c_str(), stdout);
    return 0;
  }
  if (options && program.instead) {
    if (const auto done = program.instead(*options)) return exit_code_of(*done);
  }
  const std::string typed_cgroup = options ? options->cgroup : "";
  if (options && program.complete) {
    if (auto done = program.complete(*options); !done) options = std::unexpected(done.error());
  }
  if (!options) {
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), options.error().message.c_str());
    return kBadUsage;
  }
  for (const std::string& warning : options->warnings) {
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), warning.c_str());
  }
  // What was found for it at the start goes on: the next start finds another.
  const auto read = [=, found_cgroup = options->cgroup] {
    auto fresh = settle(flags, around, program);
    if (fresh && fresh->cgroup == typed_cgroup) fresh->cgroup = found_cgroup;
    return fresh;
  };
  return exit_code_of(serve(*options, read, program));
}

}  // namespace berth::daemon
