#include "cli/code/launchers.hpp"

#include <algorithm>
#include <array>

#include "core/base/split.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

/// A program that runs the command behind its own options and words.
struct Wrapper {
  std::string_view name;
  std::string_view verb;    ///< Its first word; "" for none.
  std::string_view values;  ///< Options that a word follows.
  std::size_t words = 0;    ///< Before the command, and behind the options.
};
constexpr auto kWrappers = std::to_array<Wrapper>({
    {"env", "", "-u --unset -C --chdir"},
    {"nice", "", "-n"},
    {"ionice", "", "-c -n -p --class --classdata"},
    {"chrt", "", "", 1},
    {"taskset", "", "", 1},
    {"numactl", "", "-N -m -C -i -p"},
    {"timeout", "", "-s -k --signal --kill-after", 1},
    {"stdbuf", "", "-i -o -e --input --output --error"},
    {"time", "", "-f -o --format --output"},
    {"sudo", "", "-u -g -C -D -h -p -R -T -U"},
    {"doas", "", "-u -C"},
    {"nohup", "", ""},
    {"setsid", "", ""},
    {"exec", "", "-a"},
    {"command", "", ""},
    {"builtin", "", ""},
    {"unbuffer", "", ""},
    {"xvfb-run", "", "-n -s -e -f -p -w"},
    {"then", "", ""},
    {"do", "", ""},
    {"else", "", ""},
    {"elif", "", ""},
    {"if", "", ""},
    {"while", "", ""},
    {"until", "", ""},
    {"!", "", ""},
    {"{", "", ""},
    {"srun", "", "-n -N -c -p -t -J -A -w -x -o -e -q -G -D"},
    {"mpirun", "",
     "-n -np -x -H -hostfile --hostfile -host --host -map-by --map-by -bind-to "
     "--bind-to -N"},
    {"mpiexec", "", "-n -np -x -H -hostfile --hostfile -host --host -N"},
    {"horovodrun", "", "-np -H -p --num-proc"},
    {"uv", "run",
     "--with --python -p --project --directory --extra --group --env-file "
     "--with-requirements --package --index-url"},
    {"poetry", "run", "-C -P --directory --project"},
    {"pdm", "run", "-p --project"},
    {"rye", "run", ""},
    {"pipenv", "run", ""},
    {"pixi", "run", "-e --environment --manifest-path"},
    {"hatch", "run", "-e"},
    {"conda", "run", "-n -p --name --prefix --cwd"},
    {"mamba", "run", "-n -p --name --prefix --cwd"},
    {"micromamba", "run", "-n -p --name --prefix --cwd"},
    {"nsys", "profile", "-o -t -s -w -f -c -y -d --output --trace --sample --delay --duration"},
    {"ncu", "", "-o -k -s -c --set --section --export --kernel-name"},
    {"compute-sanitizer", "", "--tool --log-file"},
    {"singularity", "exec", "-B --bind --env --pwd --home -H --overlay", 1},
    {"apptainer", "exec", "-B --bind --env --pwd --home -H --overlay", 1},
});

/// A program that starts a script in a process for each GPU.
struct Launcher {
  std::string_view name;
  std::string_view verb;
};
constexpr auto kLaunchers = std::to_array<Launcher>({
    {"torchrun", ""},
    {"accelerate", "launch"},
    {"deepspeed", ""},
    {"colossalai", "run"},
    {"composer", ""},
    {"fabric", "run"},
});
constexpr auto kLauncherModules = std::to_array<std::string_view>(
    {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch",
     "deepspeed.launcher.runner", "paddle.distributed.launch"});
/// Modules that run a script, as one is run without them.
constexpr auto kRunnerModules = std::to_array<std::string_view>(
    {"pdb", "cProfile", "profile", "trace", "coverage", "debugpy", "kernprof", "line_profiler",
     "memory_profiler", "scalene", "viztracer"});
constexpr auto kRunners =
    std::to_array<std::string_view>({"coverage", "kernprof", "scalene", "viztracer", "ipython"});

template <class List>
bool has_name(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool is_in_words(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (next_part(list, ' ') == word) return true;
  }
  return false;
}

