// The Standard Workload Format (Feitelson): eighteen numbers to a line, -1 for what is not known,
// comments after a semicolon. Its processors are read, and written, as GPUs.
//
// Jobs without a run time or processors never ran, and are left out, as are the parts of jobs that
// ran in several.
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

enum Field : std::size_t {
  kNumber,
  kSubmit,
  kWait,
  kRunTime,
  kAllocated,
  kRequested = 7,
  kTimeLimit = 8,
  kStatus = 10,
  kUser = 11,
  kExecutable = 13,
  kPreceding = 16,
  kThink = 17,
};

Layout swf_layout() {
  return {.separator = ' ',
          .comment = ';',
          .header = {"job number", "submit time", "wait time", "run time", "allocated processors",
                     "average CPU time", "used memory", "requested processors", "requested time",
                     "requested memory", "status", "user", "group", "executable", "queue",
                     "partition", "preceding job", "think time"}};
}

constexpr std::int64_t kMost = std::int64_t{1} << 40;

bool is_known(const Row& row, std::size_t field) { return !row.text(field).starts_with('-'); }

/// A job that was swapped out has a line of its own and others, under its number, for its parts.
bool is_part_of_job(const Row& row) {
  const std::string_view status = row.text(kStatus);
  return status == "2" || status == "3" || status == "4";
}

std::optional<TraceJob> swf_job(Row& row) {
  if (is_part_of_job(row)) return row.leave_out("parts of jobs");
  if (!is_known(row, kRunTime)) return row.leave_out(kNeverRan);
  const std::size_t processors = is_known(row, kAllocated) ? kAllocated : kRequested;
  const std::int64_t gpus = row.integer(processors, -1, kMostGpus);
  if (gpus < 1 && !row.error()) return row.leave_out("jobs without processors");
  TraceJob job = whole_gpu_job(row.name(kNumber), GpuCount(gpus));
  job.submit = kStart + row.duration(kSubmit);
  job.duration = row.duration(kRunTime);
  if (row.integer(kTimeLimit, -1, kMost) > 0) job.spec.time_limit = row.duration(kTimeLimit);
  if (row.integer(kUser, -1, kMost) > 0) job.user = row.text(kUser);
  if (row.integer(kExecutable, -1, kMost) > 0) job.model = row.text(kExecutable);
  if (row.integer(kPreceding, -1, kMost) > 0) job.after.emplace_back(row.text(kPreceding));
  if (!job.after.empty() && is_known(row, kThink)) job.think = row.duration(kThink);
  return job;
}

}  // namespace

Expected<Trace> read_swf(const Source& source) {
  auto csv = open_table(source, swf_layout());
  if (!csv) return std::unexpected(csv.error());
  return read_jobs(*csv, source.bad_rows, swf_job);
}

bool is_swf(std::string_view line) {
  if (line.starts_with(';')) return true;
  auto csv = Csv::open(line, "", swf_layout());
  const auto row = csv ? csv->next() : Expected<bool>(false);
  return row && *row && csv->integer(kNumber, 0, kMost) && csv->duration(kSubmit);
}

std::string write_swf(const Trace& trace) {
  // Whole seconds, as the format has it: submissions rounded down, run times up.
  const auto whole = [](Duration time) {
    return std::to_string((time + seconds(1) - Duration(1)) / seconds(1));
  };
  std::string text =
      "; SWFversion: 2.2\n; Note: written by berth; processors are GPUs\n; MaxJobs: " +
      std::to_string(trace.jobs.size()) + "\n";
  std::size_t number = 0;
  for (const TraceJob& job : trace.jobs) {
    const std::string gpus = std::to_string(job.spec.request.gpu.count.raw());
    const Duration limit = job.spec.time_limit;
    for (const std::string& column :
         {std::to_string(++number), std::to_string((job.submit - kStart) / seconds(1)),
          std::string("-1"), whole(job.duration), gpus, std::string("-1 -1"), gpus,
          limit == kForever ? "-1" : whole(limit), std::string("-1 1"),
          job.user.empty() ? "-1" : std::to_string(job.spec.user.value())}) {
      text.append(column).push_back(' ');
    }
    text += "-1 -1 -1 -1 -1 -1\n";
  }
  return text;
}

}  // namespace berth::trace
