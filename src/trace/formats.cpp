#include "trace/formats.hpp"

#include <algorithm>
#include <array>

#include "core/text/text.hpp"
#include "trace/csv.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::string_view kHeliosNeeds =
    "job_id, gpu_num, state, submit_time, start_time, end_time";

// The more peculiar first: a file is of the first format that has a mark in its header.
constexpr auto kFormats = std::to_array<Format>({
    {"berth", "berth's own: everything a job asks, and a daemon's journal as its history",
     "submit_seconds", "job, submit_seconds, duration_seconds, gpus", read_native, write_native,
     nullptr, Clock::Calendar},
    {"philly", "Microsoft Philly: its JSON, or the CSV of the Pollux and Sia authors", "num_gpus",
     "timestamp, duration, num_gpus", read_philly, nullptr, is_philly_json, Clock::Calendar},
    {"muri", "Muri's jobs, times in milliseconds", "resource_time_0",
     "job_id, num_gpu, submit_time, duration", read_muri},
    {"openb", "Alibaba's openb: pods that share GPUs", "gpu_milli",
     "name, cpu_milli, memory_mib, num_gpu, gpu_milli", read_openb},
    {"elasticflow", "ElasticFlow's jobs, raw or with deadlines", "submission_time ddl",
     "job_id, num_gpu, submission_time, duration", read_elasticflow},
    {"gavel", "Gavel's and Shockwave's jobs: steps, with --profiles THROUGHPUTS", "", "",
     read_gavel, nullptr, is_gavel},
    {"sia", "Pollux's and Sia's workloads, with --profiles FOLDER", "num_replicas",
     "name, time, application, num_replicas, batch_size", read_sia},
    {"chronus", "Chronus's jobs with deadlines, times in minutes", "expect_time_list",
     "job_id, num_gpu, submit_time, duration, expect_time_list, best_effort", read_chronus},
    {"carma", "CARMA's scripts of arrivals, with --profiles FOLDER", "task_file",
     "task, submit_s, task_file", read_carma, nullptr, is_carma},
    {"swf", "the Standard Workload Format, processors as GPUs", "", "", read_swf, write_swf,
     is_swf},
    {"sacct", "what Slurm's `sacct -P` prints", "JobID JobIDRaw",
     "JobID, Submit, ElapsedRaw, AllocTRES", read_sacct, nullptr, nullptr, Clock::Calendar},
    {"pai", "Alibaba PAI 2020: pai_task_table.csv, with --profiles pai_job_table.csv", "plan_gpu",
     "job_name, task_name, inst_num, status, start_time, end_time, plan_gpu", read_pai, nullptr,
     is_pai},
    {"spot", "Alibaba's jobs with spot GPUs, 2026: job_info_df.csv", "worker_num",
     "job_name, gpu_request, worker_num, submit_time, duration, job_type", read_spot},
    {"acme", "the Acme clusters of the Shanghai AI Laboratory", "gpu_time mem_per_pod_GB",
     kHeliosNeeds, read_helios, nullptr, nullptr, Clock::Calendar},
    {"helios", "SenseTime's Helios clusters: cluster_log.csv", "gpu_num", kHeliosNeeds, read_helios,
     nullptr, nullptr, Clock::Calendar},
    {"tiresias", "the Tiresias simulator's jobs", "submit_time",
     "job_id, num_gpu, submit_time, duration", read_tiresias, write_tiresias},
});

/// A published table that has no jobs to replay, by columns that it has.
struct OtherTable {
  std::string_view marks;  ///< All of them, with blanks between.
  std::string_view what;
};
constexpr std::string_view kPaiJobs =
    "PAI's table of jobs, which has no GPUs; the jobs are read from pai_task_table.csv, with this "
    "file as --profiles";
constexpr auto kOtherTables = std::to_array<OtherTable>({
    {"gpu_type_spec workload", "PAI's table of groups; the jobs are read from pai_task_table.csv"},
    {"gpu_wrk_util worker_name",
     "PAI's table of sensors; the jobs are read from pai_task_table.csv"},
    {"machine_gpu worker_name",
     "PAI's metrics of machines; the jobs are read from pai_task_table.csv"},
    {"inst_name worker_name",
     "PAI's table of instances; the jobs are read from pai_task_table.csv"},
    {"job_name inst_id", kPaiJobs},
    {"machine cap_gpu", "PAI's list of machines; it is given as --cluster"},
    {"node_name gpu_capacity_num",
     "the nodes of Alibaba's trace of spot jobs; it is given as --cluster"},
    {"machineId gpu0_util", "Philly's use of GPUs; the jobs are read from cluster_job_log"},
    {"machine_id mem_total", "Philly's use of memory; the jobs are read from cluster_job_log"},
    {"machine_id cpu_util", "Philly's use of cores; the jobs are read from cluster_job_log"},
    {"machineId", "Philly's list of machines; it is given as --cluster"},
    {"num_switch num_gpu_p_node", "a cluster of the Tiresias simulator; it is given as --cluster"},
    {"sn cpu_milli", "openb's list of nodes; it is given as --cluster"},
    {"running_gpujob_num", "a sequence of counts of Helios; its jobs are in cluster_log.csv"},
    {"submit_gpu_job", "a sequence of counts of Helios; its jobs are in cluster_log.csv"},
    {"model1 model2 gmem", "Lucid's pairs of programs on one GPU, which are not read"},
    {"avg_que_time_gpu", "a summary of Helios; its jobs are in cluster_log.csv"},
    {"DSW PSW", "the network of Alibaba's Lingjun, whose jobs are not read"},
    {"instance_sn app_name", "Alibaba's inference instances of 2025, which are not read"},
});