bool is_assignment(std::string_view word) {
  const std::size_t sign = word.find('=');
  if (sign == word.npos || sign == 0 || is_digit(word.front())) return false;
  return std::ranges::all_of(word.substr(0, sign),
                             [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

bool is_shell_name(std::string_view name) {
  return has_name(std::to_array<std::string_view>({"sh", "bash", "zsh", "dash", "ksh"}), name);
}

class Unwrapper {
 public:
  explicit Unwrapper(std::span<const ShellWord> words) : words_(words) {}

  WhatRuns take() && {
    std::size_t at = 0;
    while (at < words_.size() && step(at)) {
    }
    return std::move(runs_);
  }

 private:
  std::string_view word(std::size_t at) const {
    return at < words_.size() ? std::string_view(words_[at].text) : std::string_view();
  }

  /// Goes on to the next program. Returns: whether there is one.
  bool step(std::size_t& at) {
    while (is_assignment(word(at))) ++at;
    if (at >= words_.size()) return false;
    runs_.programs.push_back(at);
    const std::string_view name = plain_name(word(at));
    if (is_launcher(words_, at)) return found_script(at + 1);
    if (name == "python" || name == "pypy") return read_python(at);
    if (is_shell_name(name)) return read_shell(at);
    if (name == "source" || name == ".") return found(RunKind::ShellFile, at + 1);
    if (has_name(kRunners, name)) return found_script(at + 1);
    const auto wrapper = std::ranges::find(kWrappers, name, &Wrapper::name);
    if (wrapper != kWrappers.end()) return skip_wrapper(*wrapper, at);
    if (word(at).ends_with(".py")) return found(RunKind::PythonFile, at);
    if (word(at).ends_with(".sh")) return found(RunKind::ShellFile, at);
    return word(at).contains('/') ? found(RunKind::File, at) : false;
  }

  bool found(RunKind kind, std::size_t at) {
    if (at < words_.size()) {
      runs_.kind = kind;
      runs_.what = at;
    }
    return false;
  }
  /// Launchers have many options, but only one file for Python.
  bool found_script(std::size_t from) {
    for (std::size_t at = from; at < words_.size(); ++at) {
      if (word(at).starts_with('-') || !word(at).ends_with(".py")) continue;
      return found(RunKind::PythonFile, at);
    }
    return false;
  }

  bool read_python(std::size_t at) {
    for (++at; at < words_.size(); ++at) {
      const std::string_view option = word(at);
      if (!option.starts_with('-') || option == "-") break;
      if (option == "-c") return found(RunKind::PythonText, at + 1);
      if (option == "-m") {
        const bool runs_script = has_name(kRunnerModules, word(at + 1));
        return runs_script ? found_script(at + 2) : false;
      }
      if (option == "-W" || option == "-X") ++at;
    }
    return word(at) == "-" ? false : found(RunKind::PythonFile, at);
  }
  bool read_shell(std::size_t at) {
    for (++at; at < words_.size(); ++at) {
      const std::string_view option = word(at);
      if (!option.starts_with('-') && !option.starts_with('+')) break;
      if (option.starts_with("--")) continue;
      if (option.ends_with('c')) return found(RunKind::ShellText, at + 1);
      if (option.ends_with('o')) ++at;
    }
    return found(RunKind::ShellFile, at);
  }

  bool skip_wrapper(const Wrapper& wrapper, std::size_t& at) {
    ++at;
    if (!wrapper.verb.empty()) {
      if (word(at) != wrapper.verb) return false;
      ++at;
    }
    for (; at < words_.size() && word(at).starts_with('-'); ++at) {
      if (word(at) == "--") {
        ++at;
        break;
      }
      if (is_in_words(wrapper.values, word(at))) ++at;
    }
    at += wrapper.words;
    return at < words_.size();
  }

  std::span<const ShellWord> words_;
  WhatRuns runs_;
};

}  // namespace

std::string_view plain_name(std::string_view program) {
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  return program.starts_with("python") || program.starts_with("pypy")
             ? program.substr(0, program.find_last_not_of("0123456789.") + 1)
             : program;
}

bool is_launcher(std::span<const ShellWord> words, std::size_t at) {
  const auto word = [&](std::size_t i) {
    return i < words.size() ? std::string_view(words[i].text) : std::string_view();
  };
  const std::string_view name = plain_name(word(at));
  for (const Launcher& launcher : kLaunchers) {
    if (name != launcher.name) continue;
    return launcher.verb.empty() || word(at + 1) == launcher.verb;
  }
  if (name != "python") return false;
  for (++at; word(at).starts_with('-'); ++at) {
    if (word(at) == "-m") return has_name(kLauncherModules, word(at + 1));
  }
  return false;
}

WhatRuns what_runs(std::span<const ShellWord> words) { return Unwrapper(words).take(); }

}  // namespace berth::cli
