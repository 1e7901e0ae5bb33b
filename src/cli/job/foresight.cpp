#include "cli/job/foresight.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

#include "cli/job/other_queues.hpp"
#include "cli/job/program_words.hpp"
#include "cli/job/script.hpp"
#include "posix/descriptor.hpp"

namespace berth::cli {

namespace {

namespace fs = std::filesystem;

using Warnings = std::vector<std::string>;

std::unexpected<Error> unfit(const std::string& what) {
  return fail(ErrorCode::InvalidArgument, what);
}

const std::string& program_of(const FilesOfJob& job) {
  static const std::string kNone;
  return job.command.empty() ? kNone : job.command.front();
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
  std::array<char, 4096> bytes{};
  const ssize_t got = file.is_open() ? ::read(file.number(), bytes.data(), bytes.size()) : 0;
  return std::string(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

/// `#BERTH`, `#SBATCH` or another queue's, where its lines have options; "" for any other text.
std::string_view mark_in(const std::string& head) {
  const auto is_in = [&](std::string_view mark) {
    const std::string line = std::string(mark) + " -";
    return head.starts_with(line) || head.contains("\n" + line);
  };
  for (const std::string_view mark : {"#BERTH", "#SBATCH"}) {
    if (is_in(mark)) return mark;
  }
  for (const OtherQueue& queue : other_queues()) {
    if (is_in(queue.mark)) return queue.mark;
  }
  return "";
}

/// HTCondor's `executable = train.sh`, in any case, in a text that is no script.
bool is_for_condor(std::string_view head) {
  constexpr std::string_view kWord = "executable";
  while (!head.empty() && !head.starts_with("#!")) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    const std::string_view word = line.substr(0, line.find_first_of(" \t="));
    const auto is_same = [](char one, char other) { return (one | 0x20) == other; };
    if (!std::ranges::equal(word, kWord, is_same)) continue;
    const std::size_t sign = line.find_first_not_of(" \t", word.size());
    if (sign != line.npos && line[sign] == '=') return true;
  }
  return false;
}

/// Options that would be left out without a word; "" where there are none.
std::string fault_of_options(const std::string& head, const std::string& program) {
  if (head.starts_with("\xEF\xBB\xBF#")) {  // which no editor shows
    return "begins with a byte order mark, which hides its first line; say sed -i "
           "'1s/^\\xEF\\xBB\\xBF//' " +
           program;
  }
  if (is_for_condor(head)) {
    return "is a file for condor_submit, which is not read; say berth submit --vram SIZE -- and "
           "its executable with its arguments";
  }
  const std::string_view mark = mark_in(head);
  if (mark.empty() || head.starts_with("#!")) return "";
  return "has " + std::string(mark) +
         " lines, which count only in a script whose first line says what runs it; let it begin "
         "with #!/bin/bash";
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

/// Of a text that begins with `#!`: why the kernel will not find the program in that line, and what
/// to do; "" where it will.
std::string fault_of_first_line(const std::string& head, const std::string& program) {
  const std::string line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) {
    return "has the line ends of Windows, which its first line cannot have; say sed -i "
           "'s/\\r$//' " +
           program;
  }
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == line.npos) return "";
  const std::string interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  if (interpreter.front() != '/' || mode_of(interpreter) || errno != ENOENT) return "";
  return "begins with #!" + interpreter + ", and there is no such program";
}

Expected<Warnings> look_at_path(const FilesOfJob& job) {
  const fs::path path = fs::path(job.directory) / program_of(job);
  const auto mode = mode_of(path);
  const std::string name = "'" + program_of(job) + "' ";
  if (!mode) {
    if (errno != ENOENT && errno != ENOTDIR) return Warnings{};
    return Warnings{"the command's " + name +
                    "is not there; the job fails if that is so when it starts"};
  }
  if (S_ISDIR(*mode)) return unfit("the command's " + name + "is a folder");
  if (!S_ISREG(*mode)) return Warnings{};
  const std::string head = head_of(path);
  if (const std::string fault = fault_of_options(head, program_of(job)); !fault.empty()) {
    return unfit("the command's " + name + fault);
  }
  if (::access(path.c_str(), X_OK) != 0) {
    return unfit("the command's " + name + "is not executable" + way_out(program_of(job), head));
  }
  if (head.starts_with("#!")) {
    const std::string fault = fault_of_first_line(head, program_of(job));
    if (!fault.empty()) return unfit("the command's " + name + fault);
  }
  const bool is_text = !head.empty() && !head.starts_with("#!") && !head.starts_with("\x7f") &&
                       head.find('\0') == std::string::npos;
  if (!is_text) return Warnings{};
  return Warnings{"the command's " + name +
                  "is a text whose first line does not begin with #!; /bin/sh runs it" +
                  way_out(program_of(job), "")};
}

/// What shells do themselves, and what they find in no folder but among their functions.
constexpr auto kOfShells =
    std::to_array<std::string_view>({".", "alias", "cd", "eval", "exec", "export", "for", "if",
                                     "set", "source", "ulimit", "umask", "unset", "while"});
constexpr auto kOfInteractiveShells =
    std::to_array<std::string_view>({"conda", "mamba", "micromamba", "ml", "module"});

/// How to say what a shell would take, and execvp(3) does not; "" for any other word.
std::string way_by_shell(const std::string& word) {
  constexpr std::string_view kOfNames =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  const std::size_t equals = word.find('=');
  const bool is_variable = equals != word.npos && equals > 0 &&
                           word.find_first_not_of(kOfNames) == equals &&
                           std::string_view("0123456789").find(word[0]) == std::string_view::npos;
  if (is_variable) return "say --env " + word + " before the command";
  const bool is_plain = std::ranges::find(kOfShells, word) != kOfShells.end();
  const bool is_interactive =
      std::ranges::find(kOfInteractiveShells, word) != kOfInteractiveShells.end();
  if (!is_plain && !is_interactive) return "";
  return "it is a word of the shell: say -- bash " + std::string(is_plain ? "-c" : "-ic") + " '" +
         word + " ...'";
}

/// A file that this process has open, and the job will not: bash's `<(...)` is one. The three
/// standard streams are the job's too, but others.
std::string own_file_in(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
      if (!word.starts_with(folder)) continue;
      int number = 0;
      const char* const end = word.data() + word.size();
      const auto read = std::from_chars(word.data() + folder.size(), end, number);
      const bool is_number = read.ec == std::errc() && read.ptr == end;
      if (is_number && number > 2 && ::fcntl(number, F_GETFD) >= 0) return word;
    }
  }
  return "";
}

