#include "cli/job/other_queues.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>

namespace berth::cli {

namespace {

constexpr auto kQueues = std::to_array<OtherQueue>({
    {.mark = "#PBS", .folder = "PBS_O_WORKDIR", .name = "PBS_JOBNAME"},
    {.mark = "#BSUB", .folder = "LS_SUBCWD", .name = "LSB_JOBNAME"},
    {.mark = "#$", .folder = "SGE_O_WORKDIR", .name = "JOB_NAME"},
});

/// How an option's value reads here.
enum class QueueValue : std::uint8_t {
  No,         ///< It has no equal: it is left out, with a warning.
  Nothing,    ///< What it asks for is so anyway.
  Flag,       ///< As the option `here`, without a value.
  Same,       ///< As the option `here`, with the same value.
  Limit,      ///< A run limit of LSF, `4:00` of hours and minutes, or minutes.
  Output,     ///< A file, with the queue's words for the job's numbers.
  Resources,  ///< `select=1:ngpus=2:mem=16gb,walltime=4:00:00`, `gpu=2,h_rt=3600`.
  Gpus,       ///< LSF's `num=2:gmem=10G`.
  NamedTask,  ///< LSF's `sweep[1-100]%8`.
  Slots,      ///< Of a parallel environment: `smp 8`.
  Variables,  ///< `A=1,B`.
  Occasions,  ///< `abe`.
  Address,    ///< Mail addresses or users.
  After,      ///< `7,8,prep`, whose end is waited for.
  Depend,     ///< PBS's `depend=afterok:7:8`.
  Condition,  ///< LSF's `done(7) && ended(prep)`.
};

struct QueueOption {
  std::string_view name;
  QueueValue takes;
  std::string_view
      here;  ///< An option of `submit`, or what to say instead of one that is left out.
};

constexpr std::string_view kNoQueues =
    "there are no queues; --class and --gpu-type say what a job needs";
constexpr std::string_view kByWeights = "users share by weights, which berthd's configuration has";
constexpr std::string_view kBothStreams = "both streams are in the file of -o, and in berth logs";
constexpr std::string_view kHostMemory = "say --mem SIZE: host memory of the whole job";
constexpr std::string_view kFirstLine = "the first line of the script says what runs it";
constexpr std::string_view kWhichGpus = "say --gpu-type TYPE, --gpus N and --vram SIZE";

constexpr auto kOfPbs = std::to_array<QueueOption>({
    {"-N", QueueValue::Same, "--name"},
    {"-l", QueueValue::Resources, ""},
    {"-o", QueueValue::Output, "--output"},
    {"-e", QueueValue::No, kBothStreams},
    {"-j", QueueValue::Nothing, ""},
    {"-k", QueueValue::Nothing, ""},
    {"-J", QueueValue::Same, "--array"},
    {"-t", QueueValue::Same, "--array"},
    {"-V", QueueValue::Nothing, ""},
    {"-v", QueueValue::Variables, "--env"},
    {"-W", QueueValue::Depend, ""},
    {"-d", QueueValue::Same, "--cwd"},
    {"-m", QueueValue::Occasions, ""},
    {"-M", QueueValue::Address, "--notify"},
    {"-h", QueueValue::Flag, "--hold"},
    {"-r", QueueValue::Nothing, ""},
    {"-S", QueueValue::No, kFirstLine},
    {"-q", QueueValue::No, kNoQueues},
    {"-A", QueueValue::No, kByWeights},
    {"-P", QueueValue::No, kByWeights},
    {"-p", QueueValue::No, "say --priority N"},
    {"-a", QueueValue::No, "say --begin TIME, as +2h"},
});

constexpr auto kOfLsf = std::to_array<QueueOption>({
    {"-J", QueueValue::NamedTask, "--name"},
    {"-n", QueueValue::Same, "--cpus"},
    {"-W", QueueValue::Limit, "--time"},
    {"-gpu", QueueValue::Gpus, ""},
    {"-M", QueueValue::No, kHostMemory},
    {"-R", QueueValue::No, kHostMemory},
    {"-o", QueueValue::Output, "--output"},
    {"-oo", QueueValue::Output, "--output"},
    {"-e", QueueValue::No, kBothStreams},
    {"-eo", QueueValue::No, kBothStreams},
    {"-q", QueueValue::No, kNoQueues},
    {"-P", QueueValue::No, kByWeights},
    {"-G", QueueValue::No, kByWeights},
    {"-u", QueueValue::Address, "--notify"},
    {"-N", QueueValue::Nothing, ""},
    {"-B", QueueValue::Nothing, ""},
    {"-w", QueueValue::Condition, ""},
    {"-H", QueueValue::Flag, "--hold"},
    {"-x", QueueValue::Flag, "--exclusive"},
    {"-cwd", QueueValue::Same, "--cwd"},
    {"-L", QueueValue::No, kFirstLine},
    {"-b", QueueValue::No, "say --begin TIME, as +2h"},
    {"-m", QueueValue::No, "a job is one command on one machine; leave it out"},
});

constexpr auto kOfGridEngine = std::to_array<QueueOption>({
    {"-N", QueueValue::Same, "--name"},
    {"-l", QueueValue::Resources, ""},
    {"-pe", QueueValue::Slots, "--cpus"},
    {"-o", QueueValue::Output, "--output"},
    {"-e", QueueValue::No, kBothStreams},
    {"-j", QueueValue::Nothing, ""},
    {"-cwd", QueueValue::Nothing, ""},
    {"-wd", QueueValue::Same, "--cwd"},
    {"-t", QueueValue::Same, "--array"},
    {"-tc", QueueValue::Same, "--at-once"},
    {"-hold_jid", QueueValue::After, ""},
    {"-V", QueueValue::Nothing, ""},
    {"-v", QueueValue::Variables, "--env"},
    {"-m", QueueValue::Occasions, ""},
    {"-M", QueueValue::Address, "--notify"},
    {"-h", QueueValue::Flag, "--hold"},
    {"-R", QueueValue::Nothing, ""},
    {"-r", QueueValue::Nothing, ""},
    {"-S", QueueValue::No, kFirstLine},
    {"-q", QueueValue::No, kNoQueues},
    {"-P", QueueValue::No, kByWeights},
    {"-A", QueueValue::No, kByWeights},
    {"-p", QueueValue::No, "say --priority N"},
    {"-a", QueueValue::No, "say --begin TIME, as +2h"},
});

/// Options that stand without a value; the one with two is of QueueValue::Slots.
constexpr auto kValueless = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"#PBS", "-V"},
    {"#PBS", "-h"},
    {"#BSUB", "-N"},
    {"#BSUB", "-B"},
    {"#BSUB", "-H"},
    {"#BSUB", "-x"},
    {"#$", "-cwd"},
    {"#$", "-V"},
    {"#$", "-h"},
});

