#include "cli/job/snapshot.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <linux/fs.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "cli/print/amounts.hpp"
#include "core/text/text.hpp"
#include "posix/descriptor.hpp"

namespace berth::cli {

namespace fs = std::filesystem;

namespace {

std::unexpected<Error> snapshot_io(const std::string& what) {
  return fail(ErrorCode::Io, "--snapshot: " + what + ": " + std::strerror(errno));
}

/// What a program writes to its standard output; nothing if it is not there or fails.
std::optional<std::string> output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writing.number(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  writing = Descriptor();
  if (failed != 0) return std::nullopt;
  std::string text;
  std::array<char, 65536> bytes;
  for (ssize_t got = 0; (got = read(reading.number(), bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(std::move(text))
                                                       : std::nullopt;
}

std::vector<std::string> words_in(std::string_view text, char end) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t to = std::min(text.find(end, at), text.size());
    if (to > at) words.emplace_back(text.substr(at, to - at));
    at = to + 1;
  }
  return words;
}

/// Caches that a job makes again by itself, and git's own folder, which is the original's.
bool is_linked(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name != "__pycache__" && name != ".git";
}

/// Looks at a folder first, so that nothing is copied of one that is too large.
class Selection {
 public:
  Selection(const std::string& folder, const SnapshotRules& rules)
      : folder_(folder), rules_(rules) {}

  Expected<void> look() {
    const std::string here = folder_;
    const auto known =
        output_of({"git", "-C", here, "ls-files", "-z", "-co", "--exclude-standard"});
    if (!known) return walk("");
    const auto ignored = output_of(
        {"git", "-C", here, "ls-files", "-z", "-oi", "--exclude-standard", "--directory"});
    for (const std::string& path : words_in(ignored.value_or(""), '\0')) {
      const std::string name = path.substr(0, path.find_last_not_of('/') + 1);
      if (!name.empty() && !is_excluded(name)) left_out_.insert(name);
    }
    for (const std::string& path : words_in(*known, '\0')) {
      const std::string name = path.substr(0, path.find_last_not_of('/') + 1);
      if (auto done = add(name); !done) return done;
    }
    return {};
  }

  /// Ascending, so that a folder stands before what is in it.
  const std::set<std::string>& files() const { return files_; }
  const std::set<std::string>& left_out() const { return left_out_; }
  Bytes size() const { return size_; }

 private:
  std::string full(const std::string& path) const { return folder_ + "/" + path; }

  bool matches(const std::string& path) const {
    const char* const name = path.c_str() + path.rfind('/') + 1;  // npos + 1 is 0
    return std::ranges::any_of(rules_.exclude, [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), path.c_str(), 0) == 0 ||
             fnmatch(pattern.c_str(), name, 0) == 0;
    });
  }

  /// It or a folder that it is in; the outermost of these is noted.
  bool is_excluded(const std::string& path) {
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (matches(part)) {
        left_out_.insert(part);
        return true;
      }
      if (end == std::string::npos) return false;
    }
  }

  Expected<void> add(const std::string& path) {
    if (path.empty() || is_excluded(path)) return {};
    struct stat status{};
    if (lstat(full(path).c_str(), &status) != 0) {
      if (errno == ENOENT) return {};  // git knows it, and it was deleted
      return snapshot_io(full(path));
    }
    if (S_ISDIR(status.st_mode)) {
      files_.insert(path);
      return walk(path + "/");
    }
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) return {};
    files_.insert(path);
    size_ += Bytes(status.st_size);
    by_part_[path.substr(0, path.find('/'))] += status.st_size;
    if (files_.size() <= kMostSnapshotFiles && size_ <= rules_.limit) return {};
    // Looked at to the end it could be the whole disk.
    return too_large();
  }

  /// Of a folder below, "" or with a / behind it.
  Expected<void> walk(const std::string& below) {
    std::error_code failed;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(full(below), failed), end; !failed && entry != end;
         entry.increment(failed)) {
      names.push_back(entry->path().filename().string());
    }
    if (failed) {
      return fail(ErrorCode::Io, "--snapshot: " + full(below) + ": " + failed.message());
    }
    std::ranges::sort(names);
    for (const std::string& name : names) {
      const std::string path = below + name;
      if (name == ".git" || full(path) == rules_.parent) {
        left_out_.insert(path);
      } else if (auto done = add(path); !done) {
        return done;
      }
    }
    return {};
  }

  std::unexpected<Error> too_large() const {
    const auto largest =
        std::ranges::max_element(by_part_, {}, [](const auto& part) { return part.second; });
    const std::string most = files_.size() > kMostSnapshotFiles
                                 ? "more than " + std::to_string(kMostSnapshotFiles) + " files"
                                 : "more than " + to_text(rules_.limit);
    return fail(ErrorCode::InvalidArgument,
                "--snapshot " + folder_ + ": " + most + ", of which " + largest->first + " has " +
                    to_text(Bytes(largest->second)) +
                    "; leave it out with --snapshot-exclude PATTERNS (a link to the original takes "
                    "its place), or say --snapshot-limit SIZE");
  }

  const std::string folder_;
  const SnapshotRules& rules_;
  std::set<std::string> files_;
  std::set<std::string> left_out_;
  std::map<std::string, std::int64_t> by_part_;  ///< Bytes by the first folder or file.
  Bytes size_{0};
};

