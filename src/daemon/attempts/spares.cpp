#include "daemon/attempts/spares.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr int kSocket = 3;  ///< Where a shim expects it.

}  // namespace

std::string spare_path(const std::string& folder) { return folder + "/spare"; }

Expected<std::unique_ptr<Spares>> Spares::open(const SpareOptions& options) {
  const Descriptor file(::open(options.shim.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return io_error(options.shim);
  // Above the one that the shim's socket replaces before the shim is read.
  Descriptor program(::fcntl(file.number(), F_DUPFD_CLOEXEC, kSocket + 1));
  if (!program.is_open()) return io_error(options.shim);
  std::unique_ptr<Spares> spares(new Spares(options, std::move(program)));
  auto first = spares->spawn();
  if (!first) return std::unexpected(first.error());
  spares->made_ = std::move(first);
  spares->thread_ = std::thread([&all = *spares] { all.run(); });
  return spares;
}

Spares::Spares(SpareOptions options, Descriptor program)
    : options_(std::move(options)), program_(std::move(program)) {}

Spares::~Spares() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Spares::refill() {
  {
    const std::lock_guard lock(mutex_);
    if (made_ && *made_) return;
    made_.reset();  // why none could be made then says nothing of now
    is_wanted_ = true;
  }
  changed_.notify_all();
}

Expected<Spare> Spares::take() {
  refill();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return made_.has_value(); });
  Expected<Spare> taken = std::move(*made_);
  made_.reset();
  return taken;
}

void Spares::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || is_wanted_; });
    if (stopping_) return;
    lock.unlock();
    auto spare = spawn();
    lock.lock();
    is_wanted_ = false;
    made_ = std::move(spare);
    changed_.notify_all();
  }
}

Expected<Spare> Spares::spawn() const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return io_error("a socket for a shim");
  }
  Spare spare{.pid = 0, .pidfd = {}, .socket = Descriptor(ends[0]), .record = {}, .log = {}};
  for (const auto& [file, path] : {std::pair(&spare.record, spare_path(options_.attempts)),
                                   std::pair(&spare.log, spare_path(options_.logs))}) {
    *file = Descriptor(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file->is_open()) return io_error(path);
  }
  const Descriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.number(), kSocket);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::sigaddset(&defaults, SIGHUP);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::string program = "/proc/self/fd/" + std::to_string(program_.number());
  std::string name = "berth-shim";
  std::array<char*, 2> arguments = {name.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  const int failed = ::posix_spawn(&spare.pid, program.c_str(), &actions, &attributes,
                                   arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    errno = failed;
    return io_error(options_.shim);
  }
  ::prlimit(spare.pid, RLIMIT_NOFILE, &options_.files, nullptr);  // before it has anything to run
  spare.pidfd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, spare.pid, 0)));
  if (!spare.pidfd.is_open()) return io_error("pidfd_open");
  return spare;
}

}  // namespace berth::daemon
