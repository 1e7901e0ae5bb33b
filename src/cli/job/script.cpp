#include "cli/job/script.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "cli/job/foreign_flags.hpp"
#include "cli/job/other_queues.hpp"
#include "cli/print/option_words.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostHead = std::size_t{256} << 10;  ///< Of a script that is looked at.
constexpr std::string_view kBlank = " \t\r";

bool is_regular(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// The start of a file that begins with `#!`; nothing for others.
std::optional<std::string> head_of_script(const std::string& path) {
  if (!is_regular(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string head(kMostHead, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return head.starts_with("#!") ? std::optional(head) : std::nullopt;
}

/// Words as a shell would split them: blanks between, quotes of both kinds, `#` begins a comment.
/// Nothing where a quote is not closed.
std::optional<std::vector<std::string>> words_of_line(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        *word += c;
      }
    } else if (kBlank.contains(c)) {
      if (word) words.push_back(std::move(*word));
      word.reset();
    } else if (c == '#' && !word) {
      break;
    } else {
      if (!word) word.emplace();
      if (c == '"' || c == '\'') {
        quote = c;
      } else {
        *word += c;
      }
    }
  }
  if (quote != 0) return std::nullopt;
  if (word) words.push_back(std::move(*word));
  return words;
}

struct OtherLine {
  const OtherQueue& queue;
  ScriptLine line;
};

struct Directives {
  std::vector<ScriptLine> berth;
  std::vector<ScriptLine> sbatch;
  std::vector<ScriptLine> gflow;
  std::vector<OtherLine> others = {};    ///< Of other_queues().
  std::vector<std::string> unread = {};  ///< Warnings of lines that look as if they were read.
};

/// `#PBS -l ngpus=2`, but no comment.
bool has_option(std::string_view line, std::string_view mark) {
  if (!line.starts_with(mark)) return false;
  line.remove_prefix(mark.size());
  const std::size_t word = line.find_first_not_of(kBlank);
  return word != 0 && word != line.npos && line[word] == '-';
}

Expected<Directives> directives_of(std::string_view head, const std::string& name) {
  Directives found;
  std::size_t command = 0;  // the line of the first
  std::string_view last_unread;
  for (std::size_t number = 1; !head.empty(); ++number) {
    std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    const bool is_blank = line.find_first_not_of(kBlank) == std::string_view::npos;
    if (!line.starts_with('#') && !is_blank && command == 0) command = number;
    const bool is_late = command != 0 && line.starts_with("#BERTH -");
    if (is_late || line.starts_with("# BERTH -")) {
      found.unread.push_back(
          name + ":" + std::to_string(number) + ": '" + std::string(line) + "' is not read: " +
          (is_late ? "it stands behind the first command, in line " + std::to_string(command)
                   : std::string("write #BERTH, without the blank")));
    }
    if (command != 0) continue;
    const std::string where = name + ":" + std::to_string(number) + ": ";
    const std::string_view unread = unread_mark(line);
    if (!unread.empty() && unread != last_unread) {
      found.unread.push_back(where + std::string(unread) +
                             " lines are left out; say #BERTH --gpus N --vram SIZE --time "
                             "DURATION");
      last_unread = unread;
    }
    const auto take_words = [&](std::string_view mark) -> Expected<ScriptLine> {
      auto words = words_of_line(line.substr(mark.size()));
      if (!words) return fail(ErrorCode::InvalidArgument, where + "a quote is not closed");
      return ScriptLine{where, std::move(*words)};
    };
    for (const OtherQueue& queue : other_queues()) {
      if (!has_option(line, queue.mark)) continue;
      auto words = take_words(queue.mark);
      if (!words) return std::unexpected(words.error());
      found.others.push_back({queue, std::move(*words)});
    }
    for (auto [mark, list] : {std::pair(std::string_view("#BERTH"), &found.berth),
                              std::pair(std::string_view("#SBATCH"), &found.sbatch),
                              std::pair(std::string_view("#GFLOW"), &found.gflow),
                              std::pair(std::string_view("# GFLOW"), &found.gflow)}) {
      const bool is_marked = line.starts_with(mark) &&
                             (line.size() == mark.size() || kBlank.contains(line[mark.size()]));
      if (!is_marked) continue;
      auto words = take_words(mark);
      if (!words) return std::unexpected(words.error());
      list->push_back(std::move(*words));
    }
  }
  return found;
}

/// As `submit` would have it; what it has no equal for goes to the warnings, or is refused.
Expected<std::vector<std::string>> translated(const ScriptLine& line,
                                              std::vector<std::string>& warnings) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    if (!word.starts_with('-')) {
      warnings.push_back(line.where + "#SBATCH: '" + word +
                         "' is left out: it is no option; a value with blanks needs quotes");
      continue;
    }
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : word.npos;
    std::string option = is_long ? word.substr(0, equals) : word.substr(0, 2);
    std::string value;
    if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (!is_long && word.size() > 2) {
      value = word.substr(2);
    } else if (!is_sbatch_flag(option) && i + 1 < line.words.size() &&
               !line.words[i + 1].starts_with('-')) {
      value = line.words[++i];
    }
    SbatchMeaning meaning = meaning_of_sbatch(option, value);
    std::ranges::move(meaning.words, std::back_inserter(words));
    for (std::string& told : told_by_slurm(option, value)) {
      words.insert(words.end(), {"--env", std::move(told)});
    }
    if (meaning.left_out.empty()) continue;
    option += value.empty() ? "" : (is_long ? "=" : " ") + value;
    if (meaning.is_refused) {
      return fail(ErrorCode::InvalidArgument,
                  line.where + "#SBATCH " + option + " is not supported: " + meaning.left_out);
    }
    warnings.push_back(line.where + "#SBATCH " + option + " is left out: " + meaning.left_out);
  }
  return words;
}

