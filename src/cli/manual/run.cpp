#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/job/script.hpp"
#include "cli/manual/completion.hpp"
#include "cli/manual/manual.hpp"
#include "cli/print/option_words.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "core/base/suggest.hpp"
#include "posix/streams.hpp"

namespace berth::cli {

namespace {

/// Groups of verbs, in the order in which help lists them.
constexpr const char* kJobs = "Jobs";
constexpr const char* kSeeing = "What happens";
constexpr const char* kChanging = "Jobs that wait or run";
constexpr const char* kPlanning = "Policies and simulation";
constexpr const char* kOther = "Other";

struct Verb {
  std::string_view name;
  void (*add)(CLI::App& app, Action& chosen, const TypedLine& line);
  const char* group;
  bool has_command = false;  ///< What follows `--` is a command, not the verb's own.
};

/// A verb that takes no command.
template <void (*add)(CLI::App&, Action&)>
void plain(CLI::App& app, Action& chosen, const TypedLine&) {
  add(app, chosen);
}

constexpr auto kVerbs = std::to_array<Verb>({
    {"run", add_run, kJobs, true},
    {"submit", add_submit, kJobs, true},
    {"attach", plain<add_attach>, kJobs},
    {"adopt", plain<add_adopt>, kJobs},
    {"ls", plain<add_ls>, kSeeing},
    {"show", plain<add_show>, kSeeing},
    {"logs", plain<add_logs>, kSeeing},
    {"why", plain<add_why>, kSeeing},
    {"gpus", plain<add_gpus>, kSeeing},
    {"top", plain<add_top>, kSeeing},
    {"history", plain<add_history>, kSeeing},
    {"usage", plain<add_usage>, kSeeing},
    {"interference", plain<add_interference>, kSeeing},
    {"wait", plain<add_wait>, kChanging},
    {"cancel", plain<add_cancel>, kChanging},
    {"hold", plain<add_hold>, kChanging},
    {"release", plain<add_release>, kChanging},
    {"next", plain<add_next>, kChanging},
    {"update", plain<add_update>, kChanging},
    {"requeue", plain<add_requeue>, kChanging},
    {"suspend", plain<add_suspend>, kChanging},
    {"resume", plain<add_resume>, kChanging},
    {"sim", plain<add_sim>, kPlanning},
    {"compare", plain<add_compare>, kPlanning},
    {"policies", plain<add_policies>, kPlanning},
    {"trace", plain<add_trace>, kPlanning},
    {"doctor", plain<add_doctor>, kOther},
    {"drain", plain<add_drain>, kOther},
    {"undrain", plain<add_undrain>, kOther},
    {"reserve", plain<add_reserve>, kOther},
    {"unreserve", plain<add_unreserve>, kOther},
    {"config", plain<add_config>, kOther},
    {"compat", add_compat, kOther, true},
    {"mcp", plain<add_mcp>, kOther},
    {"completion", plain<add_completion>, kOther},
    {"version", plain<add_version>, kOther},
});

constexpr const char* kOverview =
    R"(berth gives every GPU job a place where its memory is guaranteed.

