// CARMA (itu-rad) as published: a shell script that sleeps and submits tasks by the files that
// describe them, NAME.rad (GPUs, measured peak of memory), and ehsan-summary.csv (run times). Or
// the same as tables: task,submit_s,task_file in place of the script, and task_files.csv in place
// of the descriptions.
//
// A run time is that of the measured run with the same script and batch size, once for every epoch
// that the task asks for: the measured ones ran for one, or for what the script does by itself.
#include <algorithm>
#include <charconv>
#include <map>

#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostTaskMiB = std::int64_t{1} << 30;

constexpr Duration kLongestRun = hours(24 * 366);

struct Task {
  GpuCount gpus{1};
  Bytes vram{0};
  Duration duration{0};
  std::string script;
};
using Tasks = std::map<std::string, Task, std::less<>>;

struct Run {
  std::string script;
  std::string folder;
  Duration time{0};
};

/// The word after `--option`, up to a blank or an underscore; "" where there is none.
std::string_view option(std::string_view arguments, std::string_view name) {
  const std::size_t at = arguments.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = arguments.substr(at + name.size());
  if (rest.size() < 2 || (rest.front() != ' ' && rest.front() != '_')) return {};
  return rest.substr(1, rest.find_first_of(" _", 1) - 1);
}

std::int64_t epochs_of(std::string_view arguments) {
  const std::string_view text = option(arguments, "--epochs");
  std::int64_t epochs = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || epochs > 10'000) return 1;
    epochs = epochs * 10 + (c - '0');
  }
  return std::max<std::int64_t>(1, epochs);
}

Expected<const Profile*> table(const Source& source, std::string_view name) {
  const auto found = std::ranges::find(source.profiles, name, &Profile::name);
  if (found != source.profiles.end()) return &*found;
  return fail(ErrorCode::InvalidArgument,
              std::string(source.file) + ": has no run times: --profiles names the folder with " +
                  std::string(name));
}

Expected<std::vector<Run>> read_runs(const Profile& profile) {
  auto csv = Csv::open(profile.text, profile.name);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t script = columns.need("Script"), folder = columns.need("Run folder");
  const std::size_t time = columns.need("Execution time(s)");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  std::vector<Run> runs;
  const auto done = each_row(*csv, [&](Row& row) {
    runs.push_back(
        {std::string(row.text(script)), std::string(row.text(folder)), row.duration(time)});
  });
  if (!done) return std::unexpected(done.error());
  return runs;
}

/// Zero for a task that was not measured.
Duration time_of(const std::vector<Run>& runs, std::string_view script,
                 std::string_view arguments) {
  const std::string_view batch = option(arguments, "--batch_size");
  const auto same = std::ranges::find_if(runs, [&](const Run& run) {
    const bool named = run.script == script || run.script.ends_with("_" + std::string(script));
    return named && option(run.folder, "--batch_size") == batch;
  });
  if (same == runs.end() || same->time > kLongestRun) return Duration(0);
  return same->time * epochs_of(arguments);
}

Expected<Tasks> read_tasks(const Profile& profile, const std::vector<Run>& runs) {
  auto csv = Csv::open(profile.text, profile.name);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t file = columns.need("task_file"), script = columns.need("script");
  const std::size_t arguments = columns.need("args"), gpus = columns.need("gpus");
  const std::size_t peak = columns.need("measured_mib");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  Tasks tasks;
  const auto done = each_row(*csv, [&](Row& row) {
    Task task{.gpus = row.gpus(gpus),
              .duration = time_of(runs, row.text(script), row.text(arguments)),
              .script = std::string(row.text(script))};
    if (!row.is_missing(peak)) task.vram = Bytes(row.integer(peak, 1, kMostTaskMiB) << 20);
    tasks[row.name(file)] = std::move(task);
  });
  if (!done) return std::unexpected(done.error());
  return tasks;
}

/// Nothing for what is not a number from `low` to `high`.
std::optional<std::int64_t> number(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= low && value <= high ? std::optional(value) : std::nullopt;
}

/// A NAME.rad: the command in its third line, GPUs in its eighth, and MiB in its ninth, which a
/// task that was not measured lacks.
Expected<Task> read_description(const Profile& profile, const std::vector<Run>& runs) {
  const auto lines = names_between(profile.text, '\n');
  const auto refuse = [&](std::size_t line, std::string_view expected) {
    return fail(ErrorCode::BadData, profile.name + ":" + std::to_string(line) + ": '" +
                                        (line <= lines.size() ? shown(lines[line - 1]) : "") +
                                        "', expected " + std::string(expected));
  };
  const auto gpus = lines.size() < 8 ? std::nullopt : number(lines[7], 1, kMostGpus);
  if (!gpus) return refuse(8, "the number of GPUs of a task");
  const auto words = names_between(lines[2], ' ');
  if (words.size() < 2) return refuse(3, "the task's command: python SCRIPT");
  const std::string script(without_folders(words[1]));
  const auto peak =
      lines.size() < 9 ? std::optional<std::int64_t>(0) : number(lines[8], 1, kMostTaskMiB);
  if (!peak) return refuse(9, "the task's measured peak of memory in MiB");
  return Task{.gpus = GpuCount(*gpus),
              .vram = Bytes(*peak << 20),
              .duration = time_of(runs, script, lines[2]),
              .script = script};
}

