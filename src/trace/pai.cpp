// Alibaba PAI 2020 (Weng et al., "MLaaS in the Wild", NSDI 2022): the table of tasks, the machines,
// and beside them the table of jobs. The files are published without the line of column names,
// which is in another file.
//
// The tasks of a job are one gang: their GPUs, cores and host memory are added, from the start of
// the first to the end of the last. A task that asks for a part of a GPU gets so little GPU memory
// here that the parts decide which jobs fit.
#include <algorithm>
#include <array>

#include "core/base/limits.hpp"
#include "trace/card_sizes.hpp"
#include "trace/name_table.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

using namespace std::string_view_literals;

constexpr auto kTaskHeader =
    std::to_array({"job_name"sv, "task_name"sv, "inst_num"sv, "status"sv, "start_time"sv,
                   "end_time"sv, "plan_cpu"sv, "plan_mem"sv, "plan_gpu"sv, "gpu_type"sv});
constexpr auto kJobHeader =
    std::to_array({"job_name"sv, "inst_id"sv, "user"sv, "status"sv, "start_time"sv, "end_time"sv});
constexpr auto kMachineHeader =
    std::to_array({"machine"sv, "gpu_type"sv, "cap_cpu"sv, "cap_mem"sv, "cap_gpu"sv});

constexpr std::string_view kTaskNotEnded = "tasks that have not ended";
constexpr std::string_view kTaskNeverRan = "tasks that never ran";
constexpr std::int64_t kMostInstances = 100'000;
constexpr std::int64_t kMostPercent = 100'000;  ///< Of cores, or of GPUs, of an instance.
constexpr std::int64_t kMostHostGiB = 1 << 14;

std::string_view line_of(std::string_view text) { return text.substr(0, text.find('\n')); }

/// The columns as they are published where the first line does not name them.
Layout pai_layout(std::string_view text, std::span<const std::string_view> header) {
  if (line_of(text).find(header.front()) != std::string_view::npos) return {};
  return {.header = {header.begin(), header.end()}};
}

bool is_status(std::string_view word) {
  constexpr auto kWords = std::to_array({"Running"sv, "Terminated"sv, "Failed"sv, "Waiting"sv});
  return std::ranges::find(kWords, word) != kWords.end();
}

/// True for a line of so many fields of which the fourth is a status.
bool is_pai_row(std::string_view line, std::size_t fields) {
  const auto commas = static_cast<std::size_t>(std::ranges::count(line, ','));
  if (commas + 1 != fields) return false;
  for (std::size_t i = 0; i < 3; ++i) line.remove_prefix(line.find(',') + 1);
  return is_status(line.substr(0, line.find(',')));
}

struct TaskColumns {
  explicit TaskColumns(Columns& columns)
      : job(columns.need("job_name")),
        task(columns.need("task_name")),
        instances(columns.need("inst_num")),
        status(columns.need("status")),
        start(columns.need("start_time")),
        end(columns.need("end_time")),
        gpu(columns.need("plan_gpu")),
        cpu(columns.find("plan_cpu")),
        memory(columns.find("plan_mem")),
        type(columns.find("gpu_type")) {}

  std::size_t job, task, instances, status, start, end, gpu;
  std::optional<std::size_t> cpu, memory, type;
};

/// Millionths of a number that may be missing.
std::int64_t planned(Row& row, std::optional<std::size_t> column, std::int64_t most) {
  return row.is_missing(column) ? 0 : row.millionths(*column, most);
}