/// The blocks themselves where the file system can share them, else in the kernel, else by hand.
bool copy_bytes(int from, int to, off_t size) {
  if (ioctl(to, FICLONE, from) == 0) return true;
  off_t copied = 0;
  while (copied < size) {
    const ssize_t got =
        copy_file_range(from, nullptr, to, nullptr, static_cast<std::size_t>(size - copied), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    copied += got;
  }
  if (copied >= size) return true;
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t got = read(from, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    for (ssize_t at = 0; at < got;) {
      const ssize_t wrote = write(to, bytes.data() + at, static_cast<std::size_t>(got - at));
      if (wrote < 0 && errno != EINTR) return false;
      if (wrote > 0) at += wrote;
    }
  }
}

class Copying {
 public:
  Copying(const std::string& from, const std::string& to) : from_(from), to_(to) {}

  Expected<void> copy(const std::string& path) {
    const std::string source = from_ + "/" + path;
    const std::string target = to_ + "/" + path;
    struct stat status{};
    if (lstat(source.c_str(), &status) != 0) return snapshot_io(source);
    if (S_ISDIR(status.st_mode)) return make_folder(path);
    if (auto done = make_folder(parent_of(path)); !done) return done;
    if (S_ISLNK(status.st_mode)) return copy_link(source, target);
    const Descriptor in(open(source.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!in.is_open()) return snapshot_io(source);
    const Descriptor out(
        open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777));
    if (!out.is_open()) return snapshot_io(target);
    if (!copy_bytes(in.number(), out.number(), status.st_size)) return snapshot_io(target);
    // Compilers and Python's caches go by the time.
    const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
    futimens(out.number(), times.data());
    fchmod(out.number(), status.st_mode & 0777);
    return {};
  }

  Expected<void> link(const std::string& path) {
    if (auto done = make_folder(parent_of(path)); !done) return done;
    const std::string target = to_ + "/" + path;
    if (symlink((from_ + "/" + path).c_str(), target.c_str()) == 0 || errno == EEXIST) return {};
    return snapshot_io(target);
  }

 private:
  static std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }

  Expected<void> make_folder(const std::string& path) {
    if (path.empty() || !made_.insert(path).second) return {};
    if (auto done = make_folder(parent_of(path)); !done) return done;
    struct stat status{};
    const mode_t mode = stat((from_ + "/" + path).c_str(), &status) == 0 ? status.st_mode : 0700;
    const std::string target = to_ + "/" + path;
    if (mkdir(target.c_str(), (mode & 0777) | 0700) == 0 || errno == EEXIST) return {};
    return snapshot_io(target);
  }

  /// One that leads out of the folder still leads there.
  Expected<void> copy_link(const std::string& source, const std::string& target) const {
    std::error_code failed;
    fs::path leads = fs::read_symlink(source, failed);
    if (failed) return fail(ErrorCode::Io, "--snapshot: " + source + ": " + failed.message());
    if (leads.is_relative()) {
      const fs::path there = (fs::path(source).parent_path() / leads).lexically_normal();
      const auto below = there.lexically_relative(from_);
      if (below.empty() || *below.begin() == "..") leads = there;
    }
    if (symlink(leads.c_str(), target.c_str()) == 0) return {};
    return snapshot_io(target);
  }

  const std::string from_;
  const std::string to_;
  std::set<std::string> made_;
};

/// `~/.local/state/berth/snapshots`.
Expected<std::string> snapshot_parent() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string base = state != nullptr && *state == '/' ? std::string(state)
                           : home != nullptr && *home == '/' ? std::string(home) + "/.local/state"
                                                             : "";
  if (base.empty())
    return fail(ErrorCode::Io, "--snapshot: HOME is not set; the copy goes into a folder of it");
  const std::string parent = base + "/berth/snapshots";
  std::error_code failed;
  fs::create_directories(parent, failed);
  if (failed) return fail(ErrorCode::Io, "--snapshot: " + parent + ": " + failed.message());
  chmod(parent.c_str(), 0700);
  return parent;
}

/// Where `path` is in the copy; nothing if it is not in the folder.
std::optional<std::string> moved(const std::string& path, const std::string& folder,
                                 const std::string& copy) {
  if (path == folder) return copy;
  if (!path.starts_with(folder + "/")) return std::nullopt;
  return copy + path.substr(folder.size());
}

