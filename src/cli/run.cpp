#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <span>
#include <string_view>

#include "cli/completion.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

struct Verb {
  std::string_view name;
  void (*add)(CLI::App& app, Action& chosen, const FromDashes& from_dashes);
  bool has_command = false;  ///< What follows `--` is a command, not the verb's own.
};

/// A verb that takes no command.
template <void (*add)(CLI::App&, Action&)>
void plain(CLI::App& app, Action& chosen, const FromDashes&) {
  add(app, chosen);
}

constexpr auto kVerbs = std::to_array<Verb>({
    {"run", add_run, true},
    {"submit", add_submit, true},
    {"ls", plain<add_ls>},
    {"show", plain<add_show>},
    {"logs", plain<add_logs>},
    {"why", plain<add_why>},
    {"wait", plain<add_wait>},
    {"cancel", plain<add_cancel>},
    {"hold", plain<add_hold>},
    {"release", plain<add_release>},
    {"suspend", plain<add_suspend>},
    {"resume", plain<add_resume>},
    {"gpus", plain<add_gpus>},
    {"doctor", plain<add_doctor>},
    {"sim", plain<add_sim>},
    {"compare", plain<add_compare>},
    {"policies", plain<add_policies>},
    {"trace", plain<add_trace>},
    {"completion", plain<add_completion>},
    {"version", plain<add_version>},
});

/// The words of the command line without the program's name, split for CLI11.
struct Words {
  std::vector<std::string> reversed;  ///< As CLI11 takes them.
  FromDashes from_dashes;
};

Words split(std::span<char* const> words, const Verb* verb) {
  const auto is_dashes = [](const char* word) { return std::string_view(word) == "--"; };
  const bool splits = verb != nullptr && verb->has_command;
  const auto dashes = splits ? std::ranges::find_if(words, is_dashes) : words.end();
  Words parts{{words.begin(), dashes}, {dashes, words.end()}};
  std::ranges::reverse(parts.reversed);
  return parts;
}

/// `berth: frob: no such verb; valid verbs: run, ...`
int refuse_verb(const std::string& what) {
  std::string known;
  for (const Verb& verb : kVerbs) known += (known.empty() ? "" : ", ") + std::string(verb.name);
  return report_usage(what + "; valid verbs: " + known);
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

/// Only the verb that is called is built: the others' options cost more than a request.
void add_verbs(CLI::App& app, Action& chosen, const Verb* only, const FromDashes& from_dashes) {
  for (const Verb& verb : kVerbs) {
    if (only == nullptr || only == &verb) verb.add(app, chosen, from_dashes);
  }
}

/// `berth complete WORD...`, which the scripts of `berth completion` call.
int complete(std::span<char* const> typed) {
  std::vector<std::string> words(typed.begin(), typed.end());
  if (words.empty()) words.emplace_back();
  CLI::App app;
  Action chosen;
  const auto* const called = std::ranges::find(kVerbs, words.front(), &Verb::name);
  const Verb* const only = words.size() > 1 && called != kVerbs.end() ? called : nullptr;
  add_verbs(app, chosen, only, {});
  std::string lines;
  for (const std::string& word : completions(app, words)) lines += word + "\n";
  return print(lines);
}

}  // namespace

int report_failure(const std::string& message) {
  std::fprintf(stderr, "berth: %s\n", message.c_str());
  return kFailed;
}

int report_usage(const std::string& message) {
  report_failure(message);
  return kBadUsage;
}

int run(int argc, char** argv) {
  const std::span<char* const> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) return refuse_verb("no verb");
  if (words.front() == std::string_view("complete")) return complete(words.subspan(1));
  const auto* const called = std::ranges::find(kVerbs, words.front(), &Verb::name);
  const Verb* const verb = called == kVerbs.end() ? nullptr : called;
  const bool is_known = verb != nullptr || asks_for_help(words.front());
  if (!is_known) return refuse_verb(words.front() + std::string(": no such verb"));
  auto [reversed, from_dashes] = split(words, verb);

  CLI::App app("berth gives every GPU job a place where its memory is guaranteed.", "berth");
  app.require_subcommand(1);
  Action chosen;
  add_verbs(app, chosen, verb, from_dashes);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // asked for help
    const std::string name = verb == nullptr ? "" : " " + std::string(verb->name);
    return report_usage(std::string(error.what()) + "; see berth" + name + " --help");
  }
  try {
    return chosen();
  } catch (const std::bad_alloc&) {  // of a trace or a cluster too large for this machine
    return report_failure("out of memory");
  }
}

}  // namespace berth::cli
