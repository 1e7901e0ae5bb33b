#include "cli/job/gpu_habits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "cli/job/program_words.hpp"

namespace berth::cli {

namespace {

constexpr std::string_view kOfNumber = "0123456789";
constexpr std::size_t kMostWarnings = 3;  ///< Of a script.

/// Options of launchers and trainers that say how many GPUs, by a process or a part for each.
constexpr auto kCounts = std::to_array<std::string_view>(
    {"--nproc_per_node", "--nproc-per-node", "--num_gpus", "--num-gpus", "--ngpus", "--n_gpus",
     "--gpus", "--num_processes", "--tensor-parallel-size", "--tensor_parallel_size", "--devices",
     "--trainer.devices", "trainer.devices"});

/// Options that say which GPU.
constexpr auto kNumbers = std::to_array<std::string_view>(
    {"--gpu", "--gpu_id", "--gpu-id", "--gpuid", "--gpu_ids", "--gpu-ids", "--device",
     "--device_id", "--device-id", "--device_ids", "--cuda_device", "--cuda-device", "device"});

constexpr auto kPorts = std::to_array<std::string_view>(
    {"--master_port", "--master-port", "--main_process_port", "MASTER_PORT"});
constexpr std::string_view kUsualPort = "29500";

/// Programs that only ask another one to do the work, which no job holds.
struct Delegate {
  std::string_view words;
  std::string_view warning;
  bool goes_on = false;  ///< The last word may be longer.
};
constexpr auto kDelegates = std::to_array<Delegate>({
    {"docker exec",
     "what it starts counts for no job and may see every GPU; say docker run -e "
     "BERTH_JOB_KEY"},
    {"docker compose",
     "its containers count for no job and may see every GPU; say docker run -e "
     "BERTH_JOB_KEY"},
    {"docker-compose",
     "its containers count for no job and may see every GPU; say docker run -e "
     "BERTH_JOB_KEY"},
    {"ollama run", "it asks the server, whose memory is not this job's; run ollama serve in a job"},
    {"sudo", "it drops CUDA_VISIBLE_DEVICES, so that the program sees every GPU; leave it out"},
    {"systemctl start", "what it starts is no part of the job"},
    {"systemd-run", "what it starts is no part of the job"},
    {"tmux new",
     "what it starts is no part of the job, which ends at once; leave tmux out: berth "
     "attach returns to a job"},
    {"screen -d",
     "what it starts is no part of the job, which ends at once; leave screen out: "
     "berth attach returns to a job"},
});

/// What can be said of a line's words; Python has no words of a shell.
enum class Language : std::uint8_t { Shell, Python };

struct LineOf {
  std::string where;  ///< `train.py:12: `, or "" for the command itself.
  Language language = Language::Shell;
};

std::optional<int> number_at(std::string_view text) {
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = end == text.data() + text.size() || kOfNumber.find(*end) == kOfNumber.npos;
  return failed == std::errc() && is_whole ? std::optional(number) : std::nullopt;
}

/// The largest of `1` or `0,1`; nothing of anything else.
std::optional<int> largest_in(std::string_view list) {
  std::optional<int> largest;
  if (list.find_first_not_of("0123456789,") != list.npos) return std::nullopt;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (const auto number = number_at(list.substr(at, end - at))) {
      largest = std::max(largest.value_or(0), *number);
    }
    at = end + 1;
  }
  return largest;
}

/// What follows each `word` in the text, up to a space.
template <class Use>
void for_each_after(std::string_view text, std::string_view word, Use use) {
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::string_view rest = text.substr(at + word.size());
    use(rest.substr(0, rest.find_first_of(" \"'`;)|&")));
  }
}

/// The value of each `option VALUE` or `option=VALUE`, and both as they are written.
template <class Use>
void for_each_value(std::string_view text, std::string_view option, Use use) {
  for (const char* const between : {"=", " "}) {
    const std::string before = std::string(option) + between;
    for_each_after(text, " " + before,
                   [&](std::string_view value) { use(value, before + std::string(value)); });
  }
}