Expected<std::vector<std::string>> translated(const OtherLine& other,
                                              std::vector<std::string>& warnings) {
  const std::string start = other.line.where + std::string(other.queue.mark) + " ";
  auto options = options_of_queue(other.queue, other.line.words);
  if (!options) return fail(options.error().code, other.line.where + options.error().message);
  for (const std::string& left_out : options->left_out) warnings.push_back(start + left_out);
  return std::move(options->words);
}

Expected<std::vector<std::string>> read_directives(JobOptions& options, const Directives& found) {
  std::vector<std::string> warnings;
  for (auto line = found.berth.rbegin(); line != found.berth.rend(); ++line) {
    auto of_line = options_of_words(line->words, line->where + "#BERTH ");
    if (!of_line) return std::unexpected(of_line.error());
    fill_in(options, std::move(*of_line));
  }
  for (auto line = found.sbatch.rbegin(); line != found.sbatch.rend(); ++line) {
    std::vector<std::string> of_this;
    auto words = translated(*line, of_this);
    if (!words) return std::unexpected(words.error());
    auto of_line = options_of_words(std::move(*words), line->where + "#SBATCH ");
    if (!of_line) return std::unexpected(of_line.error());
    fill_in(options, std::move(*of_line));
    warnings.insert(warnings.begin(), of_this.begin(), of_this.end());
  }
  for (auto other = found.others.rbegin(); other != found.others.rend(); ++other) {
    std::vector<std::string> of_this;
    auto words = translated(*other, of_this);
    if (!words) return std::unexpected(words.error());
    auto of_line = options_of_words(std::move(*words),
                                    other->line.where + std::string(other->queue.mark) + " ");
    if (!of_line) return std::unexpected(of_line.error());
    fill_in(options, std::move(*of_line));
    warnings.insert(warnings.begin(), of_this.begin(), of_this.end());
  }
  return warnings;
}

/// The words of `#!/bin/bash -e`; the kernel makes at most one word of what follows the program.
std::vector<std::string> interpreter_of(std::string_view head) {
  std::string_view line = head.substr(2, head.find('\n') - 2);
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  line = line.substr(0, line.find_last_not_of(kBlank) + 1);
  const std::size_t end = line.find_first_of(kBlank);
  std::vector<std::string> words = {std::string(line.substr(0, end))};
  if (end == std::string_view::npos) return words;
  line.remove_prefix(end);
  line.remove_prefix(line.find_first_not_of(kBlank));
  words.emplace_back(line);
  return words;
}

/// How a program takes its text as a word, and whether the next word is the name of that; nothing
/// for others.
struct TakesText {
  std::string_view program;  ///< As its name begins.
  std::string_view option;
  bool then_name;
};
constexpr auto kTakeText = std::to_array<TakesText>({
    {"sh", "-c", true},
    {"bash", "-c", true},
    {"dash", "-c", true},
    {"ksh", "-c", true},
    {"zsh", "-c", true},
    {"python", "-c", false},
    {"perl", "-e", false},
    {"ruby", "-e", false},
    {"Rscript", "-e", false},
});