std::string known_formats() {
  std::string names;
  for (const Format& format : kFormats) {
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return names;
}

/// True if `word` stands alone in `text`, between characters that separate fields.
bool has_field(std::string_view text, std::string_view word) {
  const bool is_json = text.starts_with('{') || text.starts_with('[');
  const std::string_view separators = is_json ? ", \t|\r" : ",; \t|\r\"";
  const auto separates = [&](std::size_t at) {
    return at >= text.size() || separators.find(text[at]) != std::string_view::npos;
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || separates(at - 1)) && separates(at + word.size())) return true;
  }
  return false;
}

/// The first of these marks that the header has; "": it has none.
std::string_view mark_in(std::string_view header, std::string_view marks) {
  while (!marks.empty()) {
    const std::size_t end = std::min(marks.find(' '), marks.size());
    if (has_field(header, marks.substr(0, end))) return marks.substr(0, end);
    marks.remove_prefix(std::min(end + 1, marks.size()));
  }
  return {};
}

bool has_all(std::string_view header, std::string_view marks) {
  const auto words = names_between(marks, ' ');
  return std::ranges::all_of(words,
                             [&](const std::string& word) { return has_field(header, word); });
}

/// berth's columns that a table must have, and what others call them.
struct Synonyms {
  std::string_view known;
  std::string_view others;
};
constexpr auto kSynonyms = std::to_array<Synonyms>({
    {"job", "job_id id jobid JobID job_name name"},
    {"submit_seconds",
     "submit_time submitted submitted_at submit created created_at submission_time arrival "
     "arrival_time queued_at timestamp time"},
    {"duration_seconds",
     "duration run_time runtime elapsed took seconds duration_s run_seconds wall_time walltime"},
    {"gpus", "num_gpus num_gpu gpu_num ngpus n_gpus gpu_count gpu gpu_request GPUs"},
});

/// `GPU memory (GB)` as `gpu_memory_gb`.
std::string tight_name(std::string_view name) {
  std::string tight;
  for (const char c : name) {
    const bool is_kept = is_letter(c) || is_digit(c);
    if (is_kept) tight += lowered(c);
    if (!is_kept && !tight.empty() && tight.back() != '_') tight += '_';
  }
  while (tight.ends_with('_')) tight.pop_back();
  return tight;
}

/// The first column with a name of these; "" for none.
std::string_view column_like(std::span<const std::string_view> header, std::string_view names) {
  for (const std::string& name : names_between(names, ' ')) {
    const auto found = std::ranges::find_if(
        header, [&](std::string_view column) { return tight_name(column) == tight_name(name); });
    if (found != header.end()) return *found;
  }
  return {};
}

/// Instead of a run time that no column seems to have.
std::string start_and_end(std::span<const std::string_view> header) {
  const auto start = column_like(header, "start start_time started started_at begin began");
  const auto end = column_like(header, "end end_time ended ended_at finished finish_time done");
  if (start.empty() || end.empty()) return "";
  return "start_seconds=" + std::string(start) + ",end_seconds=" + std::string(end);
}

/// `--columns job=id,submit_seconds=created,gpus=COLUMN`: what a header seems to have for berth's
/// columns.
std::string suggested_columns(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  const auto csv = Csv::open(text, "");
  const std::span<const std::string_view> header =
      csv ? csv->header() : std::span<const std::string_view>();
  std::string columns;
  for (const Synonyms& each : kSynonyms) {
    const std::string_view found = column_like(header, each.others);
    const bool may_end = found.empty() && each.known == "duration_seconds";
    const std::string instead = may_end ? start_and_end(header) : "";
    columns += columns.empty() ? "" : ",";
    columns += !instead.empty() ? instead
                                : std::string(each.known) + "=" +
                                      std::string(found.empty() ? "COLUMN" : shown(found));
  }
  const bool needs_quotes = columns.find_first_of(" ()&;'") != columns.npos;
  return "--columns " + (needs_quotes ? "'" + columns + "'" : columns);
}

