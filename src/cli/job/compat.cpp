#include "cli/job/compat.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "cli/ask/daemon.hpp"

namespace berth::cli {

namespace {

std::unexpected<Error> refuse(const std::string& what) {
  return fail(ErrorCode::InvalidArgument, what);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// What becomes of an option.
enum class As : std::uint8_t {
  Option,   ///< The option `here`, with its value if it has one.
  Each,     ///< The same, as often as it is said.
  Drop,     ///< Nothing: it is so anyway, or does no harm.
  Refuse,   ///< Refused with `here` as what to say.
  Verb,     ///< Not a submission: the verb `here`, of the job that is its value.
  State,    ///< Nor this: task-spooler's word for the state of that job.
  Last,     ///< The option `here`, with the user's last job.
  Minutes,  ///< As Option; a plain number is of minutes.
};

struct Rule {
  std::string_view name;  ///< `-L`, `--name`.
  bool has_value = false;
  As as = As::Option;
  std::string_view here;
  std::string_view of_ts = {};      ///< The same for `ts`, the fork for GPUs, where it differs.
  LastJob without = LastJob::None;  ///< The job that is meant without a number.
};

// Options that are no option of berth's by themselves.
constexpr std::string_view kTasksAtOnce = "%";  ///< Of the array: how many at once.
constexpr std::string_view kConda = "conda";    ///< The conda environment of the command.

constexpr auto kTsp = std::to_array<Rule>({
    {"-G", true, As::Option, "--gpus"},
    {"-L", true, As::Option, "--name"},
    {"-D", true, As::Option, "--after-ok", "--after-any"},
    {"-W", true, As::Option, "--after-ok"},
    {"-N", true, As::Option, "--cpus"},
    {"-O", true, As::Option, "--output"},
    {"-m", false, As::Option, "--notify-on end"},
    {"-n", false, As::Drop, ""},
    {"-B", false, As::Drop, ""},
    {"-E", false, As::Drop, "both streams are in the log, in order"},
    {"-z", false, As::Drop, "logs are not compressed"},
    {"-f", false, As::Verb, "run"},
    {"-d", false, As::Last, "--after-ok", "--after-any"},
    {"-g", true, As::Option, "--gpu-index"},
    {"-l", false, As::Verb, "ls --all --mine"},
    {"-C", false, As::Refuse,
     "berth ls shows ended jobs with --all only; nothing is to be cleared"},
    {"-K", false, As::Refuse, "berthd is for all users; berth cancel --all ends your jobs"},
    {"-S", true, As::Refuse,
     "GPUs, their memory and cores are the limits; see doc/configuration.md"},
    {"-w", true, As::Verb, "wait", "", LastJob::Added},
    {"-c", true, As::Verb, "logs", "", LastJob::Run},
    {"-t", true, As::Verb, "logs -f", "", LastJob::Run},
    {"-i", true, As::Verb, "show", "", LastJob::Run},
    {"-s", true, As::State, "", "", LastJob::Added},
    {"-k", true, As::Verb, "cancel"},
    {"-r", true, As::Verb, "cancel"},
    {"-u", true, As::Verb, "next", "", LastJob::Added},
    {"-p", true, As::Refuse, "berth show JOB names its processes' GPUs; pids are not told"},
    {"-U", true, As::Refuse, "say berth update --priority N JOB"},
    {"-V", false, As::Verb, "version"},
    {"-h", false, As::Verb, "compat --help"},
    {"-a", true, As::Verb, "ls --format name"},
    {"-F", true, As::Verb, "ls --format command_line"},
    {"-o", true, As::Refuse,
     "berthd keeps the output; say berth logs -f JOB, or berth submit -o FILE for a file of yours"},
    {"-q", false, As::Refuse, "berth submit prints the number; berth ls --mine shows it"},
    {"-R", false, As::Refuse, "say berth ls --mine --state running --format id | wc -l"},
    {"-T", false, As::Refuse, "say berth cancel JOBS; berth cancel --all ends those that wait too"},
});

constexpr auto kGbatch = std::to_array<Rule>({
    {"--gpus", true, As::Option, "--gpus"},
    {"-g", true, As::Option, "--gpus"},
    {"--gpu-memory", true, As::Option, "--vram"},
    {"--max-gpu-mem", true, As::Option, "--vram"},
    {"--max-gpu-memory", true, As::Option, "--vram"},
    {"--memory", true, As::Option, "--mem"},
    {"--max-mem", true, As::Option, "--mem"},
    {"-m", true, As::Option, "--mem"},
    {"--time", true, As::Minutes, "--time"},
    {"-t", true, As::Minutes, "--time"},
    {"--name", true, As::Option, "--name"},
    {"-J", true, As::Option, "--name"},
    {"--priority", true, As::Option, "--priority"},
    {"--depends-on", true, As::Option, "--after-ok"},
    {"--depends-on-all", true, As::Option, "--after-ok"},
    {"--depends-on-any", true, As::Refuse,
     "berth waits for all of several jobs; say --after-any JOBS"},
    {"--array", true, As::Option, "--array"},
    {"--max-concurrent", true, As::Option, kTasksAtOnce},
    {"--begin", true, As::Option, "--begin"},
    {"--notify-email", true, As::Option, "--notify"},
    {"--shared", false, As::Drop, ""},
    {"--no-auto-cancel", false, As::Drop, "a job whose dependency failed ends as cancelled"},
    {"--auto-cancel", false, As::Drop, ""},
    {"--project", true, As::Drop, "users share by weights"},
    {"--conda-env", true, As::Option, kConda},
    {"-c", true, As::Option, kConda},
    {"--max-retries", true, As::Refuse, "say berth submit --requeue-on exit:CODE"},
    {"--param", true, As::Each, "--param"},
    {"--param-file", true, As::Option, "--param-file"},
    {"--dry-run", false, As::Option, "--dry-run"},
});

void append_words(std::vector<std::string>& to, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    to.emplace_back(text.substr(at, blank - at));
    at = blank + 1;
  }
}

/// One command line being read.
class Reader {
 public:
  Reader(std::string_view queue, std::span<const std::string> typed, const Here& here)
      : queue_(queue), typed_(typed), here_(here) {
    if (queue == "gbatch") rules_ = kGbatch;
  }