Warnings look_at_script(const FilesOfJob& job) {
  const std::string script = script_of(job.command);
  if (script.empty()) return {};
  const fs::path path = fs::path(job.directory) / script;
  if (mode_of(path)) {
    // Of `submit ./job.sh` they were read: the interpreter is not the user's word then.
    const std::string head = head_of(path);
    const std::string_view mark = mark_in(head);
    if (mark.empty() || !job.is_typed) return {};
    const std::string begins = head.starts_with("#!") ? "" : ", once it begins with #!/bin/bash";
    return {std::string("'").append(script).append("' has ").append(mark).append(
                " lines, which count in: berth submit ") +
            script + begins};
  }
  if (errno != ENOENT && errno != ENOTDIR) return {};
  return {"'" + script + "' is not there in '" + job.directory +
          "'; the job fails if that is so when it starts"};
}

/// A word without a slash, as execvp(3) looks it up.
Expected<Warnings> look_in_path(const FilesOfJob& job) {
  if (program_of(job).empty()) return Warnings{};  // which is refused
  if (is_in_folders(program_of(job), path_in(job.environment), job.directory)) return Warnings{};
  const std::string fault = "'" + program_of(job) + "' is in no folder of PATH";
  if (const std::string way = way_by_shell(program_of(job)); !way.empty()) {
    return Warnings{fault + "; " + way};
  }
  const fs::path here = fs::path(job.directory) / program_of(job);
  if (const auto mode = mode_of(here); mode && S_ISREG(*mode)) {
    const std::string head = head_of(here);
    if (const std::string fault_inside = fault_of_options(head, program_of(job));
        !fault_inside.empty()) {
      return unfit("'" + program_of(job) + "' " + fault_inside);
    }
    const std::string way = way_out(program_of(job), head);
    const bool may_run = ::access(here.c_str(), X_OK) == 0 || way.empty();
    return unfit(fault + (may_run
                              ? "; say ./" + program_of(job) + " for the one in the job's directory"
                              : way));
  }
  return Warnings{fault + "; the job fails if that is so when it starts"};
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
  if (found.missing.starts_with('$')) {
    return unfit(name +
                 "has a variable in it, and none is filled in here; %u is your name, %x the "
                 "job's, %j its number");
  }
  if (found.missing.find('%') != std::string::npos && may_write) return Warnings{};
  return Warnings{name + "needs the folder '" + (found.there / found.missing).string() +
                  "', which is not there" +
                  (may_write ? "; if that is so 10 s after the job's start, the job makes it"
                             : " and which you may not make; the job fails if that is so 10 s "
                               "after its start")};
}

}  // namespace

bool reads_program_from_input(const std::vector<std::string>& command) {
  if (!is_interpreter(command)) return false;
  if (command.size() == 1) return true;
  const bool is_shell = name_of_program(command).ends_with("sh");
  return command[1] == "-" || command[1] == "/dev/stdin" || (is_shell && command[1] == "-s");
}

Expected<std::vector<std::string>> look_ahead(const FilesOfJob& job) {
  if (const std::string file = own_file_in(job.command); !file.empty()) {
    return unfit("'" + file +
                 "' is open in this shell alone, as <(...) makes it: the job cannot read it; write "
                 "a file, and name that");
  }
  const bool is_path = program_of(job).find('/') != std::string::npos;
  auto of_program = is_path ? look_at_path(job) : look_in_path(job);
  if (!of_program) return of_program;
  std::ranges::move(look_at_script(job), std::back_inserter(*of_program));
  if (job.output.empty()) return of_program;
  const auto of_output = look_at_output(job);
  if (!of_output) return of_output;
  of_program->insert(of_program->end(), of_output->begin(), of_output->end());
  return of_program;
}

}  // namespace berth::cli
