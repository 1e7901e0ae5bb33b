#include "cli/job/habits.hpp"

#include <algorithm>
#include <string_view>

namespace berth::cli {

namespace {

constexpr std::string_view kDigits = "0123456789";

/// `lr=0.1,0.01`, `+model.size=1,2`; no `--x=1,2`, and no list in brackets, which is one value.
bool is_swept(std::string_view word) {
  const std::size_t sign = word.find('=');
  if (sign == word.npos || sign == 0 || word.front() == '-') return false;
  const std::string_view values = word.substr(sign + 1);
  return values.find_first_of("([{'\"") == values.npos && values.contains(',');
}

/// Hydra's `-m lr=0.1,0.01` behind its script: `python -m` stands before that.
std::string warning_of_multirun(const std::vector<std::string>& command) {
  const auto is_script = [](const std::string& word) { return word.ends_with(".py"); };
  const auto script = std::ranges::find_if(command, is_script);
  if (script == command.end()) return "";
  const auto is_flag = [](const std::string& word) { return word == "-m" || word == "--multirun"; };
  const auto flag = std::find_if(script, command.end(), is_flag);
  const auto swept = std::find_if(script, command.end(), is_swept);
  if (flag == command.end() || swept == command.end()) return "";
  const std::string name = swept->substr(0, swept->find('='));
  return *flag + " " + *swept + ": Hydra runs these one after the other in this one job; --param " +
         *swept + " -- ... " + name + "={" + name + "} makes a job of each";
}

/// The letter in `-it`, or in `--tty`; before the image, as behind that options are its program's.
std::string terminal_option(const std::vector<std::string>& command, std::size_t at) {
  for (; at < command.size() && command[at].starts_with('-'); ++at) {
    const std::string& word = command[at];
    const bool is_cluster = word.size() > 1 && word.find_first_not_of("itd", 1) == word.npos;
    if (word == "--tty" || (is_cluster && word.contains('t'))) return word;
    const bool has_value = !is_cluster && !word.contains('=') && word != "--rm" && word != "--init";
    if (has_value) ++at;
  }
  return "";
}

}  // namespace

std::vector<std::string> warnings_of_habits(const JobOptions& options,
                                            const std::vector<std::string>& environment) {
  std::vector<std::string> warnings;
  const std::string& time = options["--time"].value_or("");
  if (!time.empty() && time.find_first_not_of("0123456789.") == time.npos) {
    warnings.push_back("--time " + time + " is " + time + " seconds; say " + time +
                       "min for minutes");
  }
  const std::string& name = options["--name"].value_or("");
  if (!name.empty() && name.find_first_not_of(kDigits) == name.npos) {
    warnings.push_back("--name " + name + ": other commands take " + name +
                       " for the number of a job");
  }
  const std::string& output = options["--output"].value_or("");
  if (options["--array"] && !output.empty() && !output.contains('%')) {
    warnings.push_back("--output " + output +
                       ": all tasks of the array write this one file; say %A and %a in its name");
  }
  if (const auto hydra = warning_of_multirun(options.command); !hydra.empty()) {
    warnings.push_back(hydra);
  }
  if (options["--gpus"].value_or("1") == "0") return warnings;
  if (options["--gpu-index"]) return warnings;
  constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES=";
  for (const std::string& variable : environment) {
    if (!variable.starts_with(kVisible)) continue;
    const std::string gpus = variable.substr(kVisible.size());
    const bool is_none = gpus.empty() || gpus == "-1" || gpus == "NoDevFiles";
    const bool is_list = gpus.find_first_not_of("0123456789,") == gpus.npos;
    warnings.push_back(variable + " has no effect: the job sees the GPUs that it gets; say " +
                       (is_none ? "--gpus 0" : "--gpu-index " + (is_list ? gpus : "N")));
  }
  return warnings;
}

std::string warning_of_clock(const std::string& time) {
  if (std::ranges::count(time, ':') != 1 || time.contains('-')) return "";
  return "--time " + time + " is minutes and seconds; say " + time + ":00 for hours and minutes";
}

std::string warning_of_terminal(const std::vector<std::string>& command) {
  for (std::size_t at = 0; at + 1 < command.size(); ++at) {
    const bool is_docker = command[at] == "docker" || command[at].ends_with("/docker");
    if (!is_docker || (command[at + 1] != "run" && command[at + 1] != "exec")) continue;
    const std::string option = terminal_option(command, at + 2);
    if (option.empty()) return "";
    return "docker " + command[at + 1] + " " + option +
           ": a job of berth submit has no terminal, and docker refuses; leave the t out, or say "
           "berth run";
  }
  return "";
}

std::string warning_of_words_behind(const std::vector<std::string>& left_over,
                                    const JobOptions& options) {
  if (options["--vram"] || left_over.empty()) return "";
  const auto is_ours = [](const std::string& word) {
    return word == "--vram" || word.starts_with("--vram=");
  };
  const auto found = std::find_if(left_over.begin() + 1, left_over.end(), is_ours);
  if (found == left_over.end()) return "";
  return *found + " stands behind the command and goes to " + left_over.front() +
         "; what is meant for berth stands before it, and the job asks for no --vram now";
}

}  // namespace berth::cli
