#include "cli/manual/completion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/ask/daemon.hpp"
#include "cli/print/option_words.hpp"
#include "policy/registry.hpp"

namespace berth::cli {

namespace {

constexpr std::string_view kBash = R"(# berth completion bash >/etc/bash_completion.d/berth
_berth() {
  mapfile -t COMPREPLY < <(berth complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _berth berth
)";

constexpr std::string_view kZsh = R"(#compdef berth
# berth completion zsh >"${fpath[1]}/_berth"
_berth() {
  local -a found
  found=("${(@f)$(berth complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n ${found[1]} ]]; then compadd -a found; else _files; fi
}
if [[ ${funcstack[1]} == _berth ]]; then _berth "$@"; else compdef _berth berth; fi
)";

constexpr std::string_view kFish =
    R"(# berth completion fish >~/.config/fish/completions/berth.fish
function __berth_words
    set -l words (commandline -opc)[2..-1] (commandline -ct)
    berth complete $words 2>/dev/null
end
complete -c berth -a '(__berth_words)'
)";

struct Shell {
  std::string_view name;
  std::string_view script;
};
constexpr auto kShells = std::to_array<Shell>({{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}});

const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  return word.starts_with('-') ? app.get_option_no_throw(word) : nullptr;
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

template <class Entries>
void add_names(std::vector<std::string>& names, const Entries& entries) {
  for (const auto& entry : entries) names.emplace_back(entry.name);
}

std::vector<std::string> values_of(const CLI::Option& option) {
  std::vector<std::string> values;
  const std::string& name = option.get_single_name();
  if (name == "policy" || name == "policies") add_names(values, policies());
  if (name == "place") add_names(values, placers());
  return values;
}

/// Of all users: the daemon says no to what is not allowed.
std::vector<std::string> jobs_there() {
  std::vector<std::string> numbers;
  auto daemon = Daemon::open(CommonOptions());
  const auto answer =
      daemon ? daemon->get("/v1/jobs?whole_arrays=true") : std::unexpected(daemon.error());
  if (!answer || !answer->contains("jobs")) return numbers;
  for (const Json& job : answer->at("jobs")) numbers.push_back(job.at("id").dump());
  return numbers;
}

std::vector<std::string> arguments_of(const CLI::App& app) {
  std::vector<std::string> names;
  const auto verbs =
      app.get_subcommands([](const CLI::App* verb) { return !verb->get_name().empty(); });
  for (const CLI::App* const verb : verbs) names.push_back(verb->get_name());
  for (const CLI::Option* const option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true);
    if (name == "JOB") std::ranges::copy(jobs_there(), std::back_inserter(names));
    if (name == "name" && app.get_name() == "policies") add_names(names, policies());
    if (name == "SHELL") add_names(names, kShells);
  }
  return names;
}

}  // namespace

std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words) {
  const CLI::App* at = &app;
  const CLI::Option* pending = nullptr;  // takes the word that comes next
  for (const std::string& word : words.first(words.size() - 1)) {
    if (pending != nullptr) {
      pending = nullptr;
      continue;
    }
    if (word == "--") return {};  // a command follows
    const CLI::Option* const option = option_named(*at, word);
    if (takes_value(option)) pending = option;
    const auto verbs =
        at->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
    if (!verbs.empty()) at = verbs.front();
  }
  const std::string& last = words.back();
  std::vector<std::string> found = pending != nullptr      ? values_of(*pending)
                                   : last.starts_with('-') ? option_names(*at)
                                                           : arguments_of(*at);
  std::erase_if(found, [&](const std::string& word) { return !word.starts_with(last); });
  std::ranges::sort(found);
  const auto again = std::ranges::unique(found);
  found.erase(again.begin(), again.end());
  return found;
}

Expected<std::string_view> completion_script(std::string_view shell) {
  const auto found = std::ranges::find(kShells, shell, &Shell::name);
  if (found != kShells.end()) return found->script;
  return fail(ErrorCode::InvalidArgument,
              std::string(shell) + ": no completion; there is one for bash, zsh, fish");
}

}  // namespace berth::cli