  Expected<Compat> read() {
    std::size_t at = 0;
    for (; at < typed_.size() && typed_[at].starts_with('-') && typed_[at].size() > 1; ++at) {
      if (typed_[at] == "--") {
        ++at;
        break;
      }
      if (auto done = take(at); !done) return std::unexpected(done.error());
      if (is_done_) return std::move(made_);
    }
    return finish(at);
  }

 private:
  struct Option {
    std::string_view here;
    std::optional<std::string> value;
  };

  std::string name(const std::string& word) const { return std::string(queue_) + " " + word; }

  Expected<void> take(std::size_t& at) {
    const std::string word = typed_[at];
    if (!word.starts_with("--")) return take_letters(word, at);
    const std::size_t equals = word.find('=');
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    return take_option(word.substr(0, equals), value, at);
  }

  /// `-nf`, `-G1`, `-nG1`: letters up to one that has a value, which is the rest if there is any.
  Expected<void> take_letters(const std::string& word, std::size_t& at) {
    for (std::size_t i = 1; i < word.size() && !is_done_; ++i) {
      const std::string option = {'-', word[i]};
      const auto rule = std::ranges::find(rules_, option, &Rule::name);
      std::optional<std::string> value;
      if (rule != rules_.end() && rule->has_value && i + 1 < word.size()) {
        value = word.substr(i + 1);
      }
      if (auto done = take_option(option, value, at); !done) return done;
      if (value) return {};
    }
    return {};
  }

  /// `value` is what stands in the same word; else it is the next one.
  Expected<void> take_option(const std::string& option, std::optional<std::string> value,
                             std::size_t& at) {
    const auto rule = std::ranges::find(rules_, option, &Rule::name);
    if (rule == rules_.end()) return refuse(name(option) + ": berth compat does not know it");
    if (rule->has_value && !value && at + 1 < typed_.size()) value = typed_[++at];
    if (rule->as == As::Refuse) return refuse(name(option) + ": " + std::string(rule->here));
    const bool lacks = rule->has_value && !value;
    if (lacks && rule->without == LastJob::None) {
      return refuse(name(option) + (rule->as == As::Verb ? ": give the job's number; nothing is "
                                                           "ended by a guess"
                                                         : ": its value is missing"));
    }
    if (lacks) made_.of_last = rule->without;
    if (!rule->has_value) value.reset();
    return apply(*rule, value);
  }

  Expected<void> apply(const Rule& rule, const std::optional<std::string>& value) {
    const std::string_view here = queue_ == "ts" && !rule.of_ts.empty() ? rule.of_ts : rule.here;
    switch (rule.as) {
      case As::Drop:
        if (!rule.here.empty()) {
          made_.notes.push_back(name(std::string(rule.name)) +
                                " is left out: " + std::string(rule.here));
        }
        return {};
      case As::Verb:
        if (rule.here == "run") {
          verb_ = "run";
          return {};
        }
        made_.words.clear();
        append_words(made_.words, rule.here);
        if (value) made_.words.push_back(*value);
        is_done_ = true;
        return {};
      case As::State:
        made_.wants_state = true;
        made_.state_of = value.value_or("");
        is_done_ = true;
        return {};
      case As::Last:
        made_.after_last = here;
        return {};
      case As::Each:
        options_.push_back({here, value});
        return {};
      case As::Option:
      case As::Minutes:
        break;
      case As::Refuse:
        return {};
    }
    const bool is_minutes = rule.as == As::Minutes && value && is_number(*value);
    set({here, is_minutes ? *value + "min" : value});
    return {};
  }