std::span<const QueueOption> options_known(const OtherQueue& queue) {
  if (queue.mark == "#PBS") return kOfPbs;
  return queue.mark == "#BSUB" ? std::span<const QueueOption>(kOfLsf) : kOfGridEngine;
}

bool is_all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Parts between these characters; none of "".
std::vector<std::string_view> parts_between(std::string_view text, std::string_view between) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// An option of a line, with its value.
struct TypedOption {
  const OtherQueue& queue;
  const QueueOption& option;
  std::string value;
};

class Translation {
 public:
  QueueOptions made;

  Expected<void> add(const TypedOption& typed) {
    const std::string_view value = typed.value;
    switch (typed.option.takes) {
      case QueueValue::No:
        leave_out(typed.option.name, value, typed.option.here);
        return {};
      case QueueValue::Nothing:
        return {};
      case QueueValue::Flag:
        made.words.emplace_back(typed.option.here);
        return {};
      case QueueValue::Same:
        say(typed.option.here, value);
        return {};
      case QueueValue::Limit:
        add_limit(value);
        return {};
      case QueueValue::Output:
        say(typed.option.here, file_of(typed.queue, value));
        return {};
      case QueueValue::Resources:
        for (const std::string_view part : parts_between(value, ",")) add_resources(part);
        return {};
      case QueueValue::Gpus:
        for (const std::string_view part : parts_between(value, ":")) add_gpu(part);
        return {};
      case QueueValue::NamedTask:
        add_named_task(value);
        return {};
      case QueueValue::Slots:
        say(typed.option.here, value.substr(value.rfind(' ') + 1));
        return {};
      case QueueValue::Variables:
        for (const std::string_view part : parts_between(value, ",")) say(typed.option.here, part);
        return {};
      case QueueValue::Occasions:
        add_occasions(value);
        return {};
      case QueueValue::Address:
        say(typed.option.here, std::string(value) + (value.contains('@') ? "" : "@localhost"));
        return {};
      case QueueValue::After:
        return add_after(typed, "--after-any", value);
      case QueueValue::Depend:
        return add_depend(typed);
      case QueueValue::Condition:
        return add_condition(typed);
    }
    return {};
  }

