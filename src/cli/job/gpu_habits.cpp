#include "cli/job/gpu_habits.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>

#include "cli/code/gpu_python.hpp"
#include "cli/code/gpu_warnings.hpp"
#include "cli/code/launchers.hpp"
#include "cli/code/python_code.hpp"
#include "cli/code/shell_words.hpp"
#include "cli/job/program_words.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostScripts = 4;
constexpr std::size_t kMostDepth = 6;  ///< Of shells in scripts in shells.

/// Options of launchers and trainers that say how many GPUs, by a process or a part for each.
constexpr auto kCounts = std::to_array<std::string_view>(
    {"--nproc_per_node", "--nproc-per-node", "--num_gpus", "--num-gpus", "--ngpus", "--n_gpus",
     "--gpus", "--num_processes", "--tensor-parallel-size", "--tensor_parallel_size", "--devices",
     "--trainer.devices", "trainer.devices"});
/// Those of them that also take a list of numbers.
constexpr auto kCountsOrNumbers = std::to_array<std::string_view>(
    {"--gpus", "--devices", "--trainer.devices", "trainer.devices"});

/// Options that say which GPU.
constexpr auto kNumbers = std::to_array<std::string_view>(
    {"--gpu", "--gpu_id", "--gpu-id", "--gpuid", "--gpu_ids", "--gpu-ids", "--device",
     "--device_id", "--device-id", "--device_ids", "--cuda_device", "--cuda-device", "device"});

/// Which part of a card's memory is taken. Of a command itself berthd says it.
constexpr auto kParts = std::to_array<std::string_view>(
    {"--gpu-memory-utilization", "--gpu_memory_utilization", "--mem-fraction-static",
     "--mem_fraction_static", "XLA_PYTHON_CLIENT_MEM_FRACTION"});

constexpr auto kPorts = std::to_array<std::string_view>(
    {"--master_port", "--master-port", "--main_process_port", "MASTER_PORT"});

/// Programs that only ask another one to do the work, which no job holds.
struct Delegate {
  std::string_view name;
  std::string_view verb;  ///< The beginning of its next word; "" for any.
  std::string_view warning;
};
constexpr std::string_view kCountsForNone =
    "what it starts counts for no job and may see every GPU; say docker run -e BERTH_JOB_KEY";
constexpr std::string_view kNoPart = "what it starts is no part of the job";
constexpr std::string_view kDropsVariables =
    "it drops CUDA_VISIBLE_DEVICES, so that the program sees every GPU; leave it out";
constexpr std::string_view kEndsAtOnce =
    "what it starts is no part of the job, which ends at once; leave it out: berth attach returns "
    "to a job";
constexpr auto kDelegates = std::to_array<Delegate>({
    {"docker", "exec", kCountsForNone},
    {"docker", "compose", kCountsForNone},
    {"docker-compose", "", kCountsForNone},
    {"ollama", "run",
     "it asks the server, whose memory is not this job's; run ollama serve in a job"},
    {"sudo", "", kDropsVariables},
    {"doas", "", kDropsVariables},
    {"systemctl", "start", kNoPart},
    {"systemd-run", "", kNoPart},
    {"tmux", "new", kEndsAtOnce},
    {"screen", "-d", kEndsAtOnce},
});

/// Options of docker and podman that no value follows.
constexpr auto kWithoutValue = std::to_array<std::string_view>(
    {"--rm", "-i", "-t", "-it", "-ti", "--init", "--privileged", "--read-only"});
/// They run a container, or the program of an image.
constexpr auto kRunContainers = std::to_array<std::string_view>({"docker", "podman"});
constexpr auto kRunImages = std::to_array<std::string_view>({"apptainer", "singularity"});

/// Their words set nothing.
constexpr auto kOnlySay = std::to_array<std::string_view>(
    {"echo", "printf", "grep", "egrep", "rg",   "test", "[",      "[[", "cat",   "ls",  "sed",
     "awk",  "head",   "tail", "which", "type", "man",  "module", "ml", "spack", "git", "pip"});
/// Their options are for an allocation of their own.
constexpr auto kAllocate = std::to_array<std::string_view>(
    {"berth", "srun", "salloc", "sbatch", "docker", "podman", "singularity", "apptainer"});

