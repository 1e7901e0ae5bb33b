// CARMA (itu-rad): when tasks are submitted, by the file that describes each. Two of its tables say
// what they are: task_files.csv (GPUs, measured peak of memory) and ehsan-summary.csv (run times).
//
// A run time is that of the measured run with the same script and batch size, once for every epoch
// that the task asks for: the measured ones ran for one, or for what the script does by itself.
#include <algorithm>
#include <map>

#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostMiB = std::int64_t{1} << 30;

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

/// Every row of a table, until one is bad.
Expected<void> each_row(Csv& csv, const std::function<void(Row&)>& visit) {
  for (;;) {
    const auto more = csv.next();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    Row row(csv);
    visit(row);
    if (row.error()) return std::unexpected(*row.error());
  }
}

Expected<std::vector<Run>> read_runs(const Profile& profile) {
  auto csv = Csv::open(profile.text, profile.name);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t script = columns.need("Script"), folder = columns.need("Run folder");
  const std::size_t time = columns.need("Execution time(s)");
  if (columns.error()) return std::unexpected(*columns.error());
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
  if (columns.error()) return std::unexpected(*columns.error());
  Tasks tasks;
  const auto done = each_row(*csv, [&](Row& row) {
    Task task{.gpus = row.gpus(gpus),
              .duration = time_of(runs, row.text(script), row.text(arguments)),
              .script = std::string(row.text(script))};
    if (!row.text(peak).empty()) task.vram = Bytes(row.integer(peak, 1, kMostMiB) << 20);
    tasks[row.name(file)] = std::move(task);
  });
  if (!done) return std::unexpected(done.error());
  return tasks;
}

Expected<Tasks> tasks_of(const Source& source) {
  const auto summary = table(source, "ehsan-summary.csv");
  if (!summary) return std::unexpected(summary.error());
  const auto files = table(source, "task_files.csv");
  if (!files) return std::unexpected(files.error());
  const auto runs = read_runs(**summary);
  if (!runs) return std::unexpected(runs.error());
  return read_tasks(**files, *runs);
}

}  // namespace

Expected<Trace> read_carma(const Source& source) {
  auto csv = Csv::open(source.text, source.file);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t id = columns.need("task"), submit = columns.need("submit_s");
  const std::size_t file = columns.need("task_file");
  if (columns.error()) return std::unexpected(*columns.error());
  const auto tasks = tasks_of(source);
  if (!tasks) return std::unexpected(tasks.error());
  return read_jobs(*csv, source.bad_rows, [&](Row& row) {
    const auto task = tasks->find(row.text(file));
    const bool known = task != tasks->end() && task->second.duration > Duration(0);
    if (!known) row.refuse(file, "a task in task_files.csv with a run in ehsan-summary.csv");
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

}  // namespace berth::trace
