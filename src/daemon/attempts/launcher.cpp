#include "daemon/attempts/launcher.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "daemon/attempts/oom.hpp"
#include "engine/engine.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"
#include "shim/proc.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kRefillAfter = Duration(2000);
constexpr Duration kFast = Duration(5000);
constexpr Duration kLookForGo = Duration(20'000);
constexpr Duration kLookForName = Duration(5'000);
constexpr Duration kDeaf = seconds(10);  ///< For a shim that takes no signal, SIGKILL as well.
constexpr std::string_view kDied = "its shim died";
constexpr std::string_view kHangs = "its shim hangs in the kernel, killed, and is given up";

std::optional<std::string> read_whole(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::string text;
  char buffer[1024];
  for (ssize_t got = 0; (got = ::read(file.number(), buffer, sizeof buffer)) > 0;) {
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
  return file.is_open() && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
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

/// `42.log`, or what a log that was moved aside is named: `42.log-2`.
std::optional<JobId> job_of_log(std::string_view name) {
  std::uint64_t job = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), job);
  const std::string_view end(read.ptr, name.data() + name.size());
  if (read.ec != std::errc() || !end.starts_with(".log")) return std::nullopt;
  return JobId(job);
}

template <class Task>
void for_each_name(const std::string& path, Task task) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) task(entry->d_name);
}

}  // namespace

struct Launcher::Shim {
  pid_t pid = 0;
  Descriptor pidfd;
  Descriptor socket;  ///< None for one of a daemon before us.
  bool has_go = false;
  pid_t outside = 0;  ///< The job's process, where it is not below the shim.
  std::unique_ptr<Loop::Watch> messages;
  std::unique_ptr<Loop::Watch> exit;
};

/// Of an attempt of which nothing ran, and whose shim told no reason.
constexpr auto kNeverBegan = "its shim died before it began";

std::string cgroup_path(const std::string& parent, JobId job, Attempt attempt) {
  if (parent.empty()) return "";
  return parent + "/berth-" + std::to_string(job.value()) + "." + std::to_string(attempt.value());
}

rlimit raise_file_limit() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit most{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &most);
  return before;
}

Launcher::Launcher(Loop& loop, LauncherOptions options, Hooks hooks)
    : loop_(loop),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      refill_alarm_(loop, [this] { spares_->refill(); }),
      names_alarm_(loop, [this] { look_for_names(); }),
      go_alarm_(loop, [this] { look_for_go(); }),
      deaf_alarm_(loop, [this] { end_deaf(); }),
      orphans_(loop, options_.mark, [this](const shim::Record& record, const std::string& note) {
        tell_lost(record, note);
      }) {}

Launcher::~Launcher() = default;

Expected<std::unique_ptr<Launcher>> Launcher::open(Loop& loop, const LauncherOptions& options,
                                                   Hooks hooks) {
  std::unique_ptr<Launcher> launcher(new Launcher(loop, options, std::move(hooks)));
  auto spares = Spares::open({.shim = options.shim,
                              .attempts = options.attempts,
                              .logs = options.logs,
                              .files = options.files});
  if (!spares) return std::unexpected(spares.error());
  launcher->spares_ = std::move(*spares);
  return launcher;
}

// ---- Launching -------------------------------------------------------------------------------

std::string Launcher::record_path(Key key) const {
  return options_.attempts + "/" + std::to_string(key.first.value()) + "." +
         std::to_string(key.second.value());
}

std::string Launcher::log_path(JobId job) const {
  return options_.logs + "/" + std::to_string(job.value()) + ".log";
}

std::string Launcher::last_words(JobId job, Attempt attempt) const {
  const auto record = read_header(record_path({job, attempt}));
  return read_tail(log_path(job), record ? record->log_from : 0, kTail);
}