template <class List>
bool is_one_of_names(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

/// `ssh -p 22 host nvidia-smi`, but no tunnel: a word follows the host.
bool is_command_by_ssh(std::span<const ShellWord> words) {
  constexpr std::string_view kTakeWord = "bcDEeFIiJLlmOopQRSWw";
  std::size_t at = 1;
  for (; at < words.size() && words[at].text.starts_with('-'); ++at) {
    const std::string& option = words[at].text;
    if (option.contains('N')) return false;
    if (option.size() == 2 && kTakeWord.contains(option[1])) ++at;
  }
  return at + 1 < words.size();
}

/// `--gpu 1`, `--gpu=1`.
struct OptionTyped {
  std::string_view name;
  std::string_view value;
  std::string written;
};
OptionTyped option_at(std::span<const ShellWord> words, std::size_t at) {
  const std::string_view word = words[at].text;
  const std::size_t sign = word.find('=');
  if (sign != word.npos) {
    return {
        .name = word.substr(0, sign), .value = word.substr(sign + 1), .written = std::string(word)};
  }
  if (at + 1 == words.size() || !word.starts_with("--")) return {};
  return {.name = word,
          .value = words[at + 1].text,
          .written = std::string(word) + " " + words[at + 1].text};
}

bool serves_ollama(const ShellCommand& command) {
  return command.words.size() > 1 && plain_name(command.words[0].text) == "ollama" &&
         command.words[1].text == "serve";
}
bool asks_which_gpus(const ShellCommand& command) {
  return std::ranges::any_of(command.words, [](const ShellWord& word) {
    return word.text.contains("$CUDA_VISIBLE_DEVICES") ||
           word.text.contains("${CUDA_VISIBLE_DEVICES");
  });
}

std::string_view last_program(const ShellCommand& command, const WhatRuns& runs) {
  return runs.programs.empty() ? "" : plain_name(command.words[runs.programs.back()].text);
}

class GpuReader {
 public:
  explicit GpuReader(const GpuProgram& program) : program_(program), warnings_(program.gpus) {}

  void read_command(const std::vector<std::string>& command) {
    ShellCommand one;
    for (const std::string& word : command) one.words.push_back({.text = word, .line = 1});
    warnings_.begin("");
    read_commands(std::span(&one, 1), 0);
  }
  const GpuWarnings& warnings() const { return warnings_; }

 private:
  void read_commands(std::span<const ShellCommand> commands, std::size_t depth) {
    if (depth == kMostDepth) return;
    const About about{.has_server = std::ranges::any_of(commands, serves_ollama),
                      .keeps_given = std::ranges::any_of(commands, asks_which_gpus)};
    for (const ShellCommand& command : commands) {
      const WhatRuns runs = what_runs(command.words);
      if (!is_one_of_names(kOnlySay, last_program(command, runs))) {
        read_programs(command.words, runs, about);
        read_what_runs(command, runs, depth);
      }
    }
  }

  /// Of all commands of a text.
  struct About {
    bool has_server;   ///< Of ollama.
    bool keeps_given;  ///< Reads CUDA_VISIBLE_DEVICES as it was.
  };
  void read_programs(std::span<const ShellWord> words, const WhatRuns& runs, const About& about) {
    if (!about.keeps_given) read_visible(words, runs);
    for (std::size_t i = 0; i < runs.programs.size(); ++i) {
      const std::size_t at = runs.programs[i];
      const std::size_t begin = i == 0 ? 0 : at;  // with its variables
      const std::size_t end = i + 1 < runs.programs.size() ? runs.programs[i + 1] : words.size();
      const std::string_view name = plain_name(words[at].text);
      if (name != "ollama" || !about.has_server) read_delegate(words.subspan(at));
      if (!is_one_of_names(kAllocate, name)) read_options(words.subspan(begin, end - begin), words);
    }
  }

  void read_delegate(std::span<const ShellWord> words) {
    const std::string_view name = plain_name(words.front().text);
    const std::string_view verb = words.size() > 1 ? std::string_view(words[1].text) : "";
    const std::size_t line = words.front().line;
    for (const Delegate& one : kDelegates) {
      if (name != one.name || !verb.starts_with(one.verb)) continue;
      const std::string shown =
          std::string(name) + (one.verb.empty() ? "" : " ") + std::string(one.verb);
      warnings_.say(line, shown + ": " + std::string(one.warning));
    }
    if (name == "ssh" && is_command_by_ssh(words)) {
      warnings_.say(line,
                    "ssh: what it starts on the other machine is no part of the job, and its GPUs "
                    "are not berth's to give; submit it there");
    }
    if (is_one_of_names(kRunContainers, name) && verb == "run") read_container(name, words);
    if (is_one_of_names(kRunImages, name)) read_image(name, words);
  }

  /// Of docker and podman, whose containers begin without the job's variables.
  void read_container(std::string_view name, std::span<const ShellWord> words) {
    const std::size_t line = words.front().line;
    const std::string run = std::string(name) + " run: ";
    if (name == "docker" && !any_contains(words, "BERTH_JOB_KEY")) {
      warnings_.say(line, run + "its processes count for the job only with -e BERTH_JOB_KEY");
    }
    if (is_detached(words)) {
      warnings_.say(line, run +
                              "-d: the job ends at once, and the container goes on without a "
                              "place; leave it out");
    }
    if (any_contains(words, "CUDA_VISIBLE_DEVICES")) return;
    for (const std::string_view all : {"--gpus", "nvidia.com/gpu=", "NVIDIA_VISIBLE_DEVICES="}) {
      if (!any_contains(words, all)) continue;
      warnings_.say(line, run + "by " + std::string(all) +
                              " it sees GPUs that are not the job's; say --gpus all -e "
                              "CUDA_VISIBLE_DEVICES, or with podman --device nvidia.com/gpu=all -e "
                              "CUDA_VISIBLE_DEVICES");
      return;
    }
  }

  /// Of apptainer and singularity, whose programs have the job's variables unless they drop them.
  void read_image(std::string_view name, std::span<const ShellWord> words) {
    read_image_without_gpus(name, words);
    constexpr auto kDrop =
        std::to_array<std::string_view>({"--cleanenv", "-e", "--containall", "-C"});
    const auto drops = std::ranges::find_if(
        words, [&](const ShellWord& word) { return is_one_of_names(kDrop, word.text); });
    if (drops == words.end() || !any_contains(words, "--nv")) return;
    if (any_contains(words, "CUDA_VISIBLE_DEVICES")) return;
    warnings_.say(
        words.front().line,
        std::string(name) + " " + drops->text +
            ": it drops CUDA_VISIBLE_DEVICES, so that the program sees every GPU; leave it "
            "out");
  }

  void read_image_without_gpus(std::string_view name, std::span<const ShellWord> words) {
    constexpr auto kRun = std::to_array<std::string_view>({"run", "exec", "shell"});
    if (words.size() < 2 || !is_one_of_names(kRun, words[1].text)) return;
    if (any_contains(words, "--nv") || any_contains(words, "--rocm")) return;
    warnings_.say(words.front().line,
                  std::string(name) + " " + words[1].text +
                      ": without --nv the program sees no GPU, unless the machine's configuration "
                      "adds it");
  }

  static bool any_contains(std::span<const ShellWord> words, std::string_view text) {
    return std::ranges::any_of(words,
                               [&](const ShellWord& word) { return word.text.contains(text); });
  }

  /// `-d`, `-itd` or `--detach` before the image: behind that, options are the program's.
  static bool is_detached(std::span<const ShellWord> words) {
    for (std::size_t at = 2; at < words.size(); ++at) {
      const std::string_view word = words[at].text;
      if (word == "--detach" || word == "-d") return true;
      const bool is_cluster =
          word.size() > 2 && word.front() == '-' && word.find_first_not_of("itd", 1) == word.npos;
      if (is_cluster && word.contains('d')) return true;
      const std::string_view before = words[at - 1].text;
      const bool is_value = before.starts_with('-') && !before.contains('=') &&
                            !is_one_of_names(kWithoutValue, before);
      if (!word.starts_with('-') && !is_value) return false;
    }
    return false;
  }

  void read_visible(std::span<const ShellWord> words, const WhatRuns& runs) {
    constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES=";
    for (const std::size_t program : runs.programs) {
      if (is_one_of_names(kAllocate, plain_name(words[program].text))) return;
    }
    for (const ShellWord& word : words) {
      if (!word.text.starts_with(kVisible)) continue;
      warnings_.visible(word.line, std::string_view(word.text).substr(kVisible.size()));
    }
  }

  /// Those of a program, in the words of its whole command.
  void read_options(std::span<const ShellWord> words, std::span<const ShellWord> whole) {
    const auto names_accelerate = [](const ShellWord& word) {
      return word.text.contains("accelerate");
    };
    for (std::size_t at = 0; at < words.size(); ++at) {
      const OptionTyped option = option_at(words, at);
      const std::size_t line = words[at].line;
      read_device(words[at]);
      // Other programs have one of this name for what runs on the host.
      if (option.name == "--num_processes" && std::ranges::none_of(whole, names_accelerate)) {
        continue;
      }
      const auto numbers = listed_numbers(option.value);
      const bool is_one = numbers && numbers->size() == 1 && !option.value.contains('[');
      const int largest = numbers ? *std::ranges::max_element(*numbers) : 0;
      const bool is_count = is_one && is_one_of_names(kCounts, option.name);
      const bool is_number = is_one_of_names(kNumbers, option.name) ||
                             (!is_count && is_one_of_names(kCountsOrNumbers, option.name));
      if (is_count) warnings_.count(line, option.written, largest);
      if (numbers && is_number) warnings_.number(line, option.written, largest);
      if (is_one_of_names(kParts, option.name) &&
          (!warnings_.file().empty() || !option.name.starts_with('-'))) {
        warnings_.share(line, option.written, option.value);
      }
      if (is_one_of_names(kPorts, option.name)) {
        warnings_.port(line, option.written, option.value);
      }
    }
  }
  /// `cuda:1`, `--device=cuda:1`.
  void read_device(const ShellWord& word) {
    constexpr std::string_view kCuda = "cuda:";
    std::string_view device = word.text;
    device.remove_prefix(device.rfind('=') + 1);  // npos + 1 is 0
    if (!device.starts_with(kCuda)) return;
    const auto numbers = listed_numbers(device.substr(kCuda.size()));
    if (!numbers || numbers->size() != 1) return;
    warnings_.number(word.line, std::string(device), numbers->front(), kCuda);
  }

  // ---- Scripts ---------------------------------------------------------------------------------

  void read_what_runs(const ShellCommand& command, const WhatRuns& runs, std::size_t depth) {
    if (runs.kind == RunKind::Unknown) return read_input(command, runs, depth);
    const ShellWord& what = command.words[runs.what];
    switch (runs.kind) {
      case RunKind::PythonText:
        return read_python(what.text, what.line, depth);
      case RunKind::ShellText:
        return read_shell(what.text, what.line, depth);
      case RunKind::PythonFile:
      case RunKind::ShellFile:
      case RunKind::File:
        return read_file_named(what.text, runs.kind, depth);
      case RunKind::Unknown:
        return;
    }
  }
  void read_input(const ShellCommand& command, const WhatRuns& runs, std::size_t depth) {
    if (command.input.empty()) return;
    const std::string_view name = last_program(command, runs);
    if (name == "python") read_python(command.input, command.input_line, depth);
    if (name == "bash" || name == "sh") read_shell(command.input, command.input_line, depth);
  }

  void read_shell(const std::string& text, std::size_t first_line, std::size_t depth) {
    auto commands = shell_commands(text);
    for (ShellCommand& command : commands) {
      for (ShellWord& word : command.words) word.line += first_line - 1;
      command.input_line += first_line - 1;
    }
    read_commands(commands, depth + 1);
  }
  void read_python(const std::string& text, std::size_t first_line, std::size_t depth) {
    for (const ShellLine& line : read_gpus_of_python(text, first_line, warnings_)) {
      read_shell(line.text, line.line, depth);
    }
  }

  void read_file_named(const std::string& name, RunKind kind, std::size_t depth) {
    if (scripts_.size() == kMostScripts || is_one_of_names(scripts_, name)) return;
    const auto text = text_of_file(std::filesystem::path(program_.directory) / name);
    if (!text || text->contains('\0')) return;
    const std::string first_line = text->substr(0, text->find('\n'));
    const bool says_program = first_line.starts_with("#!");
    if (kind == RunKind::File && !says_program) return;
    scripts_.push_back(name);
    const std::string before = warnings_.file();
    warnings_.begin(name);
    const bool is_python =
        kind == RunKind::PythonFile || (kind == RunKind::File && first_line.contains("python"));
    if (is_python) {
      read_python(*text, 1, depth);
    } else if (kind == RunKind::ShellFile || first_line.contains("sh")) {
      read_shell(*text, 1, depth);
    }
    warnings_.begin(before);
  }

  const GpuProgram& program_;
  GpuWarnings warnings_;
  std::vector<std::string> scripts_;  ///< That were read.
};

}  // namespace

GpuHabits habits_of_gpus(const GpuProgram& program) {
  GpuReader reader(program);
  reader.read_command(program.command);
  const std::vector<std::string>& said = reader.warnings().list();
  GpuHabits habits{.warnings = said, .shares = reader.warnings().shares()};
  for (std::size_t i = 0; i < program.points.size(); ++i) {
    const Point& point = program.points[i];
    std::vector<std::string> command = program.command;
    fill(command, point);
    reader.read_command(command);
    if (said.size() == habits.warnings.size()) continue;
    habits.warnings.push_back("task " + std::to_string(i + 1) + " (" + point_text(point) +
                              "): " + said.back());
    break;
  }
  return habits;
}

}  // namespace berth::cli