void set_in(Json& environment, const std::string& name, const std::string& value) {
  for (auto entry = environment.begin(); entry != environment.end();) {
    const bool is_it = entry->get_ref<const std::string&>().starts_with(name + "=");
    entry = is_it ? environment.erase(entry) : entry + 1;
  }
  environment.push_back(name + "=" + value);
}

Expected<SnapshotRules> rules_of(const SnapshotWish& wish) {
  SnapshotRules rules;
  if (wish.limit) {
    const auto limit = parse_size(*wish.limit);
    if (!limit) {
      return fail(limit.error().code,
                  "--snapshot-limit " + *wish.limit + ": " + limit.error().message);
    }
    rules.limit = *limit;
  }
  rules.exclude = words_in(wish.exclude.value_or(""), ',');
  for (std::string& pattern : rules.exclude) {
    pattern = pattern.substr(0, pattern.find_last_not_of('/') + 1);
  }
  auto parent = snapshot_parent();
  if (!parent) return std::unexpected(parent.error());
  rules.parent = std::move(*parent);
  return rules;
}

Expected<std::string> folder_of(const SnapshotWish& wish, const std::string& directory) {
  if (wish.folder.empty()) return snapshot_source(directory);
  std::error_code failed;
  const fs::path folder = fs::canonical(wish.folder, failed);
  if (failed || !fs::is_directory(folder)) {
    return fail(ErrorCode::InvalidArgument,
                "--snapshot=" + wish.folder + ": " +
                    (failed ? failed.message() : std::string("is not a folder")));
  }
  return folder.string();
}

}  // namespace

std::string snapshot_source(const std::string& directory) {
  const auto top = output_of({"git", "-C", directory, "rev-parse", "--show-toplevel"});
  if (!top || top->size() < 2) return directory;
  return top->substr(0, top->find_last_not_of('\n') + 1);
}

Expected<Snapshot> take_snapshot(const std::string& folder, const SnapshotRules& rules) {
  Selection selection(folder, rules);
  if (auto done = selection.look(); !done) return std::unexpected(done.error());
  std::string path = rules.parent + "/" + fs::path(folder).filename().string() + "-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return snapshot_io(path);
  Copying copying(folder, path);
  Expected<void> done;
  for (const std::string& file : selection.files()) {
    if (done) done = copying.copy(file);
  }
  Snapshot made{.path = path,
                .files = selection.files().size(),
                .size = selection.size(),
                .left_out = {selection.left_out().begin(), selection.left_out().end()}};
  for (const std::string& file : made.left_out) {
    if (done && is_linked(file) && fs::path(folder) / file != rules.parent)
      done = copying.link(file);
  }
  if (done) return made;
  std::error_code ignored;
  fs::remove_all(path, ignored);
  return std::unexpected(done.error());
}

SubmissionCopy::SubmissionCopy(SubmissionCopy&& other) noexcept
    : path_(std::exchange(other.path_, {})), warnings_(std::move(other.warnings_)) {}

SubmissionCopy::~SubmissionCopy() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Expected<SubmissionCopy> SubmissionCopy::make(Submission& submission) {
  SubmissionCopy copy;
  if (!submission.snapshot) return copy;
  const std::string typed = submission.body.at("directory").get<std::string>();
  std::error_code failed;
  const fs::path real = fs::canonical(typed, failed);
  const std::string directory = failed ? typed : real.string();
  const auto folder = folder_of(*submission.snapshot, directory);
  if (!folder) return std::unexpected(folder.error());
  if (!moved(directory, *folder, "")) {
    return fail(
        ErrorCode::InvalidArgument,
        "--snapshot=" + *folder + ": does not have the job's directory in it, " + directory);
  }
  const auto rules = rules_of(*submission.snapshot);
  if (!rules) return std::unexpected(rules.error());
  const auto made = take_snapshot(*folder, *rules);
  if (!made) return std::unexpected(made.error());
  copy.path_ = made->path;
  Json& body = submission.body;
  const std::string there = *moved(directory, *folder, made->path);
  // A folder without files that git knows is not in the copy yet.
  fs::create_directories(there, failed);
  body["directory"] = there;
  body["snapshot"] = made->path;
  set_in(body["environment"], "PWD", there);
  set_in(body["environment"], "BERTH_SUBMIT_DIR", typed);
  set_in(body["environment"], "BERTH_SNAPSHOT", made->path);
  for (const Json& word : body["command"]) {
    const std::string& text = word.get_ref<const std::string&>();
    if (!moved(text, *folder, "") && !moved(text, typed, "")) continue;
    copy.warnings_.push_back(std::string("--snapshot: ")
                                 .append(text)
                                 .append(" names the original, not the copy; name it from ")
                                 .append(typed));
  }
  return copy;
}

}  // namespace berth::cli