/// A part of a GPU for each instance, or whole GPUs.
void read_planned_gpus(Row& row, const TaskColumns& columns, std::int64_t instances,
                       TraceJob& job) {
  const std::int64_t millionths = planned(row, columns.gpu, kMostPercent);
  constexpr std::int64_t kWholePercent = 100 * 1'000'000;
  const std::int64_t each =
      (millionths + kWholePercent - 1) / kWholePercent;  // 0 where it asks for none
  GpuRequest& gpu = job.spec.request.gpu;
  if (each * instances > kMostGpus) row.refuse(columns.gpu, "1000000 GPUs of a task at most");
  gpu.count = GpuCount(std::min(each * instances, kMostGpus));
  if (each == 1) gpu.milli = GpuMilli(std::max<std::int64_t>(1, millionths / 100'000));
  if (each > 1) gpu.milli = GpuMilli(1000);
}

std::optional<TraceJob> pai_task(Row& row, const TaskColumns& columns) {
  const std::string_view status = row.text(columns.status);
  if (!is_status(status)) {
    row.refuse(columns.status, "one of Running, Terminated, Failed, Waiting");
  }
  const bool ended = status == "Terminated" || status == "Failed";
  if (row.error()) return std::nullopt;
  if (!ended) return row.leave_out(kTaskNotEnded);
  if (row.is_missing(columns.start)) return row.leave_out(kTaskNeverRan);
  if (row.is_missing(columns.end)) return row.leave_out(kTaskNotEnded);
  TraceJob job = whole_gpu_job(row.name(columns.job), GpuCount(0));
  const std::int64_t instances =
      row.is_missing(columns.instances) ? 1 : row.integer(columns.instances, 0, kMostInstances);
  read_planned_gpus(row, columns, instances, job);
  const std::int64_t cores = planned(row, columns.cpu, kMostPercent) / 100'000 * instances;
  job.spec.request.cpu = CpuMilli(std::min(cores, kMostCores));
  const Bytes host = gibibytes(planned(row, columns.memory, kMostHostGiB));
  job.spec.request.host = std::min(host * instances, limits::kMostMemory);
  job.submit = kStart + row.duration(columns.start);
  const Instant end = kStart + row.duration(columns.end);
  job.duration = row.between(job.submit, end, columns.end);
  job.model = row.text(columns.task);
  const bool typed = job.spec.request.gpu.count > GpuCount(0) && !row.is_missing(columns.type);
  if (typed) job.types = {std::string(row.text(*columns.type))};
  return job;
}

/// A job takes on one more of its tasks, which started no earlier than those it has. Returns: false
/// if both ask for GPUs in different parts, of which the larger is then the job's.
bool take_on(TraceJob& job, TraceJob&& task) {
  Request& all = job.spec.request;
  const Request& more = task.spec.request;
  const bool first_gpus = all.gpu.count == GpuCount(0);
  const bool is_even =
      first_gpus || more.gpu.count == GpuCount(0) || all.gpu.milli == more.gpu.milli;
  if (first_gpus && more.gpu.count > GpuCount(0)) job.model = task.model;
  all.gpu.count = GpuCount(std::min((all.gpu.count + more.gpu.count).raw(), kMostGpus));
  all.gpu.milli = std::max(all.gpu.milli, more.gpu.milli);
  all.cpu = std::min(all.cpu + more.cpu, CpuMilli(kMostCores));
  all.host = std::min(all.host + more.host, limits::kMostMemory);
  const Instant end = std::max(job.submit + job.duration, task.submit + task.duration);
  job.duration = end - job.submit;
  for (std::string& type : task.types) {
    if (std::ranges::find(job.types, type) == job.types.end()) job.types.push_back(std::move(type));
  }
  return is_even;
}

/// What is known once all tasks are: whether GPUs are shared, and that none runs for no time.
void finish_job(TraceJob& job) {
  GpuRequest& gpu = job.spec.request.gpu;
  if (job.duration == Duration(0)) job.duration = seconds(1);  // times are whole seconds
  if (gpu.milli == GpuMilli(1000)) {
    gpu.milli = GpuMilli(0);
    gpu.sharing = Sharing::Alone;
  } else {
    gpu.sharing = Sharing::Shared;
    gpu.vram = kUnstated;
  }
}

/// Tasks, in the order of their starts, as jobs in that order.
void join_tasks(Trace& trace) {
  NameTable numbers;
  std::vector<TraceJob> jobs;
  std::size_t uneven = 0;
  for (TraceJob& task : trace.jobs) {
    const std::size_t number = numbers.number(task.name);
    if (number == jobs.size()) {
      jobs.push_back(std::move(task));
    } else if (!take_on(jobs[number], std::move(task))) {
      ++uneven;
    }
  }
  trace.jobs.clear();
  for (TraceJob& job : jobs) {
    if (job.spec.request.gpu.count == GpuCount(0)) {
      count_left_out(trace, kWithoutGpu);
      continue;
    }
    finish_job(job);
    trace.jobs.push_back(std::move(job));
  }
  if (uneven == 0) return;
  trace.warnings.push_back(std::to_string(uneven) +
                           " tasks ask for another part of a GPU than their job's others: the "
                           "largest part is read for all");
}

/// Submissions and users, from the table of jobs.
struct PaiJobs {
  NameTable numbers;
  std::vector<std::string> users;
  std::vector<Instant> submitted;
};

Expected<PaiJobs> read_pai_jobs(const Profile& profile) {
  auto csv = Csv::open(profile.text, profile.name, pai_layout(profile.text, kJobHeader));
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t name = columns.need("job_name"), user = columns.need("user");
  const std::size_t start = columns.need("start_time");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  PaiJobs jobs;
  for (;;) {
    const auto more = csv->next();
    if (!more) return std::unexpected(more.error());
    if (!*more) return jobs;
    if (csv->is_missing(start)) continue;  // it was never submitted, and has no task that ran
    const auto at = csv->duration(start);
    if (!at) return std::unexpected(at.error());
    if (jobs.numbers.number(csv->field(name)) != jobs.users.size()) continue;
    jobs.users.emplace_back(csv->field(user));
    jobs.submitted.push_back(kStart + *at);
  }
}

void give_submissions(Trace& trace, PaiJobs jobs) {
  std::size_t unknown = 0;
  for (TraceJob& job : trace.jobs) {
    const std::size_t number = jobs.numbers.number(job.name);
    if (number >= jobs.users.size()) {
      ++unknown;
      continue;
    }
    job.user = jobs.users[number];
    job.submit = std::min(job.submit, jobs.submitted[number]);
  }
  number_users(trace);
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submit);
  if (unknown == 0) return;
  trace.warnings.push_back(std::to_string(unknown) + " jobs are not in the table of --profiles");
}

}  // namespace