  /// Of what is said twice the later counts.
  void set(Option option) {
    const auto found = std::ranges::find(options_, option.here, &Option::here);
    found == options_.end() ? options_.push_back(std::move(option)) : void(*found = option);
  }
  bool has(std::string_view start) const {
    return std::ranges::any_of(
        options_, [&](const Option& option) { return option.here.starts_with(start); });
  }
  std::string take_out(std::string_view here) {
    const auto found = std::ranges::find(options_, here, &Option::here);
    if (found == options_.end()) return "";
    std::string value = found->value.value_or("");
    options_.erase(found);
    return value;
  }

  /// What a script says in its own lines, which what is typed overrides.
  Expected<void> take_lines(const std::vector<ScriptLine>& lines) {
    const auto typed = std::exchange(typed_, {});
    auto said = std::exchange(options_, {});
    for (const ScriptLine& line : lines) {
      typed_ = line.words;
      for (std::size_t at = 0; at < typed_.size(); ++at) {
        if (!typed_[at].starts_with('-')) {
          return refuse(line.where + "#GFLOW " + typed_[at] + ": is no option");
        }
        if (auto done = take(at); !done) return refuse(line.where + done.error().message);
      }
    }
    for (Option& option : said) set(std::move(option));
    typed_ = typed;
    return {};
  }

  Expected<Compat> finish(std::size_t at) {
    std::vector<std::string> command(typed_.begin() + static_cast<std::ptrdiff_t>(at),
                                     typed_.end());
    if (command.empty() && options_.empty() && queue_ != "gbatch") {
      made_.words = {"ls", "--all", "--mine"};
      return std::move(made_);
    }
    if (command.empty()) return refuse(std::string(queue_) + ": no command");
    if (queue_ == "gbatch" && here_.script_of) {
      const auto script = here_.script_of(command.front());
      if (!script) return std::unexpected(script.error());
      if (!script->lines.empty()) {
        if (auto done = take_lines(script->lines); !done) return std::unexpected(done.error());
        command.erase(command.begin());
        command.insert(command.begin(), script->command.begin(), script->command.end());
      }
    }
    const std::string conda = take_out(kConda);
    const std::string at_once = take_out(kTasksAtOnce);
    if (has("--param") && !at_once.empty()) set({"--at-once", at_once});
    if (std::string array = take_out("--array"); !array.empty()) {
      set({"--array", array + (at_once.empty() ? "" : "%" + at_once)});
    }
    if (queue_ != "gbatch" && !has("--after") && made_.after_last.empty()) {
      made_.hint = "jobs that fit run at once; -d starts one after your last job";
      if (queue_ == "tsp") made_.hint += ", if that ended well";
    }
    made_.words = {verb_};
    if (!has("--gpu")) made_.words.insert(made_.words.end(), {"--gpus", "0"});  // as there
    for (const Option& option : options_) {
      append_words(made_.words, option.here);
      if (option.value) made_.words.push_back(*option.value);
    }
    made_.words.emplace_back("--");
    if (!conda.empty() && conda != here_.conda) {  // else it goes along with the variables
      made_.words.insert(made_.words.end(), {"conda", "run", "--no-capture-output", "-n", conda});
    }
    made_.words.insert(made_.words.end(), command.begin(), command.end());
    return std::move(made_);
  }

  std::string_view queue_;
  std::span<const Rule> rules_ = kTsp;
  std::span<const std::string> typed_;
  const Here& here_;
  Compat made_;
  std::string verb_ = "submit";
  std::vector<Option> options_;
  bool is_done_ = false;
};

/// Gflow's other programs, whose words are jobs.
constexpr auto kGflowPrograms = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"gqueue", "ls"},
    {"gcancel", "cancel"},
    {"ghold", "hold"},
    {"grelease", "release"},
    {"ginfo", "gpus"},
});

}  // namespace

Expected<Compat> from_queue(std::string_view queue, std::span<const std::string> typed,
                            const Here& here) {
  if (queue == "tsp" || queue == "ts" || queue == "gbatch") {
    return Reader(queue, typed, here).read();
  }
  const auto* const other = std::ranges::find(
      kGflowPrograms, queue, &std::pair<std::string_view, std::string_view>::first);
  if (other != kGflowPrograms.end()) {
    Compat made{.words = {std::string(other->second)}, .notes = {}};
    made.words.insert(made.words.end(), typed.begin(), typed.end());
    return made;
  }
  return refuse("'" + std::string(queue.substr(0, 40)) +
                "': no queue that berth compat knows; valid: tsp, ts, gbatch, gqueue, gcancel, "
                "ghold, grelease, ginfo");
}

std::string spooler_state(const Json& job) {
  const std::string state = text_of(job, "state");
  if (has_ended(job)) return number_of(job, "started_at") ? "finished" : "skipped";
  const bool is_queued = state == "queued" || state == "held" || state == "deferred";
  return is_queued ? "queued" : "running";
}

}  // namespace berth::cli
