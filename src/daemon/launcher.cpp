#include "daemon/launcher.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

namespace berth::daemon {

namespace {

constexpr Duration kRefillAfter = Duration(50);  ///< What else this turn has to do goes first.
constexpr Duration kLookForGo = Duration(20'000);
constexpr int kTriesForShimLine = 5000;  ///< A millisecond each.

std::unexpected<Error> io_error(const std::string& what) {
  return fail(ErrorCode::Io, what + ": " + std::strerror(errno));
}

std::optional<std::string> read_whole(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  char buffer[1024];
  for (ssize_t got = 0; (got = ::read(file.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

Expected<void> write_whole(int file, const std::string& text, const std::string& path) {
  if (::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return io_error(path);
}

/// True while the shim that was given this file holds it.
bool is_locked(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// One that is no child of ours needs none.
void reap(const Descriptor& pidfd) {
  siginfo_t info{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &info,
           WEXITED | WNOHANG);
}

/// `42.1`: job and attempt.
std::optional<std::pair<JobId, Attempt>> key_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), name.data() + dot, job);
  const auto second = std::from_chars(name.data() + dot + 1, end, attempt);
  const bool whole = first.ec == std::errc() && first.ptr == name.data() + dot &&
                     second.ec == std::errc() && second.ptr == end;
  if (!whole) return std::nullopt;
  return std::pair(JobId(job), Attempt(attempt));
}

}  // namespace

struct Launcher::Spare {
  pid_t pid = 0;
  Descriptor pidfd;
  Descriptor socket;
};

struct Launcher::Shim {
  pid_t pid = 0;
  Descriptor pidfd;
  Descriptor socket;  ///< None for an adopted one.
  bool has_go = false;
  std::unique_ptr<Loop::Watch> messages;
  std::unique_ptr<Loop::Watch> exit;
};

// ---- Spares ----------------------------------------------------------------------------------

Launcher::Launcher(Loop& loop, LauncherOptions options, Hooks hooks)
    : loop_(loop),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      refill_alarm_(loop, [this] { refill(); }),
      go_alarm_(loop, [this] { look_for_go(); }) {}

Launcher::~Launcher() = default;

Expected<std::unique_ptr<Launcher>> Launcher::open(Loop& loop, const LauncherOptions& options,
                                                   Hooks hooks) {
  std::unique_ptr<Launcher> launcher(new Launcher(loop, options, std::move(hooks)));
  launcher->program_ = Descriptor(::open(options.shim.c_str(), O_RDONLY | O_CLOEXEC));
  if (!launcher->program_) return io_error(options.shim);
  auto spare = launcher->spawn();
  if (!spare) return std::unexpected(spare.error());
  launcher->spare_ = std::make_unique<Spare>(std::move(*spare));
  return launcher;
}

Expected<Launcher::Spare> Launcher::spawn() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return io_error("a socket for a shim");
  }
  Spare spare{.pid = 0, .pidfd = {}, .socket = Descriptor(ends[0])};
  const Descriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
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
  const std::string program = "/proc/self/fd/" + std::to_string(program_.get());
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
  spare.pidfd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, spare.pid, 0)));
  if (!spare.pidfd) return io_error("pidfd_open");
  return spare;
}

void Launcher::refill() {
  if (spare_) return;
  auto spare = spawn();
  if (spare) spare_ = std::make_unique<Spare>(std::move(*spare));
  if (!spare) refill_alarm_.set(seconds(1));  // a launch meanwhile tries and tells
}

// ---- Launching -------------------------------------------------------------------------------

std::string Launcher::record_path(Key key) const {
  return options_.attempts + "/" + std::to_string(key.first.value()) + "." +
         std::to_string(key.second.value());
}

std::string Launcher::log_path(JobId job) const {
  return options_.logs + "/" + std::to_string(job.value()) + ".log";
}