  berth run --vram 10G -- python train.py      run a job here, and wait for it
  berth submit --vram 10G -- python train.py   queue a job, and print its number
  berth ls                                     jobs, why they wait, when they start
  berth why 7                                  why job 7 waits, in full
  berth logs -f 7                              its output
  berth cancel 7                               end it
  berth gpus                                   GPUs, who is there, what is free

berth help lists all verbs, berth help VERB the options of one.
)";

/// The words of the command line without the program's name, split for CLI11.
struct SplitLine {
  std::vector<std::string> reversed;  ///< As CLI11 takes them.
  TypedLine line;
};

SplitLine split(std::span<char* const> words, const Verb* verb) {
  const auto is_dashes = [](const char* word) { return std::string_view(word) == "--"; };
  const bool splits = verb != nullptr && verb->has_command;
  const auto dashes = splits ? std::ranges::find_if(words, is_dashes) : words.end();
  SplitLine parts{.reversed = {words.begin(), dashes},
                  .line = {.from_dashes = {dashes, words.end()}, .words = {}}};
  std::ranges::reverse(parts.reversed);
  return parts;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names = {"help"};
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  return names;
}

/// What other programs call what a verb of berth's does.
struct Elsewhere {
  std::string_view here;
  std::string_view names;  ///< Blanks between.
};
constexpr auto kElsewhere = std::to_array<Elsewhere>({
    {"cancel",
     "kill rm remove delete stop scancel abort end killall bkill qdel "
     "oardel condor_rm"},
    {"ls", "list queue status squeue ps jobs qstat bjobs oarstat condor_q"},
    {"logs -f", "follow tail condor_tail"},
    {"logs", "log output bpeek cat stdout stderr"},
    {"submit", "sbatch add enqueue qsub bsub oarsub condor_submit"},
    {"run", "srun exec salloc"},
    {"show", "info describe inspect get scontrol"},
    {"history", "sacct bhist bacct qacct condor_history"},
    {"gpus",
     "sinfo nodes nvidia-smi smi gpustat bhosts pbsnodes qhost oarnodes "
     "condor_status free"},
    {"usage", "sreport"},
    {"hold", "pause qhold bstop oarhold condor_hold"},
    {"release", "unhold unpause start qrls oarresume condor_release"},
    {"resume", "continue unsuspend wake"},
    {"update", "edit modify qalter bmod"},
    {"sim", "simulate"},
    {"top", "monitor htop nvtop watch"},
    {"requeue", "retry restart rerun resubmit"},
    {"next", "first urgent promote bump front prioritize priority nice renice btop"},
    {"attach", "condor_ssh_to_job sattach"},
    {"compat gbatch", "gbatch"},
    {"compat gqueue", "gqueue"},
    {"compat gcancel", "gcancel"},
    {"compat ginfo", "ginfo"},
    {"compat tsp", "tsp"},
    {"compat ts", "ts"},
    {"why", "sprio explain reason eta"},
    {"suspend", "freeze"},
    {"doctor", "check health"},
    {"run -- bash", "shell interactive"},
});

/// Which people run on GPUs, though perhaps this shell's PATH lacks them.
constexpr std::string_view kPrograms =
    "python python3 torchrun accelerate deepspeed jupyter ipython julia conda uv pixi docker "
    "podman "
    "apptainer singularity mpirun mpiexec make nvcc";

bool has_word(std::string_view words, std::string_view word) {
  const auto is_it = [&](const auto& one) { return std::ranges::equal(one, word); };
  return std::ranges::any_of(words | std::views::split(' '), is_it);
}

std::string suggestion(std::string_view typed) {
  const auto is_there = [&](const Elsewhere& one) { return has_word(one.names, typed); };
  const auto* const found = std::ranges::find_if(kElsewhere, is_there);
  if (found != kElsewhere.end()) return "; did you mean " + std::string(found->here) + "?";
  if (std::string near = did_you_mean(typed, verb_names()); !near.empty()) return near;
  const bool is_program = typed.contains('/') || typed.ends_with(".py") || typed.ends_with(".sh") ||
                          has_word(kPrograms, typed);
  if (!is_program && !is_in_path(std::string(typed))) return "";
  return "; to run a program say berth run -- " + std::string(typed) + ";";
}

/// `frob: no such verb; did you mean run?`, or all verbs where none is near.
int refuse_verb(const std::string& typed) {
  if (typed.starts_with('-')) {
    return report_usage(typed + ": options stand behind the verb, as in berth ls " + typed +
                        "; berth help lists the verbs");
  }
  if (const std::string one = suggestion(typed); !one.empty()) {
    return report_usage(typed + ": no such verb" + one + " berth help lists all");
  }
  std::string known;
  for (const Verb& verb : kVerbs) known += (known.empty() ? "" : ", ") + std::string(verb.name);
  return report_usage(typed + ": no such verb; valid verbs: " + known);
}

const Verb* find_verb(std::string_view name) {
  const auto* const found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == kVerbs.end() ? nullptr : found;
}

/// What was meant with an option that there is not. A letter is near to every other: it stands for
/// the one option that begins with it.
std::string meant_option(const std::string& typed, const CLI::App& verb) {
  const std::vector<std::string> names = option_names(verb);
  const bool is_letter = typed.size() == 2 && typed[1] != '-';
  if (!is_letter) return did_you_mean(typed, names);
  const auto begins = [&](const std::string& name) { return name.starts_with("-" + typed); };
  const auto found = std::ranges::find_if(names, begins);
  const bool is_one = found != names.end() && std::ranges::count_if(names, begins) == 1;
  return is_one ? "; did you mean " + *found + "?" : "";
}

/// What CLI11 says in a text that lists words in the wrong order: which word a verb does not take.
std::string unexpected_text(const CLI::App& app, const CLI::App& verb) {
  std::vector<std::string> left = verb.remaining(true);
  if (left.empty()) left = app.remaining(true);  // behind a --
  std::erase(left, "--");
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  const auto option = std::ranges::find_if(left, is_option);
  const std::string name = "berth " + verb.get_name();
  if (option != left.end()) {
    const std::string typed = option->substr(0, option->find('='));
    return typed + ": " + name + " has no such option" + meant_option(typed, verb);
  }
  if (left.empty()) return "too many words";
  const CLI::Option* const trace = verb.get_option_no_throw("--trace");
  const bool may_be_trace = trace != nullptr && trace->count() == 0;
  return left.front() + ": one word too many for " + name +
         (may_be_trace ? "; a trace is named by --trace " + left.front() : "");
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

/// Only the verb that is called is built: the others' options cost more than a request.
void add_verbs(CLI::App& app, Action& chosen, const Verb* only, const TypedLine& line) {
  for (const Verb& verb : kVerbs) {
    if (only != nullptr && only != &verb) continue;
    verb.add(app, chosen, line);
    app.get_subcommand(std::string(verb.name))->group(verb.group);
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

namespace {

/// Whether the program takes this line, which is not carried out.
bool takes(const Example& example) {
  std::vector<std::string> words = shell_words(example.command);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const std::span<char* const> line(pointers);
  const Verb* const verb = line.size() < 2 ? nullptr : find_verb(line[1]);
  if (verb == nullptr || words.front() != "berth") return false;
  auto [reversed, typed] = split(line.subspan(1), verb);
  CLI::App app("", "berth");
  Action chosen;
  add_verbs(app, chosen, verb, typed);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError&) {
    return false;
  }
  return true;
}

/// `berth man VERB`, for packages: the manual page; `berth man` alone lists what has one.
int manual(std::span<char* const> words) {
  std::string names;
  for (const Verb& verb : kVerbs) names += std::string(verb.name) + "\n";
  if (words.empty()) return print(names);
  const Verb* const verb = find_verb(words.front());
  if (verb == nullptr) return refuse_verb(words.front());
  const ManualText* const text = manual_text(verb->name);
  if (text == nullptr) return report_failure(std::string(verb->name) + ": has no manual page");
  for (const Example& example : text->examples) {
    if (!takes(example)) return report_failure(std::string(example.command) + ": is no example");
  }
  CLI::App app("", "berth");
  Action chosen;
  add_verbs(app, chosen, verb, {});
  return print(manual_page(*app.get_subcommand(std::string(verb->name)), *text));
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

namespace {

/// CLI11's, and that a command follows where one does. No word is broken at the terminal's end.
class HelpFormat final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return folded(Formatter::make_help(app, std::move(name), mode), look_of(STDOUT_FILENO));
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = Formatter::make_usage(app, std::move(name));
    if (app->get_prefix_command()) {
      usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARGUMENT...]");
    }
    return usage;
  }
  /// Without what a flag without a value stands for, which CLI11 has in braces.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = Formatter::make_option_name(option, is_positional);
    const std::size_t brace = name.find('{');
    return brace == std::string::npos ? name : name.substr(0, brace) + "[=VALUE]";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = option->get_positional() ? "" : value_name(*option);
    const bool are_more = option->get_items_expected_max() > 1;
    const std::string otherwise = option->get_default_str();
    return (value.empty() ? "" : " " + value) + (are_more ? " ..." : "") +
           (otherwise.empty() ? "" : " [" + otherwise + "]") +
           (option->get_required() ? " (required)" : "");
  }
};

std::string examples_in_help(std::string_view verb) {
  const ManualText* const text = manual_text(verb);
  if (text == nullptr) return "";
  std::string lines = "Examples:\n";
  for (const Example& example : text->examples) {
    lines += "  # " + std::string(example.meaning) + "\n  " + std::string(example.command) + "\n";
  }
  return lines + "\nman berth-" + std::string(verb) + " says more.";
}

/// `berth config: say berth config reload` of a verb that has parts; "" of any other.
std::string names_of_parts(const CLI::App& verb) {
  const std::string name = "berth " + verb.get_name();
  std::string parts;
  for (const CLI::App* const part : verb.get_subcommands([](const CLI::App*) { return true; })) {
    parts += (parts.empty() ? "" : ", or ") + name + " " + part->get_name();
  }
  const bool is_config = verb.get_name() == "config";
  const char* const more = is_config ? "; berthd --show-config prints the settings" : "";
  return parts.empty() ? "" : name + ": say " + parts + more;
}

/// Of what is missing, in the innermost verb: `--out is required; say --out FILE`, or its parts.
std::string missing_text(const CLI::App& app, const CLI::RequiredError& error) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  const std::string parts = verb == &app ? "" : names_of_parts(*verb);
  if (!parts.empty()) return parts;
  const std::string text = plain_words(error.what());
  for (const CLI::Option* option : verb->get_options()) {
    const bool is_it = text == option->get_name() + " is required" && option->get_expected() > 0;
    if (!is_it || option->get_positional()) continue;
    const std::string type = option->get_type_name();
    const bool says_type = !type.empty() && type != "TEXT" && type.find(' ') == type.npos;
    return says_type ? text + "; say " + option->get_name() + " " + type : text;
  }
  return text;
}

/// What a verb has open at once at most, and as many descriptors as one call of poll(2) may name:
/// with fewer a client could not hear what it waits for.
constexpr rlim_t kOpenFiles = 32;

int act(const Action& chosen) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kOpenFiles) {
    return report_failure("the limit of open files is " + std::to_string(files.rlim_cur) +
                          " (ulimit -n), berth needs " + std::to_string(kOpenFiles));
  }
  try {
    return chosen();
  } catch (const std::bad_alloc&) {  // of a trace or a cluster too large for this machine
    return report_failure("out of memory");
  }
}

