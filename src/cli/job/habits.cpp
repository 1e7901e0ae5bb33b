#include "cli/job/habits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace berth::cli {

namespace {

constexpr std::string_view kDigits = "0123456789";

/// Options of launchers that say how many GPUs, by a process or a part for each.
constexpr auto kCounts = std::to_array<std::string_view>(
    {"--nproc_per_node", "--nproc-per-node", "--num_gpus", "--num-gpus", "--num_processes",
     "--tensor-parallel-size", "--tensor_parallel_size"});

std::optional<int> number_at(std::string_view text) {
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = end == text.data() + text.size() || kDigits.find(*end) == kDigits.npos;
  return failed == std::errc() && is_whole ? std::optional(number) : std::nullopt;
}

/// What follows each `word` in the text, up to a space.
template <class Use>
void for_each_after(std::string_view text, std::string_view word, Use use) {
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::string_view rest = text.substr(at + word.size());
    use(rest.substr(0, rest.find_first_of(" \"';")));
  }
}

void warn_of_counts(const std::string& text, int gpus, std::vector<std::string>& warnings) {
  const std::string asked = std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
  for (const std::string_view option : kCounts) {
    // Other programs have one of this name for what runs on the host.
    if (option == "--num_processes" && text.find("accelerate") == text.npos) continue;
    for (const char* const between : {"=", " "}) {
      for_each_after(text, " " + std::string(option) + between, [&](std::string_view value) {
        const auto count = number_at(value);
        if (!count || *count <= gpus) return;
        warnings.push_back(std::string(option) + between + std::to_string(*count) +
                           " is more than the " + asked + " that the job asks for; --gpus " +
                           std::to_string(*count) + " asks for as many");
      });
    }
  }
  for_each_after(text, "cuda:", [&](std::string_view value) {
    const auto index = number_at(value);
    if (!index || *index < gpus) return;
    warnings.push_back(
        "cuda:" + std::to_string(*index) + ": a job that asks for " + asked + " sees cuda:0" +
        (gpus == 1 ? " alone" : " to cuda:" + std::to_string(gpus - 1)) + ", whichever it gets");
  });
}

void warn_of_command(const JobOptions& options, std::vector<std::string>& warnings) {
  std::string text = " ";
  for (const std::string& word : options.command) text += word + " ";
  const bool is_docker =
      text.find(" docker run ") != text.npos || text.find("/docker run ") != text.npos;
  if (is_docker && text.find("BERTH_JOB_KEY") == text.npos) {
    warnings.push_back(
        "docker run: its processes count for the job only with -e BERTH_JOB_KEY, and --gpus all "
        "shows them every GPU; say -e BERTH_JOB_KEY --gpus "
        "'\"device='$CUDA_VISIBLE_DEVICES'\"' in a script");
  }
  const std::string gpus = options["--gpus"].value_or("1");
  if (gpus.empty() || gpus.find_first_not_of(kDigits) != gpus.npos) return;  // elastic
  if (const auto count = number_at(gpus)) warn_of_counts(text, *count, warnings);
  for_each_after(text, " CUDA_VISIBLE_DEVICES=", [&](std::string_view value) {
    if (!number_at(value)) return;
    warnings.push_back("CUDA_VISIBLE_DEVICES=" + std::string(value) +
                       " in the command leads past the GPU that the job gets: leave it out");
  });
}

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
  warn_of_command(options, warnings);
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