Expected<Descriptor> Launcher::make_record(const shim::Order& order) {
  const std::string path = record_path({order.job, order.attempt});
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return io_error(path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return io_error(path);
  const std::string text = shim::header_lines(order.job, order.attempt, order.user);
  if (auto done = write_whole(file.get(), text, path); !done) {
    ::unlink(path.c_str());
    return std::unexpected(done.error());
  }
  return file;
}

Expected<Descriptor> Launcher::open_log(const shim::Order& order) {
  const std::string path = log_path(order.job);
  Descriptor log(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) return io_error(path);
  return log;
}

Expected<void> Launcher::launch(const shim::Order& order) {
  const Key key{order.job, order.attempt};
  auto log = open_log(order);
  if (!log) return std::unexpected(log.error());
  if (!spare_) refill();
  if (!spare_) return fail(ErrorCode::Io, options_.shim + ": cannot be started");
  auto record = make_record(order);
  if (!record && errno == EEXIST) {  // from before a crash
    if (adopt(order.job, order.attempt) != Trace::None) return {};
    record = make_record(order);
  }
  if (!record) return std::unexpected(record.error());
  const std::unique_ptr<Spare> spare = std::move(spare_);
  refill_alarm_.set(kRefillAfter);
  auto shim = std::make_unique<Shim>();
  shim->pid = spare->pid;
  shim->pidfd = std::move(spare->pidfd);
  shim->socket = std::move(spare->socket);
  const int socket = shim->socket.get();
  watch(key, std::move(shim));  // first: a probe must know the job's processes for the job's
  if (auto sent = shim::send_order(socket, order, record->get(), log->get()); !sent) {
    live_.erase(key);
    publish();
    forget(order.job, order.attempt);
    return sent;
  }
  return {};
}

void Launcher::watch(Key key, std::unique_ptr<Shim> shim) {
  Shim& kept = *(live_[key] = std::move(shim));
  if (kept.socket) {
    kept.messages =
        std::make_unique<Loop::Watch>(loop_, kept.socket.get(), [this, key] { on_message(key); });
  }
  kept.exit = std::make_unique<Loop::Watch>(loop_, kept.pidfd.get(), [this, key] { on_exit(key); });
  publish();
}

void Launcher::publish() {
  Shims shims;
  for (const auto& [key, shim] : live_) shims.emplace(shim->pid, key.first);
  shims_.set(std::move(shims));
}

// ---- What shims say --------------------------------------------------------------------------

void Launcher::on_message(Key key) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  Shim& shim = *found->second;
  char buffer[4096];
  const ssize_t got = ::recv(shim.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {  // its end is told by the pidfd
    shim.messages.reset();
    return;
  }
  const auto event = shim::decode_event({buffer, static_cast<std::size_t>(got)});
  if (!event) return;  // no shim of ours writes that; its record tells the end
  if (std::holds_alternative<shim::Started>(*event)) return hooks_.started(key.first, key.second);
  const auto& ended = std::get<shim::Ended>(*event);
  shim.messages.reset();
  shim.has_go = true;
  close_up(key);
  hooks_.ended(key.first, key.second, ended.exit, ended.note);
}

/// The shim said that it is over: it still has to be reaped, nothing more.
void Launcher::close_up(Key key) {
  const auto found = live_.find(key);
  const pid_t pid = found->second->pid;
  Shim& over = *(leaving_[pid] = std::move(found->second));
  live_.erase(found);
  publish();
  over.exit.reset();  // a descriptor has one watch at a time
  over.exit = std::make_unique<Loop::Watch>(loop_, over.pidfd.get(), [this, pid] {
    reap(leaving_[pid]->pidfd);
    leaving_.erase(pid);
  });
}

/// A shim that ended without saying so: an adopted one, or one that was killed.
void Launcher::on_exit(Key key) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  if (found->second->messages) {  // its last word may still be unread
    on_message(key);
    if (!live_.contains(key)) return;
  }
  reap(found->second->pidfd);
  live_.erase(found);
  publish();
  const auto record = read_record(key);
  tell_end(key, record.value_or(shim::Record{.job = key.first, .attempt = key.second}));
}

/// Ends what is left of an attempt whose shim is gone, and tells how it was.
void Launcher::tell_end(Key key, const shim::Record& record) {
  if (record.exit) return hooks_.ended(key.first, key.second, *record.exit, "");
  while (kill_left_behind(record) > 0) ::usleep(1000);
  hooks_.lost(key.first, key.second);
}

// ---- Attempts of a daemon before us ----------------------------------------------------------

std::optional<shim::Record> Launcher::read_record(Key key) const {
  const auto text = read_whole(record_path(key));
  if (!text) return std::nullopt;
  const auto record = shim::parse_record(*text);
  if (!record) return std::nullopt;
  return *record;
}

/// A shim holds the lock from before it has written who it is; that moment is waited for.
std::optional<shim::Record> Launcher::read_living(Key key) const {
  for (int tries = 0; tries < kTriesForShimLine && is_locked(record_path(key)); ++tries) {
    auto record = read_record(key);
    if (record && record->shim) return record;
    ::usleep(1000);
  }
  return std::nullopt;
}

Trace Launcher::adopt(JobId job, Attempt attempt) {
  const Key key{job, attempt};
  if (::access(record_path(key).c_str(), F_OK) != 0) return Trace::None;
  if (const auto living = read_living(key)) {
    if (auto pidfd = open_process(*living->shim)) {
      auto shim = std::make_unique<Shim>();
      shim->pid = living->shim->pid;
      shim->pidfd = std::move(*pidfd);
      watch(key, std::move(shim));
      look_for_go();
      return Trace::Lives;
    }
  }
  const auto last = read_record(key);
  if (!last || (!last->go && !last->exit)) {
    forget(job, attempt);
    return Trace::None;
  }
  loop_.post([this, key, last] { tell_end(key, *last); });
  return Trace::Over;
}

/// An adopted shim cannot tell us that its job runs: its record does.
void Launcher::look_for_go() {
  std::vector<Key> started;
  bool any_left = false;
  for (auto& [key, shim] : live_) {
    if (shim->socket || shim->has_go) continue;
    const auto record = read_record(key);
    shim->has_go = record && record->go;
    if (shim->has_go) started.push_back(key);
    any_left = any_left || !shim->has_go;
  }
  if (any_left) go_alarm_.set(kLookForGo);
  for (const Key& key : started) {
    loop_.post([this, key] { hooks_.started(key.first, key.second); });
  }
}

void Launcher::stop(JobId job, Attempt attempt, Manner manner) {
  const auto found = live_.find({job, attempt});
  if (found == live_.end()) return;
  send_signal(found->second->pidfd,
              manner == Manner::Gently ? shim::kStopSignal : shim::kKillSignal);
}

void Launcher::forget(JobId job, Attempt attempt) { ::unlink(record_path({job, attempt}).c_str()); }

void Launcher::sweep(const std::function<bool(JobId, Attempt)>& is_current) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(options_.attempts.c_str()),
                                                   ::closedir);
  if (!folder) return;
  std::vector<Key> old;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto key = key_of(entry->d_name);
    if (key && !is_current(key->first, key->second) && !is_locked(record_path(*key))) {
      old.push_back(*key);
    }
  }
  for (const Key& key : old) forget(key.first, key.second);
}

}  // namespace berth::daemon