/// Gives the spare's record the attempt's name, if there is none of that name.
Expected<void> Launcher::name_record(const Spare& spare, const shim::Order& order) {
  const std::string path = record_path({order.job, order.attempt});
  const std::string from = spare_path(options_.attempts);
  if (::flock(spare.record.number(), LOCK_EX | LOCK_NB) != 0) return io_error(path);
  struct stat log{};  // of the attempts before
  if (::stat(log_path(order.job).c_str(), &log) != 0) log.st_size = 0;
  const std::string text = shim::header_lines(order.job, order.attempt, order.user, log.st_size);
  if (auto done = write_whole(spare.record.number(), text, path); !done) return done;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return {};
  return fail(errno == EEXIST ? ErrorCode::Conflict : ErrorCode::Io,
              path + ": " + std::strerror(errno));
}

/// A job's later attempts append to the log of the first. It is the user's, in a folder that only
/// berthd may enter, so that what a user's logs take is known, to the disk's quotas as well.
Expected<void> Launcher::name_log(Spare& spare, const shim::Order& order) {
  const std::string path = log_path(order.job);
  const std::string from = spare_path(options_.logs);
  if (::geteuid() == 0 && ::fchown(spare.log.number(), order.user, static_cast<gid_t>(-1)) != 0) {
    return io_error(path);
  }
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno != EEXIST) return io_error(path);
  spare.log = Descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!spare.log.is_open()) return io_error(path);
  return {};
}

Expected<void> Launcher::launch(const shim::Order& order) {
  const Key key{order.job, order.attempt};
  auto spare = spares_->take();
  if (!spare) return std::unexpected(spare.error());
  // A spare costs half a millisecond of a processor that the job just launched can use, unless
  // launches come so fast that the next would have to wait for it.
  const auto now = std::chrono::steady_clock::now();
  refill_alarm_.set(now - std::exchange(last_launch_, now) < kFast ? Duration(0) : kRefillAfter);
  auto named = name_record(*spare, order);
  if (!named && named.error().code == ErrorCode::Conflict) {  // from before a crash
    dismiss(std::move(*spare));  // its lock is on the file that the next spare takes
    return adopt(order.job, order.attempt) != live::Trace::None ? Expected<void>() : launch(order);
  }
  if (named) named = name_log(*spare, order);
  if (!named) {
    dismiss(std::move(*spare));
    forget(order.job, order.attempt);
    return named;
  }
  auto shim = std::make_unique<Shim>();
  shim->pid = spare->pid;
  shim->pidfd = std::move(spare->pidfd);
  shim->socket = std::move(spare->socket);
  if (order.adopted) shim->outside = order.adopted->pid;
  Shim& kept = keep(key, std::move(shim));  // first: a probe must know whose the processes are
  const auto sent =
      shim::send_order(kept.socket.number(), order, spare->record.number(), spare->log.number());
  if (sent) {
    watch(key, kept);
    return {};
  }
  see_off(std::move(live_.extract(key).mapped()));
  publish();
  forget(order.job, order.attempt);
  return sent;
}

Launcher::Shim& Launcher::keep(Key key, std::unique_ptr<Shim> shim) {
  Shim& kept = *(live_[key] = std::move(shim));
  publish();
  return kept;
}

void Launcher::watch(Key key, Shim& shim) {
  if (shim.socket.is_open()) {
    shim.messages = std::make_unique<Loop::Watch>(loop_, shim.socket.number(),
                                                  [this, key] { on_message(key); });
  }
  shim.exit =
      std::make_unique<Loop::Watch>(loop_, shim.pidfd.number(), [this, key] { on_exit(key); });
}

void Launcher::publish() {
  Shims shims;
  for (const auto& [key, shim] : live_) {
    shims.emplace(shim->pid, key.first);
    if (shim->outside != 0) shims.emplace(shim->outside, key.first);
  }
  shims_.set(std::move(shims));
}

// ---- What shims say --------------------------------------------------------------------------