bool is_pai(std::string_view line) { return is_pai_row(line, kTaskHeader.size()); }
bool is_pai_jobs(std::string_view line) { return is_pai_row(line, kJobHeader.size()); }
bool is_pai_machines(std::string_view line) {
  return std::ranges::count(line, ',') == 4 && line.size() > 24 && line[24] == ',' &&
         line.substr(0, 24).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Expected<Trace> read_pai(const Source& source) {
  auto csv = open_table(source, pai_layout(source.text, kTaskHeader));
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const TaskColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  auto trace = read_jobs(
      *csv, source.bad_rows, [&](Row& row) { return pai_task(row, columns); }, JobNames::Again);
  if (!trace) return trace;
  join_tasks(*trace);
  if (source.profiles.empty()) {
    trace->warnings.push_back(
        "a job is submitted when its first task starts, as this table has no submissions; "
        "--profiles names the table of jobs, pai_job_table.csv, which has them, and users");
  } else {
    auto jobs = read_pai_jobs(source.profiles.front());
    if (!jobs) return std::unexpected(jobs.error());
    give_submissions(*trace, *std::move(jobs));
  }
  start_at_origin(*trace);
  return trace;
}

Expected<Cluster> read_pai_machines(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file, pai_layout(text, kMachineHeader));
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t name = columns.need("machine"), type = columns.need("gpu_type");
  const std::size_t cpu = columns.need("cap_cpu"), memory = columns.need("cap_mem");
  const std::size_t gpus = columns.need("cap_gpu");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_nodes(*csv, [&](Row& row) {
    return NodeShape{.name = row.name(name),
                     .gpus = static_cast<std::uint32_t>(row.integer(gpus, 0, kMostGpus)),
                     .vram = card_size(row.text(type)),
                     .type = std::string(row.text(type)),
                     .slots = kSlotsByShare,
                     .cpu = CpuMilli(row.integer(cpu, 0, kMostCores / 1000) * 1000),
                     .host = gibibytes(row.millionths(memory, kMostHostGiB))};
  });
}

}  // namespace berth::trace
