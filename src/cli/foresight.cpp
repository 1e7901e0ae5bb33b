#include "cli/foresight.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>

#include "posix/descriptor.hpp"

namespace berth::cli {

namespace {

namespace fs = std::filesystem;

using Warnings = std::vector<std::string>;

std::unexpected<Error> unfit(const std::string& what) {
  return fail(ErrorCode::InvalidArgument, what);
}

/// Nothing where there is nothing, or where one may not look.
std::optional<mode_t> mode_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode;
}

/// Its first bytes; "" for one that cannot be read. Never waits: it may be a pipe.
std::string head_of(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 64> bytes{};
  const ssize_t got = file.is_open() ? ::read(file.number(), bytes.data(), bytes.size()) : 0;
  return std::string(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

/// `; say python3 x.py, or chmod +x x.py`
std::string way_out(const std::string& program, const std::string& head) {
  const std::string make_it = "chmod +x " + program;
  std::string interpreter = program.ends_with(".py") ? "python3" : "";
  if (program.ends_with(".sh")) interpreter = "bash";
  if (interpreter.empty()) return head.starts_with("#!") ? "; " + make_it : "";
  return "; say " + interpreter + " " + program +
         (head.starts_with("#!") ? ", or " + make_it : std::string());
}

Expected<Warnings> look_at_path(const FilesOfJob& job) {
  const fs::path path = fs::path(job.directory) / job.program;
  const auto mode = mode_of(path);
  const std::string name = "'" + job.program + "' ";
  if (!mode) {
    if (errno != ENOENT && errno != ENOTDIR) return Warnings{};
    return Warnings{"the command's " + name +
                    "is not there; the job fails if that is so when it starts"};
  }
  if (S_ISDIR(*mode)) return unfit("the command's " + name + "is a folder");
  if (!S_ISREG(*mode)) return Warnings{};
  const std::string head = head_of(path);
  if (::access(path.c_str(), X_OK) != 0) {
    return unfit("the command's " + name + "is not executable" + way_out(job.program, head));
  }
  const bool is_text = !head.empty() && !head.starts_with("#!") && !head.starts_with("\x7f") &&
                       head.find('\0') == std::string::npos;
  if (!is_text) return Warnings{};
  return Warnings{"the command's " + name +
                  "is a text whose first line does not begin with #!; it may not run" +
                  way_out(job.program, "")};
}

std::string path_in(const std::vector<std::string>& environment) {
  constexpr std::string_view kPath = "PATH=";
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPath)) return variable.substr(kPath.size());
  }
  return "/bin:/usr/bin";
}

/// A word without a slash, as execvp(3) looks it up.
Warnings look_in_path(const FilesOfJob& job) {
  const std::string path = path_in(job.environment);
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const fs::path folder = fs::path(job.directory) / path.substr(at, end - at);
    if (::access((folder / job.program).c_str(), X_OK) == 0) return {};
    at = end + 1;
  }
  const bool is_here = mode_of(fs::path(job.directory) / job.program).has_value();
  return {"'" + job.program + "' is in no folder of PATH; " +
          (is_here ? "say ./" + job.program + " for the one in the job's directory"
                   : "the job fails if that is so when it starts")};
}

/// What is there of a path: the folder that is, and the name in it that is not, if any.
struct Deepest {
  fs::path there;
  std::string missing;
};
Deepest deepest_of(const fs::path& folder) {
  Deepest found{.there = "/", .missing = ""};
  for (const fs::path& part : folder.relative_path()) {
    const fs::path next = found.there / part;
    if (!mode_of(next)) {
      found.missing = part.string();
      return found;
    }
    found.there = next;
  }
  return found;
}

/// Without the job's numbers nobody knows what follows a folder with % in its name, and those who
/// submit may make it once they know the job's.
Expected<Warnings> look_at_output(const FilesOfJob& job) {
  const std::string name = "--output: '" + job.output + "' ";
  const fs::path path = (fs::path(job.directory) / job.output).lexically_normal();
  const auto there = mode_of(path);
  if (job.output.ends_with('/') || (there && S_ISDIR(*there))) return unfit(name + "is a folder");
  if (there) {
    if (::access(path.c_str(), W_OK) == 0) return Warnings{};
    return Warnings{name + "is not yours to write; the job fails if that is so when it starts"};
  }
  const Deepest found = deepest_of(path.parent_path());
  const auto mode = mode_of(found.there);
  if (mode && !S_ISDIR(*mode))
    return unfit(name + "lies in " + found.there.string() + ", which is no folder");
  const bool may_write = ::access(found.there.c_str(), W_OK | X_OK) == 0;
  const std::string place = "'" + found.there.string() + "'";
  if (found.missing.empty()) {
    if (may_write) return Warnings{};
    return Warnings{name + "is not there, and you may not write in " + place +
                    "; the job fails if that is so when it starts"};
  }
  if (found.missing.find('%') != std::string::npos && may_write) return Warnings{};
  return Warnings{name + "needs the folder '" + (found.there / found.missing).string() +
                  "', which is not there" + (may_write ? "" : " and which you may not make") +
                  "; the job fails if that is so 10 s after its start"};
}

}  // namespace

Expected<std::vector<std::string>> look_ahead(const FilesOfJob& job) {
  const bool is_path = job.program.find('/') != std::string::npos;
  auto of_program = is_path ? look_at_path(job) : Expected<Warnings>(look_in_path(job));
  if (!of_program) return of_program;
  if (job.output.empty()) return of_program;
  const auto of_output = look_at_output(job);
  if (!of_output) return of_output;
  of_program->insert(of_program->end(), of_output->begin(), of_output->end());
  return of_program;
}

}  // namespace berth::cli