/// Whether a shell would run these words, as the first of a command: not as others' arguments.
bool begins_command(std::string_view text, const Delegate& program) {
  constexpr auto kBefore = std::to_array<std::string_view>(
      {"-c", "!", "do", "then", "else", "exec", "time", "nohup", "{"});
  constexpr std::string_view kBlank = " \t";
  constexpr std::string_view kEndsCommand = ";&|(";
  for (auto at = text.find(program.words); at != text.npos; at = text.find(program.words, at + 1)) {
    const std::string_view after = text.substr(at + program.words.size());
    if (!program.goes_on && !after.starts_with(' ')) continue;
    std::string_view before = text.substr(0, at);
    if (before.ends_with('/')) before = before.substr(0, before.find_last_of(kBlank) + 1);
    if (!before.empty() && !kBlank.contains(before.back()) &&
        !kEndsCommand.contains(before.back())) {
      continue;  // the end of another word
    }
    const std::size_t last = before.find_last_not_of(kBlank);
    if (last == before.npos || kEndsCommand.contains(before[last])) return true;
    before = before.substr(0, last + 1);
    const std::string_view word = before.substr(before.find_last_of(kBlank) + 1);
    if (std::ranges::find(kBefore, word) != kBefore.end()) return true;
  }
  return false;
}

class GpuReader {
 public:
  explicit GpuReader(std::optional<int> gpus) : gpus_(gpus) {}

  void read(const std::string& text, const LineOf& place) {
    place_ = &place;
    if (place.language == Language::Shell) {
      read_elsewhere(text);
      read_ports(text);
      if (gpus_) read_counts(text);
      if (gpus_) read_numbers(text);
    }
    if (gpus_) read_devices(text);
    read_visible(text);
  }
  std::vector<std::string> take() && { return std::move(warnings_); }
  std::size_t count() const { return warnings_.size(); }

 private:
  void warn(const std::string& warning) {
    if (std::ranges::find(said_, warning) != said_.end()) return;
    said_.push_back(warning);
    warnings_.push_back(place_->where + warning);
  }
  std::string asked() const { return std::to_string(*gpus_) + (*gpus_ == 1 ? " GPU" : " GPUs"); }
  /// `sees cuda:0 to cuda:1, whichever it gets`.
  std::string sees(const std::string& before) const {
    return ": a job that asks for " + asked() + " sees " + before + "0" +
           (*gpus_ == 1 ? " alone" : " to " + before + std::to_string(*gpus_ - 1)) +
           ", whichever it gets";
  }

  void read_counts(const std::string& text) {
    for (const std::string_view option : kCounts) {
      // Other programs have one of this name for what runs on the host.
      if (option == "--num_processes" && !text.contains("accelerate")) continue;
      if (option == "--gpus" && text.contains("docker")) continue;
      for_each_value(text, option, [&](std::string_view value, const std::string& written) {
        const auto count = number_at(value);
        if (!count || *count <= *gpus_ || value.contains(',')) return;
        warn(written + " is more than the " + asked() + " that the job asks for; --gpus " +
             std::to_string(*count) + " asks for as many");
      });
    }
  }
  void read_numbers(const std::string& text) {
    for (const std::string_view option : kNumbers) {
      for_each_value(text, option, [&](std::string_view value, const std::string& written) {
        const auto number = largest_in(value);
        if (number && *number >= *gpus_) warn(written + sees("number "));
      });
    }
  }
  void read_devices(const std::string& text) {
    if (text.contains("/cuda:")) return;  // an image's name
    for (const std::string_view word : {"cuda:", "cuda.set_device("}) {
      for_each_after(text, word, [&](std::string_view value) {
        const auto index = number_at(value);
        const bool is_version = value.find_first_not_of(kOfNumber) != value.npos &&
                                value[value.find_first_not_of(kOfNumber)] == '.';
        if (!index || *index < *gpus_ || is_version) return;
        warn((word == "cuda:" ? "cuda:" + std::to_string(*index)
                              : "set_device(" + std::to_string(*index) + ")") +
             sees("cuda:"));
      });
    }
  }
  /// `CUDA_VISIBLE_DEVICES=1` of a shell; `os.environ["CUDA_VISIBLE_DEVICES"] = "1"` and
  /// `{"CUDA_VISIBLE_DEVICES": "1"}` of Python. No comparison.
  void read_visible(const std::string& text) {
    constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES";
    for (auto at = text.find(kVisible); at != text.npos; at = text.find(kVisible, at + 1)) {
      std::string_view rest = std::string_view(text).substr(at + kVisible.size());
      const bool is_quoted = rest.starts_with('"') || rest.starts_with('\'');
      const bool is_member = is_quoted && rest.substr(1).starts_with(']');
      if (is_quoted) rest.remove_prefix(std::min(rest.find_first_not_of("\"'] "), rest.size()));
      const bool is_set = rest.starts_with(is_quoted && !is_member ? ':' : '=');
      if (!is_set || rest.starts_with("==")) continue;
      rest.remove_prefix(std::min(rest.find_first_not_of(" \"'", 1), rest.size()));
      std::string_view gpus = rest.substr(0, rest.find_first_not_of("0123456789,"));
      while (gpus.ends_with(',')) gpus.remove_suffix(1);
      if (!number_at(gpus)) continue;
      warn("CUDA_VISIBLE_DEVICES=" + std::string(gpus) +
           (place_->where.empty() ? " in the command" : "") +
           " leads past the GPU that the job gets: leave it out");
    }
  }
  void read_ports(const std::string& text) {
    for (const std::string_view option : kPorts) {
      for_each_value(text, option, [&](std::string_view value, const std::string& written) {
        if (value != kUsualPort) return;
        warn(written +
             ": all who leave it at that meet there; leave it out, $MASTER_PORT is the "
             "job's own");
      });
    }
  }
  void read_elsewhere(const std::string& text) {
    for (const Delegate& program : kDelegates) {
      if (program.words == "ollama run" && text.contains("ollama serve")) continue;
      if (!begins_command(text, program)) continue;
      warn(std::string(program.words) + ": " + std::string(program.warning));
    }
    const bool runs_docker = text.contains(" docker run ") || text.contains("/docker run ");
    if (!runs_docker || text.contains("BERTH_JOB_KEY")) return;
    warn(
        "docker run: its processes count for the job only with -e BERTH_JOB_KEY, and --gpus all "
        "shows them every GPU; say -e BERTH_JOB_KEY --gpus "
        "'\"device='$CUDA_VISIBLE_DEVICES'\"' in a script");
  }