  void leave_out(std::string_view option, std::string_view value, std::string_view why) {
    made.left_out.push_back(std::string(option) + (value.empty() ? "" : " ") + std::string(value) +
                            " is left out: " + std::string(why));
  }

 private:
  void say(std::string_view option, std::string_view value) {
    made.words.insert(made.words.end(), {std::string(option), std::string(value)});
  }

  /// `4:00`, `90`; LSF's part behind a slash names a machine.
  void add_limit(std::string_view value) {
    value = value.substr(0, value.find('/'));
    const std::size_t colon = value.find(':');
    say("--time", colon == value.npos ? std::string(value) + "min"
                                      : std::string(value.substr(0, colon)) + "h" +
                                            std::string(value.substr(colon + 1)) + "min");
  }

  /// What berth writes for the job's numbers, and % for itself; a folder gets a file for each job.
  static std::string file_of(const OtherQueue& queue, std::string_view value) {
    constexpr auto kWords = std::to_array<std::pair<std::string_view, std::string_view>>({
        {"$JOB_ID", "%A"},
        {"$TASK_ID", "%a"},
        {"$JOB_NAME", "%x"},
        {"$USER", "%u"},
        {"^array_index^", "%a"},
    });
    const bool is_lsf = queue.mark == "#BSUB";
    if (const std::size_t colon = value.find(':'); !is_lsf && colon < value.find('/')) {
      value.remove_prefix(colon + 1);  // a machine
    }
    std::string file;
    for (std::size_t at = 0; at < value.size();) {
      const std::string_view rest = value.substr(at);
      const auto* const word = std::ranges::find_if(
          kWords, [&](const auto& one) { return rest.starts_with(one.first); });
      const bool is_percent = rest.front() == '%';
      if (!is_lsf && word != kWords.end()) {
        file += word->second;
        at += word->first.size();
      } else if (is_lsf && (rest.starts_with("%J") || rest.starts_with("%I"))) {
        file += rest[1] == 'J' ? "%A" : "%a";
        at += 2;
      } else {
        file += is_percent ? "%%" : std::string(1, rest.front());
        ++at;
      }
    }
    return file.ends_with('/') ? file + "%x.o%j" : file;
  }

  /// `select=1:ngpus=2`, `nodes=1:ppn=8`, `walltime=4:00:00`, whose value has colons itself.
  void add_resources(std::string_view part) {
    const bool is_chunk = part.starts_with("select=") || part.starts_with("nodes=");
    if (!is_chunk) return add_resource(part);
    if (part.contains('+')) return leave_out("-l", part, kOneMachine);
    for (const std::string_view one : parts_between(part.substr(part.find('=') + 1), ":")) {
      if (one == "1") continue;
      is_all_digits(one) ? leave_out("-l", part.substr(0, part.find(':')), kOneMachine)
                         : add_resource(one);
    }
  }