/// Of the program that a first line names, or names behind `env`.
const TakesText* takes_text(const std::vector<std::string>& interpreter) {
  const auto base = [](std::string_view word) { return word.substr(word.rfind('/') + 1); };
  std::string_view program = base(interpreter.front());
  if (program == "env" && interpreter.size() > 1) {
    std::string_view words = interpreter[1];
    if (words.starts_with("-S")) words.remove_prefix(2);
    words.remove_prefix(std::min(words.find_first_not_of(kBlank), words.size()));
    program = base(words.substr(0, words.find_first_of(kBlank)));
  }
  const auto* const found = std::ranges::find_if(kTakeText, [&](const TakesText& each) {
    const std::string_view rest = program.substr(std::min(each.program.size(), program.size()));
    return program.starts_with(each.program) &&
           rest.find_first_not_of("0123456789.") == std::string_view::npos;
  });
  return found == kTakeText.end() ? nullptr : found;
}

/// `'python train.py'` is the name of no program.
std::optional<Error> whole_line(const std::vector<std::string>& command, const std::string& path) {
  const std::string& word = command.front();
  if (!word.contains(' ') || is_regular(path)) return std::nullopt;
  const std::string by_shell = command.size() > 1 ? "" : ", or say -- bash -c '" + word + "'";
  return Error{ErrorCode::InvalidArgument,
               "'" + word + "': no such program; leave out the quotes" + by_shell};
}

}  // namespace

bool is_in_path(const std::string& name) {
  const char* const variable = std::getenv("PATH");
  return variable != nullptr && is_in_folders(name, variable, ".");
}

bool is_in_folders(const std::string& name, const std::string& path, const std::string& below) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const auto program = std::filesystem::path(below) / path.substr(at, end - at) / name;
    if (is_regular(program) && ::access(program.c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

std::string path_in(const std::vector<std::string>& environment) {
  constexpr std::string_view kPath = "PATH=";
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPath)) return variable.substr(kPath.size());
  }
  return "/bin:/usr/bin";
}

void fill_in(JobOptions& into, JobOptions from) {
  for (auto& [option, value] : from.typed) {
    if (!into[option]) into[option] = std::move(value);
  }
  into.environment.insert(into.environment.begin(), from.environment.begin(),
                          from.environment.end());
  for (auto param = from.params.rbegin(); param != from.params.rend(); ++param) {
    const std::string_view name = std::string_view(*param).substr(0, param->find('=') + 1);
    const bool is_said = std::ranges::any_of(
        into.params, [&](const std::string& one) { return one.starts_with(name); });
    if (!is_said) into.params.insert(into.params.begin(), *param);
  }
  into.exclusive = into.exclusive || from.exclusive;
  into.hold = into.hold || from.hold;
}

Expected<JobOptions> options_of_words(std::vector<std::string> words, const std::string& where) {
  JobOptions options;
  CLI::App app("", "berth");
  app.set_help_flag();
  add_job_options(app, options);
  add_submit_options(app, options);
  std::ranges::reverse(words);
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::InvalidArgument, where + plain_words(error.what()));
  }
  const auto rest = app.remaining();
  if (rest.empty()) return options;
  return fail(ErrorCode::InvalidArgument, where + unknown_option(rest.front()));
}

Expected<GflowScript> gflow_script(const std::string& program) {
  const bool has_folder = program.contains('/');
  if (program.empty() || (!has_folder && is_in_path(program))) return {};
  const auto head = head_of_script(program);
  if (!head) return {};
  auto found = directives_of(*head, program);
  if (!found) return std::unexpected(found.error());
  GflowScript script{.lines = std::move(found->gflow), .command = interpreter_of(*head)};
  if (script.command.front().empty()) script.command = {"bash"};  // as there
  script.command.push_back(has_folder ? program : "./" + program);
  return script;
}

