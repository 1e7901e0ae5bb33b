#include "daemon/settings/retention.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

namespace berth::daemon {

namespace {

constexpr Duration kLongestPause = minutes(60);
constexpr Duration kShortestPause = Duration(100'000);
constexpr std::int64_t kBlock = 512;  ///< Of st_blocks.

/// `42.log`, and nothing else.
std::optional<JobId> job_of(std::string_view name) {
  std::uint64_t job = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), job);
  const bool is_log =
      read.ec == std::errc() && std::string_view(read.ptr, name.data() + name.size()) == ".log";
  return is_log ? std::optional(JobId(job)) : std::nullopt;
}

/// A log belongs to its job's user; root's have no limit.
std::optional<UserId> owner_of(const struct stat& status) {
  if (status.st_uid == 0 && ::geteuid() == 0) return std::nullopt;
  return UserId(status.st_uid);
}

std::vector<LogFile> list(const std::string& path) {
  std::vector<LogFile> files;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const auto job = job_of(entry->d_name);
    struct stat status{};
    if (!job || ::fstatat(::dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    files.push_back({.job = *job,
                     .size = Bytes(status.st_blocks * kBlock),
                     .written = instant_from_micros(status.st_mtim.tv_sec * 1'000'000),
                     .user = owner_of(status)});
  }
  return files;
}

}  // namespace

std::vector<JobId> needless_logs(std::vector<LogFile> files, const RetentionRules& rules,
                                 Instant now, const std::function<bool(JobId)>& has_ended) {
  std::ranges::sort(files, {}, &LogFile::job);
  Bytes sum(0);
  std::map<UserId, Bytes> of_user;
  for (const LogFile& file : files) {
    sum += file.size;
    if (file.user) of_user.try_emplace(*file.user, 0).first->second += file.size;
  }
  std::vector<JobId> needless;
  const auto remove_where = [&](const auto& is_too_much) {
    std::erase_if(files, [&](const LogFile& file) {
      if (!is_too_much(file) || !has_ended(file.job)) return false;
      needless.push_back(file.job);
      sum -= file.size;
      if (file.user) of_user.at(*file.user) -= file.size;
      return true;
    });
  };
  remove_where([&](const LogFile& file) {
    const bool is_old = rules.logs != kForever && file.written < now - rules.logs;
    const Bytes most = file.user ? rules.most_of(*file.user) : Bytes(0);
    return is_old || (most > Bytes(0) && of_user.at(*file.user) > most);
  });
  remove_where([&](const LogFile&) { return rules.logs_size > Bytes(0) && sum > rules.logs_size; });
  return needless;
}

Retention::Retention(Parts parts, const RetentionRules& rules)
    : parts_(std::move(parts)),
      rules_(rules),
      pruner_(parts_.keeper),
      alarm_(parts_.loop, [this] { begin(); }) {
  alarm_.set(std::min(pause(), seconds(60)));
}

void Retention::set(const RetentionRules& rules) {
  if (std::exchange(rules_, rules) != rules) alarm_.set(kShortestPause);
}

/// A tenth of the shortest age, so that nothing is kept much longer.
Duration Retention::pause() const {
  return std::clamp(std::min(rules_.jobs, rules_.logs) / 10, kShortestPause, kLongestPause);
}

void Retention::begin() {
  look_at_logs();
  const Instant now = parts_.clock.now();
  // Without an age only environments go, and only those of jobs that have ended since.
  const std::uint64_t finished = parts_.keeper.engine().view().finished();
  if (std::exchange(finished_, finished) == finished && rules_.jobs == kForever) {
    return alarm_.set(pause());
  }
  const bool is_for_ever = rules_.jobs == kForever || rules_.jobs > now - kStart;
  pruner_.begin(is_for_ever ? kStart : now - rules_.jobs);
  parts_.loop.ask_long(::geteuid(), [this] { return advance(); });
}

/// The next pass comes some time after the end of this one.
bool Retention::advance() {
  Expected<bool> more = true;
  do {
    more = pruner_.advance();
  } while (more && *more && parts_.loop.has_time());
  remove(pruner_.take_dropped());
  for (const auto& old : pruner_.take_snapshots()) parts_.remove_snapshot(old);
  if (more && *more) return true;
  if (!more) {
    std::fprintf(stderr, "berthd: old jobs stay in the journal: %s\n",
                 more.error().message.c_str());
  }
  alarm_.set(pause());
  return false;
}

void Retention::look_at_logs() {
  thread_.post([this, path = parts_.logs] {
    auto files = list(path);
    parts_.loop.post([this, files = std::move(files)]() mutable {
      used_ = Used{.logs = files.size()};
      for (const LogFile& file : files) used_->size += file.size;
      const ClusterView view = parts_.keeper.engine().view();
      // A clock that is wrong is mostly ahead: by that alone nothing is old.
      const Instant now = std::min(Clock::wall(), parts_.clock.now());
      remove(needless_logs(std::move(files), rules_, now,
                           [&](JobId job) { return !view.knows(job); }));
    });
  });
}

void Retention::remove(const std::vector<JobId>& jobs) {
  if (jobs.empty()) return;
  thread_.post([jobs, folder = parts_.logs] {
    for (const JobId job : jobs) {
      ::unlink((folder + "/" + std::to_string(job.value()) + ".log").c_str());
    }
  });
}

}  // namespace berth::daemon