  void add_resource(std::string_view part) {
    struct Resource {
      std::string_view name;
      std::string_view here;
    };
    constexpr auto kResources = std::to_array<Resource>({
        {"walltime", "--time"},
        {"h_rt", "--time"},
        {"ncpus", "--cpus"},
        {"ppn", "--cpus"},
        {"ngpus", "--gpus"},
        {"gpus", "--gpus"},
        {"gpu", "--gpus"},
        {"mem", "--mem"},
        {"gmem", "--vram"},
        {"gpu_mem", "--vram"},
    });
    const std::size_t equals = part.find('=');
    const auto* const known =
        std::ranges::find(kResources, part.substr(0, equals), &Resource::name);
    if (known == kResources.end() || equals == part.npos) {
      const bool is_memory = part.contains("mem") || part.starts_with("virtual_free");
      return leave_out("-l", part, is_memory ? kHostMemory : kUnknown);
    }
    say(known->here, part.substr(equals + 1));
  }

  void add_gpu(std::string_view part) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const std::string value(part.substr(std::min(equals + 1, part.size())));
    if (name == "num") return say("--gpus", value);
    if (name == "gmem") return say("--vram", value + (is_all_digits(value) ? "M" : ""));
    const bool is_so_anyway = name == "mode" || value == "no";
    if (name == "j_exclusive" && value == "yes") {
      made.words.emplace_back("--exclusive");
    } else if (!is_so_anyway) {
      leave_out("-gpu", part, kWhichGpus);
    }
  }

  void add_named_task(std::string_view value) {
    const std::size_t bracket = std::min(value.find('['), value.size());
    if (bracket > 0) say("--name", value.substr(0, bracket));
    const std::size_t end = value.find(']', bracket);
    if (end == value.npos) return;
    say("--array", std::string(value.substr(bracket + 1, end - bracket - 1)) +
                       std::string(value.substr(end + 1)));
  }

  void add_occasions(std::string_view letters) {
    std::string list;
    for (const char letter : letters) {
      const std::string_view word = letter == 'b'                    ? "start"
                                    : letter == 'e'                  ? "end"
                                    : letter == 'a' || letter == 'f' ? "fail"
                                                                     : "";
      if (!word.empty()) list += (list.empty() ? "" : ",") + std::string(word);
    }
    if (!list.empty()) say("--notify-on", list);
  }

  static Error refusal(const TypedOption& typed) {
    return {ErrorCode::InvalidArgument,
            std::string(typed.queue.mark) + " " + std::string(typed.option.name) + " " +
                typed.value +
                " is not supported: say --after-ok, --after-any or --after-notok JOBS"};
  }

  /// PBS names jobs by their numbers, with a server's name behind; the others by names too.
  Expected<void> add_after(const TypedOption& typed, std::string_view option,
                           std::string_view jobs) {
    const bool has_names = typed.queue.mark != "#PBS";
    const auto numbers = parts_between(jobs, has_names ? "," : ",:");
    if (numbers.empty() || !(has_names || std::ranges::all_of(numbers, is_all_digits))) {
      return std::unexpected(refusal(typed));
    }
    const auto said = std::ranges::find(made.words, option);
    std::string list = said == made.words.end() ? "" : *std::next(said);
    for (const std::string_view number : numbers) {
      list += (list.empty() ? "" : ",") + std::string(number);
    }
    said == made.words.end() ? say(option, list) : void(*std::next(said) = list);
    return {};
  }

  Expected<void> add_depend(const TypedOption& typed) {
    const std::string_view value = typed.value;
    constexpr std::string_view kDepend = "depend=";
    if (!value.starts_with(kDepend)) {
      leave_out(typed.option.name, value, kUnknown);
      return {};
    }
    for (const std::string_view part : parts_between(value.substr(kDepend.size()), ",")) {
      const std::size_t colon = std::min(part.find(':'), part.size());
      const auto option = option_for(part.substr(0, colon));
      if (!option) return std::unexpected(refusal(typed));
      if (auto done = add_after(typed, *option, part.substr(colon)); !done) return done;
    }
    return {};
  }

  Expected<void> add_condition(const TypedOption& typed) {
    std::string value = typed.value;
    std::erase_if(value, [](char c) { return c == ' ' || c == '"' || c == '\''; });
    if (value.find_first_of("|!><") != value.npos) return std::unexpected(refusal(typed));
    for (const std::string_view part : parts_between(value, "&")) {
      const std::size_t open = part.find('(');
      const bool has_kind = open != part.npos && part.ends_with(')');
      const auto option = has_kind ? option_for(part.substr(0, open)) : option_for("done");
      if (!option) return std::unexpected(refusal(typed));
      const auto jobs = has_kind ? part.substr(open + 1, part.size() - open - 2) : part;
      if (auto done = add_after(typed, *option, jobs); !done) return done;
    }
    return {};
  }

  static std::optional<std::string_view> option_for(std::string_view kind) {
    if (kind == "afterok" || kind == "done") return "--after-ok";
    if (kind == "afterany" || kind == "ended") return "--after-any";
    if (kind == "afternotok" || kind == "exit") return "--after-notok";
    return std::nullopt;
  }

  static constexpr std::string_view kUnknown = "berth does not know it";
  static constexpr std::string_view kOneMachine =
      "a job is one command on one machine, which has all that it asks for";
};