namespace {

/// A script for Slurm begins its program by srun, and would fail there after its time in the queue.
std::string warning_of_srun(std::string_view head, const std::string& name, const Caller& caller) {
  if (is_in_folders("srun", path_in(caller.environment), caller.directory)) return "";
  for (std::size_t number = 1; !head.empty(); ++number) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin == line.npos || !line.substr(begin).starts_with("srun ")) continue;
    return name + ":" + std::to_string(number) +
           ": there is no srun here, and the job fails in this line; leave the word out, or have "
           "the package berth-slurm-commands installed";
  }
  return "";
}

Expected<std::vector<std::string>> take_options(JobOptions& options, std::string_view head,
                                                const std::string& name, const Caller& caller) {
  const auto found = directives_of(head, name);
  if (!found) return std::unexpected(found.error());
  auto warnings = read_directives(options, *found);
  if (!warnings) return warnings;
  std::ranges::copy(found->unread, std::back_inserter(*warnings));
  if (!found->gflow.empty()) {
    warnings->push_back(found->gflow.front().where +
                        "#GFLOW lines are left out; berth compat gbatch reads them");
  }
  // Of what these want to know berthd tells the rest.
  const std::string job = options["--name"].value_or(name.substr(name.rfind('/') + 1));
  for (const OtherQueue& queue : other_queues()) {
    const auto is_its = [&](const OtherLine& one) { return one.queue.mark == queue.mark; };
    if (std::ranges::none_of(found->others, is_its)) continue;
    options.environment.insert(
        options.environment.begin(),
        {std::string(queue.folder) + "=" + caller.directory, std::string(queue.name) + "=" + job});
  }
  if (!found->sbatch.empty()) {
    options.environment.insert(options.environment.begin(),
                               {std::string(kTellsSlurm), "SLURM_JOB_NAME=" + job,
                                "SLURM_SUBMIT_DIR=" + caller.directory});
    if (auto warning = warning_of_srun(head, name, caller); !warning.empty()) {
      warnings->push_back(std::move(warning));
    }
  }
  return warnings;
}

}  // namespace

Expected<std::vector<std::string>> take_script(JobOptions& options, const std::string& text,
                                               const std::vector<std::string>& arguments,
                                               const Caller& caller) {
  constexpr std::size_t kMost = 120'000;  // the kernel takes 131,071 bytes in a word
  const std::string name = "stdin";
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::InvalidArgument, name + ": " + why);
  };
  if (text.find_first_not_of(" \t\r\n") == text.npos) return refuse("the script is empty");
  if (text.contains('\0')) return refuse("is no text");
  if (text.size() > kMost) {
    return refuse("the script has " + std::to_string(text.size()) + " bytes, berth takes " +
                  std::to_string(kMost) + " at most that way; name its file instead");
  }
  auto interpreter = text.starts_with("#!") ? interpreter_of(text) : std::vector<std::string>{};
  if (interpreter.empty() || interpreter.front().empty()) interpreter = {"/bin/sh"};
  const TakesText* const way = takes_text(interpreter);
  if (way == nullptr) {
    return refuse("a script for " + interpreter.front() +
                  " cannot be taken that way; name its file instead");
  }
  auto warnings = take_options(options, text, name, caller);
  if (!warnings) return warnings;
  if (!options["--name"]) options["--name"] = name;
  options.command = std::move(interpreter);
  options.command.insert(options.command.end(), {std::string(way->option), text});
  if (way->then_name) options.command.push_back(name);
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  return warnings;
}

Expected<std::vector<std::string>> read_script(JobOptions& options, const Caller& caller) {
  if (options.command.empty()) return {};
  std::string& program = options.command.front();
  const std::string path = (std::filesystem::path(caller.directory) / program).string();
  if (auto wrong = whole_line(options.command, path)) return std::unexpected(*wrong);
  const bool has_folder = program.contains('/');
  if (program.empty() || (!has_folder && is_in_path(program))) return {};
  const auto head = head_of_script(path);
  if (!head) return {};
  auto warnings = take_options(options, *head, program, caller);
  if (!warnings) return warnings;
  // The job's folder may be another than the one in which the script was named.
  program = options["--cwd"] ? path : has_folder ? program : "./" + program;
  if (::access(path.c_str(), X_OK) == 0) return warnings;
  auto interpreter = interpreter_of(*head);
  if (interpreter.front().empty()) return warnings;
  options.command.insert(options.command.begin(), std::move_iterator(interpreter.begin()),
                         std::move_iterator(interpreter.end()));
  return warnings;
}

}  // namespace berth::cli