/// The first line that is not blank.
std::string_view first_line(std::string_view text) {
  text = without_preface(text);
  const std::size_t from = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(from, text.find('\n', from) - from);
}

/// What is wrong with a file whatever its format is.
std::optional<Error> check_first_line(std::string_view line, std::string_view file) {
  if (line.empty()) return Error{ErrorCode::BadData, std::string(file) + ": is empty"};
  if (const auto why = why_no_text(line); !why.empty()) {
    return Error{ErrorCode::BadData, std::string(file) + ": " + std::string(why)};
  }
  if (!has_lone_return(line)) return std::nullopt;
  return Error{ErrorCode::BadData, std::string(file) + ":1: " + std::string(kLoneReturn)};
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

Expected<const Format*> find_format(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &Format::name);
  if (found != kFormats.end()) return found;
  return fail(ErrorCode::NotFound, "trace format '" + std::string(name) +
                                       "' is unknown; valid names: " + known_formats());
}

namespace {

/// What a first line of a table without jobs to replay is of; "": of none that is known.
std::string_view known_otherwise(std::string_view line) {
  for (const OtherTable& table : kOtherTables) {
    if (has_all(line, table.marks)) return table.what;
  }
  if (is_helios_gpus(line)) {
    return "Helios's GPUs by day and virtual cluster; it is given as --cluster";
  }
  if (is_slurm_nodes(line)) return "what Slurm prints of its nodes; it is given as --cluster";
  if (is_pai_machines(line)) return "PAI's list of machines; it is given as --cluster";
  if (is_pai_jobs(line)) return kPaiJobs;
  return {};
}

std::string why_unknown(std::string_view line) {
  if (line.starts_with('{')) {
    return "JSON is read as Philly's cluster_job_log only, which is an array of jobs";
  }
  return "the line is not the header of a trace format; valid formats: " + known_formats() +
         "; a table of your own is read with " + suggested_columns(line) +
         ", where COLUMN is the file's name for it (doc/traces.md)";
}

}  // namespace

Expected<const Format*> guess_format(std::string_view text, std::string_view file) {
  const std::string_view line = first_line(text);
  if (auto wrong = check_first_line(line, file)) return std::unexpected(*std::move(wrong));
  if (const std::string_view what = known_otherwise(line); !what.empty()) {
    return fail(ErrorCode::BadData, std::string(file) + ":1: this is " + std::string(what));
  }
  const auto* const found = std::ranges::find_if(kFormats, [&](const Format& format) {
    return !mark_in(line, format.marks).empty() || (format.tells != nullptr && format.tells(line));
  });
  if (found != kFormats.end()) return found;
  return fail(ErrorCode::BadData, std::string(file) + ":1: " + why_unknown(line));
}

std::string why_taken(const Format& format, std::string_view text) {
  const std::string_view line = first_line(text);
  const std::string mark(mark_in(line, format.marks));
  return "its first line is taken for one of the format " + std::string(format.name) +
         (mark.empty() ? "" : " by the column '" + mark + "'") + ", which needs " +
         std::string(format.needs) +
         "; --format names another, and a table of your own is read with " +
         suggested_columns(line);
}

Expected<Trace> read(std::string_view format, std::string_view text, std::string_view file) {
  const auto known = find_format(format);
  if (!known) return std::unexpected(known.error());
  return (*known)->read({.text = text, .file = file});
}

Expected<Cluster> read_cluster(std::string_view text, std::string_view file) {
  const std::string_view line = first_line(text);
  if (auto wrong = check_first_line(line, file)) return std::unexpected(*std::move(wrong));
  if (has_field(line, "num_switch")) return read_tiresias_cluster(text, file);
  if (has_field(line, "machineId")) return read_philly_machines(text, file);
  if (has_field(line, "cpu_milli")) return read_openb_nodes(text, file);
  if (has_field(line, "cap_gpu") || is_pai_machines(line)) return read_pai_machines(text, file);
  if (is_helios_gpus(line)) return read_helios_gpus(text, file);
  if (has_field(line, "gpu_capacity_num")) return read_spot_nodes(text, file);
  if (is_slurm_nodes(line)) return read_slurm_nodes(text, file);
  if (file.ends_with(".toml") || file.ends_with(".toml.gz")) return read_toml_cluster(text, file);
  if (const auto trace = guess_format(text, file)) {
    return fail(ErrorCode::BadData, std::string(file) + ":1: this is a trace of the format " +
                                        std::string((*trace)->name) + "; it is given as --trace");
  }
  return fail(
      ErrorCode::BadData,
      std::string(file) +
          ":1: the line is not the header of a cluster file; valid formats: the "
          "Tiresias simulator's, Philly's and PAI's machine lists, openb's and spot nodes, what "
          "`scontrol show nodes` prints, and berth's own NAME.toml");
}

}  // namespace berth::trace
