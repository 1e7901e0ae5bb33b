#include "live/sessions.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <vector>

namespace berth::live {

namespace {

using Line = std::span<const std::string_view>;

bool is_one_of(std::initializer_list<std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_switch(std::string_view word) { return word.starts_with('-') || word.starts_with('+'); }
bool is_long_switch(std::string_view word) { return word.starts_with("--"); }

/// `/opt/conda/bin/python3.11` is `python`.
std::string_view base_of(std::string_view word) {
  word.remove_prefix(word.rfind('/') + 1);  // npos + 1 is 0
  return word.substr(0, word.find_last_not_of("0123456789.") + 1);
}

// ---- Names of programs -----------------------------------------------------------------------

bool is_shell(std::string_view name) {
  return is_one_of({"sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "ash"}, name);
}
bool is_python(std::string_view name) { return is_one_of({"python", "pypy"}, name); }
bool is_interpreter(std::string_view name) {
  return is_one_of({"ipython", "bpython", "ptpython", "R", "Rscript", "julia", "node", "nodejs",
                    "ruby", "irb", "perl", "lua", "luajit", "octave", "matlab", "sage"},
                   name);
}

/// It runs the command that follows.
bool is_wrapper(std::string_view name) {
  return is_one_of(
      {"env",      "nice",     "ionice", "nohup",      "time",        "timeout",   "stdbuf",
       "unbuffer", "setsid",   "exec",   "command",    "sudo",        "numactl",   "taskset",
       "chrt",     "xvfb-run", "srun",   "mpirun",     "mpiexec",     "nsys",      "ncu",
       "strace",   "uv",       "poetry", "pipenv",     "pdm",         "hatch",     "rye",
       "pixi",     "conda",    "mamba",  "micromamba", "singularity", "apptainer", "docker",
       "podman",   "then",     "do",     "else",       "!",           "{",         "("},
      name);
}
/// And first names the image that it runs in.
bool is_container(std::string_view name) {
  return is_one_of({"singularity", "apptainer", "docker", "podman"}, name);
}

/// The first word behind the program that is no option; "" if there is none.
std::string_view subcommand_of(Line line) {
  const auto rest = line.subspan(1);
  const auto found = std::ranges::find_if_not(rest, is_switch);
  return found == rest.end() ? std::string_view() : *found;
}

/// The first word is a program that runs what it is given later.
bool hosts_sessions(Line line) {
  const std::string_view name = base_of(line.front());
  const std::string_view sub = subcommand_of(line);
  if (name == "jupyter") return !is_one_of({"nbconvert", "execute", "run"}, sub);
  if (name == "wandb") return is_one_of({"agent", "launch-agent"}, sub);
  if (name == "ray") return sub == "start";
  if (name == "dask") return is_one_of({"worker", "cuda"}, sub);
  if (name == "ollama") return sub == "serve";
  if (name == "prefect") return is_one_of({"worker", "agent"}, sub);
  return is_one_of({"jupyter-lab",
                    "jupyter-notebook",
                    "jupyter-server",
                    "jupyter-labhub",
                    "jupyter-console",
                    "jupyterlab",
                    "jupyterhub",
                    "jupyterhub-singleuser",
                    "jupyter_server",
                    "notebook",
                    "IPython",
                    "ipykernel",
                    "ipykernel_launcher",
                    "tmux",
                    "screen",
                    "byobu",
                    "zellij",
                    "dtach",
                    "abduco",
                    "sshd",
                    "code",
                    "code-server",
                    "openvscode-server",
                    "rserver",
                    "rstudio-server",
                    "marimo",
                    "dask-worker",
                    "dask-cuda-worker",
                    "celery",
                    "clearml-agent",
                    "asyncio"},
                   name);
}

bool is_known(std::string_view word) {
  const std::string_view name = base_of(word);
  return is_shell(name) || is_python(name) || is_interpreter(name) || is_wrapper(name) ||
         hosts_sessions(Line(&word, 1));
}

// ---- What they are given ---------------------------------------------------------------------

/// `bash <(...)` says no more than `bash -`.
bool is_stream(std::string_view word) {
  return word == "-" || word == "/dev/stdin" || word.starts_with("/dev/fd/") ||
         word.starts_with("/proc/self/fd/");
}

bool names_script(std::string_view word) {
  const std::size_t dot = word.rfind('.');
  return dot != word.npos && is_one_of({"py", "ipy", "ipynb", "R", "r", "Rmd", "qmd", "jl", "js",
                                        "mjs", "cjs", "ts", "rb", "pl", "lua", "m", "mlx", "sage"},
                                       word.substr(dot + 1));
}

/// A program that loads whichever model somebody asks for in its page.
bool is_workbench(std::string_view file, std::string_view directory) {
  const auto whole = (std::filesystem::path(directory) / file).lexically_normal().parent_path();
  for (const auto& part : whole) {
    std::string name = part.string();
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const std::string_view one : {"comfyui", "stable-diffusion-webui", "sd-webui",
                                       "text-generation-webui", "fooocus", "koboldcpp"}) {
      if (name.starts_with(one)) return true;
    }
  }
  return false;
}

bool is_text_of_session(std::string_view text, std::string_view directory);

bool is_shell_session(Line line, std::string_view directory) {
  for (std::size_t at = 1; at < line.size(); ++at) {
    const std::string_view word = line[at];
    if (is_stream(word)) return true;
    if (word == "--rcfile" || word == "--init-file") ++at;
    if (is_long_switch(word)) continue;
    if (!is_switch(word)) return is_workbench(word, directory);
    if (word.starts_with('-') && word.contains('c')) {
      do {
        ++at;
      } while (at < line.size() && is_switch(line[at]));
      return at >= line.size() || is_text_of_session(line[at], directory);
    }
    if (word.starts_with('-') && word.contains('s')) return true;
    if (word.ends_with('o') || word.ends_with('O')) ++at;  // `-o pipefail`
  }
  return true;
}

bool is_python_session(Line line, std::string_view directory) {
  for (std::size_t at = 1; at < line.size(); ++at) {
    const std::string_view word = line[at];
    if (is_stream(word)) return true;
    if (!is_switch(word)) return is_workbench(word, directory);
    if (word == "--check-hash-based-pycs") ++at;
    if (is_long_switch(word)) continue;
    const std::size_t letter = word.find_first_of("cmiWX", 1);
    if (letter == word.npos) continue;
    const bool is_last = letter + 1 == word.size();
    if (word[letter] == 'c') return false;
    if (word[letter] == 'i') return true;
    if (word[letter] == 'm') {
      if (!is_last) return false;
      return at + 1 >= line.size() || hosts_sessions(line.subspan(at + 1));
    }
    if (is_last) ++at;  // `-W ignore`
  }
  return true;
}

/// What an option of theirs takes is not told from a file, so that only a script's name is one.
bool is_other_session(Line line) {
  for (const std::string_view word : line.subspan(1)) {
    if (is_stream(word) || word == "-i" || word == "--interactive") return true;
    const bool says_text =
        is_one_of({"-e", "-E", "-c", "-m", "-f", "-r", "-ne", "-pe", "-batch"}, word) ||
        word.starts_with("--eval") || word.starts_with("--file");
    if (says_text || (!is_switch(word) && names_script(word))) return false;
  }
  return true;
}

/// Where the command is that the wrapper at `at` runs; the end if there is none.
std::size_t wrapped_at(Line line, std::size_t at) {
  bool is_value = false;  // maybe of the option before it
  bool is_image = is_container(base_of(line[at]));
  while (++at < line.size()) {
    const std::string_view word = line[at];
    if (word.empty()) continue;
    if (is_switch(word)) {
      is_value = true;
      continue;
    }
    const bool is_number = word.front() >= '0' && word.front() <= '9';
    const bool is_own =
        is_number || word.contains('=') || is_one_of({"run", "exec", "profile"}, word);
    // `singularity shell IMAGE` and `poetry shell` are commands as they are.
    const bool is_command =
        word == "shell" || (!is_own && (is_known(word) || (!is_value && !is_image)));
    if (is_command) return at;
    if (!is_own && !is_value) is_image = false;
    is_value = false;
  }
  return at;
}

bool is_line_of_session(Line line, std::string_view directory) {
  std::size_t at = 0;
  while (at < line.size() && !line[at].starts_with('-') && line[at].contains('=')) ++at;  // `A=1 x`
  while (at < line.size()) {
    const Line rest = line.subspan(at);
    const std::string_view name = base_of(line[at]);
    if (hosts_sessions(rest)) return true;
    if (is_shell(name)) return is_shell_session(rest, directory);
    if (is_python(name)) return is_python_session(rest, directory);
    if (is_interpreter(name)) return is_other_session(rest);
    if (!is_wrapper(name)) return is_workbench(line[at], directory) && line[at].contains('/');
    const std::size_t wrapped = wrapped_at(line, at);
    if (wrapped < line.size() && line[wrapped] == "shell") return true;
    at = wrapped;
  }
  return false;
}

/// One of its commands; what another feeds, or a file, is told by the text.
bool is_text_of_session(std::string_view text, std::string_view directory) {
  constexpr std::size_t kLooked = std::size_t{16} << 10;  // a step takes too long for more
  constexpr std::string_view kEnds = ";&|\n";
  if (text.size() > kLooked) text = text.substr(0, text.find_last_of(kEnds, kLooked) + 1);
  bool is_fed = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kEnds, at), text.size());
    const std::string_view command = text.substr(at, end - at);
    std::vector<std::string_view> words;
    for (std::size_t from = 0; from < command.size();) {
      const std::size_t to = std::min(command.find_first_of(" \t\r", from), command.size());
      if (to > from) words.push_back(command.substr(from, to - from));
      from = to + 1;
    }
    is_fed = is_fed || command.contains('<');
    if (!is_fed && is_line_of_session(words, directory)) return true;
    is_fed = end < text.size() && text[end] == '|' && !words.empty();  // `||` feeds nothing
    at = end + 1;
  }
  return false;
}

}  // namespace

bool is_session(std::span<const std::string> arguments, std::string_view directory) {
  const std::vector<std::string_view> words(arguments.begin(), arguments.end());
  return is_line_of_session(words, directory);
}

}  // namespace berth::live