  std::optional<int> gpus_;
  const LineOf* place_ = nullptr;
  std::vector<std::string> warnings_;
  std::vector<std::string> said_;  ///< The same, without the lines.
};

/// The script that the command runs: `train.py` of `python train.py`, `./run.sh`.
std::string script_in(const std::vector<std::string>& command) {
  if (const std::string script = script_of(command); !script.empty()) return script;
  return !command.empty() && command.front().contains('/') ? command.front() : "";
}

/// Without a comment at its end.
std::string_view code_of(std::string_view line) {
  char quote = '\0';
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t')) {
      return line.substr(0, at);
    }
  }
  return line;
}

/// What is said of numbers of GPUs, or asked, and sets none.
bool only_talks(std::string_view code) {
  constexpr auto kTalks = std::to_array<std::string_view>(
      {"help=", "add_argument", "choices", "device_count", "print(", "$CUDA_VISIBLE_DEVICES",
       "${CUDA_VISIBLE_DEVICES", "echo ", "printf ", "grep "});
  return std::ranges::any_of(kTalks, [&](std::string_view word) { return code.contains(word); });
}

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

void read_lines(const std::string& text, const std::string& name, GpuReader& reader) {
  const std::string first_line = text.substr(0, text.find('\n'));
  const bool is_python =
      name.ends_with(".py") || (first_line.starts_with("#!") && first_line.contains("python"));
  LineOf place{.where = "", .language = is_python ? Language::Python : Language::Shell};
  std::size_t number = 0;
  bool is_prose = false;  // between the quotes of a text of several lines
  for (std::size_t at = 0; at < text.size() && reader.count() < kMostWarnings;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    place.where = name + ":" + std::to_string(++number) + ": ";
    const std::size_t marks = count_of(line, "\"\"\"") + count_of(line, "'''");
    if (is_python && (is_prose || marks > 0)) {
      is_prose = is_prose != (marks % 2 == 1);
      continue;
    }
    const std::string_view code = code_of(line);
    if (!only_talks(code)) reader.read(" " + std::string(code) + " ", place);
  }
}

}  // namespace

std::vector<std::string> warnings_of_gpus(const GpuProgram& program) {
  std::string text = " ";
  for (const std::string& word : program.command) text += word + " ";
  GpuReader of_command(program.gpus);
  of_command.read(text, {});
  std::vector<std::string> warnings = std::move(of_command).take();
  const std::string script = script_in(program.command);
  if (script.empty()) return warnings;
  const auto lines = text_of_file(std::filesystem::path(program.directory) / script);
  if (!lines || lines->contains('\0')) return warnings;
  if (!lines->starts_with("#!") && script_of(program.command) != script) return warnings;
  GpuReader of_script(program.gpus);
  read_lines(*lines, script, of_script);
  std::ranges::move(std::move(of_script).take(), std::back_inserter(warnings));
  return warnings;
}

}  // namespace berth::cli
