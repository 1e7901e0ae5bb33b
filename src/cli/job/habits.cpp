#include "cli/job/habits.hpp"

#include <algorithm>
#include <string_view>

namespace berth::cli {

namespace {

constexpr std::string_view kDigits = "0123456789";

}  // namespace

std::vector<std::string> warnings_of_habits(const JobOptions& options,
                                            const std::vector<std::string>& environment) {
  std::vector<std::string> warnings;
  const std::string& time = options["--time"].value_or("");
  if (!time.empty() && time.find_first_not_of(kDigits) == time.npos) {
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
  if (options["--gpus"].value_or("1") == "0") return warnings;
  if (options["--gpu-index"]) return warnings;
  constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES=";
  for (const std::string& variable : environment) {
    const std::string gpus = variable.starts_with(kVisible) ? variable.substr(kVisible.size()) : "";
    if (gpus.empty()) continue;
    const bool is_list = gpus.find_first_not_of("0123456789,") == gpus.npos;
    warnings.push_back(variable +
                       " has no effect: the job sees the GPUs that it gets; say "
                       "--gpu-index " +
                       (is_list ? gpus : std::string("N")));
  }
  return warnings;
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