void Launcher::on_message(Key key) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  Shim& shim = *found->second;
  char buffer[4096];
  const ssize_t got = ::recv(shim.socket.number(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {  // its end is told by the pidfd
    shim.messages.reset();
    return;
  }
  const auto event = shim::decode_event({buffer, static_cast<std::size_t>(got)});
  if (!event) return;  // no shim of ours writes that; its record tells the end
  if (std::holds_alternative<shim::Started>(*event)) {
    shim.has_go = true;
    return hooks_.started(key.first, key.second);
  }
  shim.messages.reset();
  auto over = std::move(live_.extract(key).mapped());
  publish();
  // First: the next start waits for the look at the GPUs that this asks for, the shim for nothing.
  if (const auto* const ended = std::get_if<shim::Ended>(&*event)) {
    hooks_.ended(key.first, key.second, ended->exit, ended->note);
  } else {
    hooks_.failed(key.first, key.second, std::get<shim::Unstarted>(*event).why);
  }
  see_off(std::move(over));
}

/// It still has to be reaped, nothing more.
void Launcher::see_off(std::unique_ptr<Shim> over) {
  const pid_t pid = over->pid;
  over->messages.reset();
  over->socket = Descriptor();
  over->exit.reset();  // a descriptor has one watch at a time
  Shim& leaves = *(leaving_[pid] = std::move(over));
  leaves.exit = std::make_unique<Loop::Watch>(loop_, leaves.pidfd.number(), [this, pid] {
    reap(leaving_[pid]->pidfd);
    leaving_.erase(pid);
  });
}

/// Without its socket it ends.
void Launcher::dismiss(Spare spare) {
  auto over = std::make_unique<Shim>();
  over->pid = spare.pid;
  over->pidfd = std::move(spare.pidfd);
  see_off(std::move(over));
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
  const bool has_go = found->second->has_go;
  live_.erase(found);
  publish();
  tell_exit(key, has_go);
}

/// Of one that has no shim any more.
void Launcher::tell_exit(Key key, bool has_go) {
  const auto record = read_record(key);
  const bool never_ran = !has_go && record && !record->go && !record->exit;
  if (never_ran) return hooks_.failed(key.first, key.second, kNeverBegan);
  if (!has_go && record && record->go) hooks_.started(key.first, key.second);  // not told yet
  tell_end(key, record.value_or(shim::Record{.job = key.first, .attempt = key.second}));
}

/// Ends what is left of an attempt whose shim is gone, and tells how it was.
void Launcher::tell_end(Key key, const shim::Record& record) {
  if (record.exit) return hooks_.ended(key.first, key.second, *record.exit, "");
  // What its processes carry is the number of the attempt that they were started for.
  shim::Record first = record;
  if (const auto header = read_header(record_path(key))) first.attempt = header->attempt;
  taken_over_[{first.job, first.attempt}] = key;
  orphans_.end({.record = first, .cgroup = cgroup_path(options_.cgroup, first.job, first.attempt)});
}

void Launcher::tell_lost(const shim::Record& record, const std::string& note) {
  const auto found = taken_over_.extract({record.job, record.attempt});
  const Key key = found ? found.mapped() : Key(record.job, record.attempt);
  std::string told = note;
  if (given_up_.erase(key) > 0 && told.starts_with(kDied)) told.replace(0, kDied.size(), kHangs);
  hooks_.lost(key.first, key.second, told);
}

// ---- Attempts of a daemon before us ----------------------------------------------------------

Expected<shim::Record> Launcher::read_header(const std::string& path) {
  const auto text = read_whole(path);
  if (!text) return fail(ErrorCode::NotFound, path + ": cannot be read");
  return shim::parse_record(*text);
}

/// Of the attempt that it is now: one that was suspended goes on as another.
Expected<shim::Record> Launcher::read_record(Key key) const {
  auto record = read_header(record_path(key));
  if (record) record->attempt = key.second;
  return record;
}

live::Trace Launcher::adopt(JobId job, Attempt attempt) {
  const Key key{job, attempt};
  const std::string path = record_path(key);
  if (::access(path.c_str(), F_OK) != 0) return live::Trace::None;
  const bool was_locked = is_locked(path);  // first: one that dies now has written its last
  const auto record = read_record(key);
  if (was_locked && !(record && record->shim)) {
    // It has its order and will follow it, be it only after the machine has woken up.
    unnamed_.try_emplace(key);
    names_alarm_.set(kLookForName);
    return live::Trace::Lives;
  }
  if (was_locked) {
    if (auto pidfd = open_process(*record->shim)) {
      auto shim = std::make_unique<Shim>();
      shim->pid = record->shim->pid;
      shim->pidfd = std::move(*pidfd);
      watch(key, keep(key, std::move(shim)));
      look_for_go();
      return live::Trace::Lives;
    }
  }
  const auto last = read_record(key);
  if (!last && last.error().code == ErrorCode::BadData) {  // whether it ran is unknown
    std::fprintf(stderr, "berthd: %s\n", move_aside(path, last.error().message).c_str());
    loop_.post([this, key] { tell_end(key, {.job = key.first, .attempt = key.second}); });
    return live::Trace::Over;
  }
  if (!last || (!last->go && !last->exit)) {
    forget(job, attempt);
    return live::Trace::None;
  }
  loop_.post([this, key, record = *last] {
    if (record.go) hooks_.started(key.first, key.second);  // while no berthd was there, maybe
    tell_end(key, record);
  });
  return live::Trace::Over;
}

/// A shim takes the lock before it writes its identity.
void Launcher::look_for_names() {
  for (const auto& [key, manner] : std::exchange(unnamed_, {})) {
    if (adopt(key.first, key.second) == live::Trace::None) {
      hooks_.failed(key.first, key.second, kNeverBegan);
    }
    if (manner) stop(key.first, key.second, *manner);
  }
}

/// An adopted shim cannot tell us that its job runs: its record does.
void Launcher::look_for_go() {
  std::vector<Key> started;
  bool any_left = false;
  for (auto& [key, shim] : live_) {
    if (shim->socket.is_open() || shim->has_go) continue;
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

void Launcher::stop(JobId job, Attempt attempt, live::Manner manner, shim::EndedFor why) {
  if (const auto waits = unnamed_.find({job, attempt}); waits != unnamed_.end()) {
    waits->second = manner;
  }
  const auto found = live_.find({job, attempt});
  if (found == live_.end()) return;
  const int signal = manner == live::Manner::AtOnce ? shim::kKillSignal
                     : manner == live::Manner::Save ? shim::kSaveSignal
                                                    : shim::kStopSignal;
  queue_signal(found->second->pidfd, signal, static_cast<int>(why));
  if (told_.empty()) deaf_alarm_.set(kDeaf);
  told_[{job, attempt}] = {.signal = signal, .at = std::chrono::steady_clock::now()};
}

void Launcher::warn(JobId job, Attempt attempt, int signal) {
  const auto found = live_.find({job, attempt});
  if (found == live_.end() || !found->second->has_go) return;
  queue_signal(found->second->pidfd, shim::kWarnSignal, signal);
}

Expected<void> Launcher::attach(JobId job, Attempt attempt, const shim::Attach& client) {
  const auto found = live_.find({job, attempt});
  if (found == live_.end() || !found->second->has_go) {
    return fail(ErrorCode::NotFound, "its process is not there yet");
  }
  const std::string path = record_path({job, attempt}) + std::string(shim::kAttachSuffix);
  const std::string draft = path + "-new";
  const std::string bytes = encode(client);
  const Descriptor file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return io_error(draft);
  if (auto done = write_whole(file.number(), bytes, draft); !done) return done;
  if (::rename(draft.c_str(), path.c_str()) != 0) return io_error(path);
  send_signal(found->second->pidfd, shim::kAttachSignal);
  return {};
}

// ---- Suspended attempts ----------------------------------------------------------------------

std::optional<pid_t> Launcher::shim_of(JobId job, Attempt attempt) const {
  const auto found = live_.find({job, attempt});
  const bool runs = found != live_.end() && found->second->has_go;
  return runs ? std::optional(found->second->pid) : std::nullopt;
}

void Launcher::is_outside(JobId job, Attempt attempt) {
  const auto found = live_.find({job, attempt});
  const auto record = read_record({job, attempt});
  if (found == live_.end() || !record || !record->go) return;
  found->second->outside = record->go->pid;
  publish();
}

/// Its name has the number of the attempt for which its shim was started, as the record's header.
std::string Launcher::cgroup_of(JobId job, Attempt attempt) const {
  if (options_.cgroup.empty()) return "";  // between an end and the next start no file is read
  const auto record = read_header(record_path({job, attempt}));
  return record ? cgroup_path(options_.cgroup, job, record->attempt) : "";
}

Expected<void> Launcher::take_over(JobId job, Attempt attempt) {
  const Key to{job, attempt};
  if (live_.contains(to)) return {};
  std::optional<Key> from;
  for_each_name(options_.attempts, [&](std::string_view name) {
    const auto key = key_of(name);
    const bool is_earlier = key && key->first == job && key->second < attempt;
    if (is_earlier && is_locked(record_path(*key))) from = key;
  });
  if (!from) {
    return fail(ErrorCode::NotFound, "its suspended process is gone");
  }
  const std::string path = record_path(to);
  if (::renameat2(AT_FDCWD, record_path(*from).c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) !=
      0) {
    return io_error(path);
  }
  const auto found = live_.find(*from);
  if (found == live_.end()) {  // of a daemon before us
    if (adopt(job, attempt) == live::Trace::Lives) return {};
    return fail(ErrorCode::NotFound, "its suspended process is gone");
  }
  auto shim = std::move(live_.extract(found).mapped());
  shim->messages.reset();
  shim->exit.reset();
  watch(to, keep(to, std::move(shim)));
  return {};
}

/// A shim waits while its job's process enters a folder or reads a program, which takes as long as
/// the user's file system likes. One that is killed takes that process along. One that does not end
/// even so hangs in the kernel: it starts nothing any more, and its job's place is not held for it.
void Launcher::end_deaf() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<Key> hanging;
  for (auto next = told_.begin(); next != told_.end();) {
    auto& [key, told] = *next;
    const auto found = live_.find(key);
    const bool is_due = now - told.at >= kDeaf;
    const bool is_killed = found != live_.end() && is_due && !told.was_killed &&
                           shim::has_pending(found->second->pid, told.signal);
    if (is_killed) {
      send_signal(found->second->pidfd, SIGKILL);
      told.was_killed = true;
      told.at = now;
    } else if (found != live_.end() && is_due && told.was_killed) {
      hanging.push_back(key);
    }
    const bool is_over = found == live_.end() || (is_due && !is_killed);
    next = is_over ? told_.erase(next) : std::next(next);
  }
  for (const Key& key : hanging) give_up(key);
  if (!told_.empty()) deaf_alarm_.set(kDeaf);
}

void Launcher::give_up(Key key) {
  auto shim = std::move(live_.extract(key).mapped());
  const bool has_go = shim->has_go;
  see_off(std::move(shim));
  publish();
  given_up_.insert(key);
  tell_exit(key, has_go);
}

void Launcher::forget(JobId job, Attempt attempt) {
  const std::string path = record_path({job, attempt});
  ::unlink(path.c_str());
  ::unlink((path + std::string(shim::kAttachSuffix)).c_str());  // that its shim did not read
}

/// Of an attempt that was told to be lost before anybody looked for its processes.
void Launcher::end_leftovers(Key key) {
  const auto record = read_header(record_path(key));
  if (record && record->go && !record->exit) {
    orphans_.end(
        {.record = *record, .cgroup = cgroup_path(options_.cgroup, key.first, record->attempt)});
  }
  forget(key.first, key.second);
}

/// Returns: what to tell of it.
std::string Launcher::move_aside(const std::string& path, const std::string& why) const {
  ::mkdir(options_.aside.c_str(), 0700);
  const std::string to = options_.aside + path.substr(path.rfind('/'));
  std::string name = to;
  for (int i = 2; ::access(name.c_str(), F_OK) == 0; ++i) name = to + "-" + std::to_string(i);
  const std::string what = path + ": " + why;
  if (::rename(path.c_str(), name.c_str()) == 0) return what + "; it is now " + name;
  return what + ", and it cannot be moved to " + name + ": " + std::strerror(errno);
}

std::vector<std::string> Launcher::sweep(const live::StandingOf& standing_of, JobId last) {
  std::vector<Key> over;
  std::vector<std::string> strange;
  std::vector<std::string> told;
  for_each_name(options_.attempts, [&](std::string_view name) {
    const auto key = key_of(name);
    if (!key) return;
    const live::Standing standing = standing_of(key->first, key->second);
    if (standing == live::Standing::Current) return;
    const std::string path = record_path(*key);
    const bool lives = is_locked(path);
    if (standing == live::Standing::Over && !lives) over.push_back(*key);
    if (standing == live::Standing::Unknown && !lives) strange.push_back(path);
    if (standing != live::Standing::Unknown || !lives) return;
    const auto record = read_record(*key);
    const bool named = record && record->shim;
    told.push_back(path + ": the journal does not know it, and it runs" +
                   (named ? "; to end it: kill " + std::to_string(record->shim->pid) : ""));
  });
  for_each_name(options_.logs, [&](std::string_view name) {
    const auto job = job_of_log(name);
    if (job && *job > last) strange.push_back(log_path(*job));
  });
  for (const Key& key : over) end_leftovers(key);
  for (const std::string& path : strange)
    told.push_back(move_aside(path, "the journal does not know it"));
  return told;
}

AttemptLeft look_for_attempt(const std::string& folder, JobId job, Attempt attempt) {
  AttemptLeft left;
  for_each_name(folder, [&](std::string_view name) {
    const auto key = key_of(name);
    if (!key || key->first != job) return;
    const std::string path = folder + "/" + std::string(name);
    left.lives = left.lives || is_locked(path);
    if (key->second != attempt) return;
    const auto text = read_whole(path);
    auto record = text ? shim::parse_record(*text) : fail(ErrorCode::NotFound, path);
    if (record) left.record = std::move(*record);
  });
  return left;
}

Expected<void> check_original(const std::string& folder) {
  constexpr int kLooks = 100;
  constexpr int kMicros = 10'000;
  std::string copied;
  for_each_name(folder, [&](std::string_view name) {
    const std::string path = folder + "/" + std::string(name);
    const auto lives_unlocked = [&]() -> std::optional<shim::Process> {
      if (!key_of(name) || is_locked(path)) return std::nullopt;
      const auto text = read_whole(path);
      const auto record = text ? shim::parse_record(*text) : fail(ErrorCode::NotFound, path);
      if (!record || !record->shim || record->exit || !open_process(*record->shim)) {
        return std::nullopt;
      }
      const auto stat = shim::stat_of(record->shim->pid);
      return stat && !shim::has_exited(*stat) ? record->shim : std::nullopt;
    };
    if (!copied.empty() || !lives_unlocked()) return;
    for (int look = 0; look < kLooks && lives_unlocked(); ++look) ::usleep(kMicros);
    if (const auto shim = lives_unlocked()) {
      copied = path + ": its shim, process " + std::to_string(shim->pid) +
               ", holds another file: this state is a copy, and jobs run from the original; start "
               "berthd there until they have ended";
    }
  });
  if (copied.empty()) return {};
  return fail(ErrorCode::Conflict, copied);
}

JobId last_named(const std::vector<std::string>& folders) {
  JobId last;
  for (const std::string& folder : folders) {
    for_each_name(folder, [&](std::string_view name) {
      const auto key = key_of(name);
      const auto job = key ? std::optional(key->first) : job_of_log(name);
      if (job && *job <= kLastJob) last = std::max(last, *job);
    });
  }
  return last;
}

}  // namespace berth::daemon