/// The options of PBS are letters, which may have their value in the same word.
const QueueOption* find_option(const OtherQueue& queue, std::string_view word) {
  const auto options = options_known(queue);
  auto found = std::ranges::find(options, word, &QueueOption::name);
  if (found == options.end() && queue.mark == "#PBS") {
    found = std::ranges::find(options, word.substr(0, 2), &QueueOption::name);
  }
  return found == options.end() ? nullptr : &*found;
}

}  // namespace

std::span<const OtherQueue> other_queues() { return kQueues; }

std::string_view unread_mark(std::string_view line) {
  constexpr auto kMarks = std::to_array<std::string_view>({"#COBALT", "#MSUB", "#OAR", "#PJM"});
  for (const std::string_view mark : kMarks) {
    const std::size_t word = line.find_first_not_of(" \t", std::min(mark.size(), line.size()));
    if (!line.starts_with(mark) || word == line.npos) continue;
    if (word > mark.size() && line[word] == '-') return mark;
  }
  constexpr auto kFlux =
      std::to_array<std::string_view>({"#FLUX:", "# FLUX:", "#flux:", "# flux:"});
  const auto* const flux =
      std::ranges::find_if(kFlux, [&](std::string_view mark) { return line.starts_with(mark); });
  return flux == kFlux.end() ? "" : *flux;
}

Expected<QueueOptions> options_of_queue(const OtherQueue& queue,
                                        std::span<const std::string> words) {
  Translation translation;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const QueueOption* const option = find_option(queue, word);
    std::string_view name = option == nullptr ? word : option->name;
    const bool is_alone =
        std::ranges::find(kValueless, std::pair(queue.mark, name)) != kValueless.end();
    std::string value(word.substr(name.size()));
    const std::size_t most = is_alone || !value.empty()                                ? 0
                             : option != nullptr && option->takes == QueueValue::Slots ? 2
                                                                                       : 1;
    for (std::size_t taken = 0; taken < most && i + 1 < words.size(); ++taken) {
      if (option == nullptr && words[i + 1].starts_with('-')) break;
      value += (value.empty() ? "" : " ") + words[++i];
    }
    if (option == nullptr) {
      translation.leave_out(name, value, "berth does not know it");
    } else if (auto done = translation.add({queue, *option, value}); !done) {
      return std::unexpected(done.error());
    }
  }
  return std::move(translation.made);
}

}  // namespace berth::cli