/// A verb with a command, of whose options only those are built that the line may name: the others
/// cost more than a request. Nothing where the line is not well-formed, or asks for help: what is
/// said then names all of them.
std::optional<int> run_as_typed(std::span<char* const> words, const Verb& verb) {
  auto [reversed, typed] = split(words, &verb);
  typed.words = reversed;
  CLI::App app("", "berth");
  app.require_subcommand(1);
  Action chosen;
  add_verbs(app, chosen, &verb, typed);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError&) {
    return std::nullopt;
  }
  return act(chosen);
}

int run_verb(std::span<char* const> words, const Verb* verb) {
  if (verb != nullptr && verb->has_command) {
    if (const auto code = run_as_typed(words, *verb)) return *code;
  }
  auto [reversed, typed] = split(words, verb);
  CLI::App app("berth gives every GPU job a place where its memory is guaranteed.", "berth");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormat>());
  if (verb == nullptr) app.footer("berth help VERB, or berth VERB --help, lists its options.");
  Action chosen;
  add_verbs(app, chosen, verb, typed);
  if (verb != nullptr) {
    app.get_subcommand(std::string(verb->name))->footer([verb] {
      return examples_in_help(verb->name);
    });
  }
  const std::string name = verb == nullptr ? "" : " " + std::string(verb->name);
  const std::string see = "; see berth" + name + " --help";
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    const auto parsed = app.get_subcommands();
    return report_usage(unexpected_text(app, parsed.empty() ? app : *parsed.front()) + see);
  } catch (const CLI::RequiredError& error) {
    return report_usage(missing_text(app, error) + see);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // asked for help
    return report_usage(plain_words(error.what()) + see);
  }
  return act(chosen);
}

/// `berth help VERB` is `berth VERB --help`.
int help(std::span<char* const> words) {
  std::string option = "--help";
  if (words.empty() || std::string_view(words.front()) == "help") {
    std::array<char*, 1> all = {option.data()};
    return run_verb(all, nullptr);
  }
  const Verb* const verb = find_verb(words.front());
  if (verb == nullptr) return refuse_verb(words.front());
  std::array<char*, 2> one = {words.front(), option.data()};
  return run_verb(one, verb);
}

}  // namespace

int run(int argc, char** argv) {
  open_closed_streams();
  const std::span<char* const> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) return print(kOverview);
  const std::string_view first = words.front();
  if (first == "help") return help(words.subspan(1));
  if (first == "man") return manual(words.subspan(1));
  if (first == "complete") return complete(words.subspan(1));
  if (asks_for_help(first)) return run_verb(words.first(1), nullptr);
  if (first == "--version" || first == "-V") return print("berth " BERTH_VERSION "\n");
  const Verb* const verb = find_verb(first);
  return verb == nullptr ? refuse_verb(std::string(first)) : run_verb(words, verb);
}

}  // namespace berth::cli