Expected<Tasks> read_descriptions(const Source& source, const std::vector<Run>& runs) {
  Tasks tasks;
  for (const Profile& profile : source.profiles) {
    if (!profile.name.ends_with(".rad")) continue;
    auto task = read_description(profile, runs);
    if (!task) return std::unexpected(task.error());
    tasks[std::string(without_folders(profile.name))] = std::move(*task);
  }
  return tasks;
}

Expected<Tasks> tasks_of(const Source& source) {
  const auto summary = table(source, "ehsan-summary.csv");
  if (!summary) return std::unexpected(summary.error());
  const auto runs = read_runs(**summary);
  if (!runs) return std::unexpected(runs.error());
  const auto files = table(source, "task_files.csv");
  return files ? read_tasks(**files, *runs) : read_descriptions(source, *runs);
}

std::string_view without_end(std::string_view line) {
  while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// `python PATH/submit.py --task PATH/NAME.rad`: NAME.rad; "" for any other line.
std::string_view submitted(std::string_view line) {
  constexpr std::string_view before = " --task ";
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos || !line.ends_with(".rad")) return {};
  return without_folders(line.substr(at + before.size()));
}

/// What separates the script's sleeps: nothing for any other line.
std::optional<std::int64_t> slept(std::string_view line) {
  constexpr std::string_view before = "sleep ";
  if (!line.starts_with(before)) return std::nullopt;
  return number(line.substr(before.size()), 0, 1'000'000'000);
}

/// The script as the table of the same arrivals, each in its own line of it, so that messages name
/// the script's. What is neither a sleep nor a submission is a row that is none.
Expected<std::string> table_of(const Source& source) {
  std::string table;
  std::int64_t now = 0, tasks = 0, line_number = 0;
  for (std::string_view rest = source.text; !rest.empty(); table += '\n') {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = without_end(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line_number;
    if (line.empty() || line.starts_with('#')) continue;
    if (const auto time = slept(line)) {
      now = std::min(now + *time, std::int64_t{1} << 40);
    } else if (const std::string_view task = submitted(line); !task.empty()) {
      table += std::to_string(tasks++) + "," + std::to_string(now) + "," + std::string(task);
    } else if (source.bad_rows == BadRows::Skip) {
      table += '?';
    } else {
      return fail(ErrorCode::BadData, std::string(source.file) + ":" + std::to_string(line_number) +
                                          ": '" + shown(line) +
                                          "', expected sleep SECONDS or ... --task NAME.rad");
    }
  }
  return table;
}

Expected<Trace> read_arrivals(const Source& source, std::string_view text, const Layout& layout) {
  auto csv = Csv::open(text, source.file, layout);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t id = columns.need("task"), submit = columns.need("submit_s");
  const std::size_t file = columns.need("task_file");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  const auto tasks = tasks_of(source);
  if (!tasks) return std::unexpected(tasks.error());
  return read_jobs(*csv, source.bad_rows, [&](Row& row) {
    const auto task = tasks->find(row.text(file));
    const bool known = task != tasks->end() && task->second.duration > Duration(0);
    if (!known) row.refuse(file, "a task that is described and has a run in ehsan-summary.csv");
    TraceJob job = whole_gpu_job(row.name(id), known ? task->second.gpus : GpuCount(0));
    job.submit = kStart + row.duration(submit);
    if (known) {
      job.duration = task->second.duration;
      job.model = task->second.script;
      job.spec.request.gpu.vram = task->second.vram;
      if (task->second.vram > Bytes(0)) job.spec.request.gpu.sharing = Sharing::Shared;
    }
    return std::optional(std::move(job));
  });
}

}  // namespace

Expected<Trace> read_carma(const Source& source) {
  const std::string_view first = source.text.substr(0, source.text.find('\n'));
  if (first.find("task_file") != std::string_view::npos) {
    return read_arrivals(source, source.text, {});
  }
  const auto table = table_of(source);
  if (!table) return std::unexpected(table.error());
  return read_arrivals(source, *table, {.header = {"task", "submit_s", "task_file"}});
}

bool is_carma(std::string_view line) {
  line = without_end(line);
  return slept(line) || !submitted(line).empty();
}

}  // namespace berth::trace
