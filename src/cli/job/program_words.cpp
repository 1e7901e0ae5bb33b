#include "cli/job/program_words.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/limits.hpp"
#include "core/base/sha256.hpp"
#include "posix/descriptor.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostFiles = 16;
constexpr std::size_t kLargestFile = std::size_t{256} << 10;
constexpr std::string_view kBetweenWords = " \t\r\n;&|()<>\"'";

bool is_configuration(std::string_view name) {
  constexpr std::array<std::string_view, 11> kEndings = {
      ".sh", ".bash", ".zsh", ".yaml", ".yml", ".json", ".toml", ".cfg", ".conf", ".ini", ".gin"};
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
}

/// What a run writes is new after each: `--out_file`, but not `--layout`.
bool is_written(std::string_view option) {
  std::string name;
  for (const char c : option) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::array<std::string_view, 9> kSay = {"out",    "save",   "log",  "result", "metric",
                                                    "report", "export", "dump", "write"};
  return std::ranges::any_of(kSay, [&](std::string_view say) {
    const std::size_t at = name.find(say);
    return at != name.npos && (at == 0 || name[at - 1] < 'a' || name[at - 1] > 'z');
  });
}

std::string digest_of(std::string_view text) {
  std::string counts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const std::size_t first = line.find_first_not_of(" \t\r\n");
    if (first != line.npos && line[first] != '#') counts += line;
    text.remove_prefix(end);
  }
  return "sha256:" + sha256(counts);
}

/// Names of files that the command reads, in order; some are none.
std::vector<std::string> files_of(const std::vector<std::string>& command) {
  std::vector<std::string> files;
  std::string_view option;
  for (const std::string& argument : command) {
    const std::string_view all(argument);
    for (std::size_t at = 0; at < all.size();) {  // the words of `sh -c` too
      const std::size_t end = std::min(all.find_first_of(kBetweenWords, at), all.size());
      std::string_view word = all.substr(at, end - at);
      at = end + 1;
      const std::size_t sign = word.find('=');
      if (sign != word.npos) {
        option = word.substr(0, sign);
        word.remove_prefix(sign + 1);
      }
      if (is_configuration(word) && !is_written(option)) files.emplace_back(word);
      option = sign == word.npos && word.starts_with('-') ? word : std::string_view();
    }
  }
  return files;
}

/// A script without such a name, by itself or behind `bash`; installed ones are programs.
bool may_be_script(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return slash != word.npos && !word.substr(0, slash).ends_with("/bin") && !word.ends_with(".py") &&
         !is_configuration(word);
}

/// Those of a program that finds its own.
std::vector<std::string> files_found_by(std::string_view program) {
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  if (program == "make" || program == "gmake") return {"GNUmakefile", "makefile", "Makefile"};
  if (program == "just") return {"justfile", "Justfile"};
  return {};
}

}  // namespace

std::string name_of_program(const std::vector<std::string>& command) {
  return command.empty() ? "" : command.front().substr(command.front().rfind('/') + 1);
}

bool is_interpreter(const std::vector<std::string>& command) {
  constexpr auto kInterpreters = std::to_array<std::string_view>(
      {"python", "python3", "bash", "sh", "zsh", "Rscript", "julia", "node", "perl", "ruby"});
  return std::ranges::find(kInterpreters, name_of_program(command)) != kInterpreters.end();
}

std::string script_of(const std::vector<std::string>& command) {
  constexpr auto kEndings = std::to_array<std::string_view>(
      {".py", ".sh", ".bash", ".R", ".r", ".jl", ".js", ".pl", ".rb"});
  constexpr auto kAlone = std::to_array<std::string_view>(
      {"-u", "-O", "-OO", "-B", "-I", "-E", "-s", "-S", "-x", "-e", "-l", "-v", "-ex", "-eu"});
  if (!is_interpreter(command)) return "";
  const auto is_alone = [&](const std::string& word) {
    return std::ranges::find(kAlone, word) != kAlone.end();
  };
  const auto first = std::find_if_not(command.begin() + 1, command.end(), is_alone);
  const bool is_script = first != command.end() && !first->starts_with('-') &&
                         std::ranges::any_of(kEndings, [&](std::string_view ending) {
                           return first->ends_with(ending);
                         });
  return is_script ? *first : "";
}

std::optional<std::string> text_of_file(const std::filesystem::path& path) {
  // A FIFO would let the open wait.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  const bool is_regular = file.is_open() && ::fstat(file.number(), &status) == 0 &&
                          S_ISREG(status.st_mode) &&
                          status.st_size <= static_cast<off_t>(kLargestFile);
  if (!is_regular) return std::nullopt;
  std::string text;
  std::array<char, 1 << 14> part{};
  while (text.size() <= kLargestFile) {
    const ssize_t got = ::read(file.number(), part.data(), part.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;  // it grows
}

std::vector<std::string> program_words(const ProgramSource& source) {
  std::vector<std::string> words = source.variables;
  std::ranges::sort(words);
  if (source.command.empty()) return words;
  constexpr std::size_t kFirstWords = 3;
  std::vector<std::string> files = files_found_by(source.command.front());
  for (const std::string& word :
       std::span(source.command).first(std::min(kFirstWords, source.command.size()))) {
    if (may_be_script(word)) files.push_back(word);
  }
  std::ranges::move(files_of(source.command), std::back_inserter(files));
  std::size_t found = 0;
  for (const std::string& file : files) {
    if (found == kMostFiles) break;
    const auto text = text_of_file(std::filesystem::path(source.directory) / file);
    if (!text || (may_be_script(file) && !text->starts_with("#!"))) continue;
    words.push_back(digest_of(*text));
    ++found;
  }
  std::string all;
  for (const std::string& word : words) all += word + '\0';
  if (all.size() <= limits::kMostProgramWords) return words;
  return {"sha256:" + sha256(all)};
}

}  // namespace berth::cli
