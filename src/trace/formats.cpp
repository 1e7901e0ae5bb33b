#include "trace/formats.hpp"

#include <algorithm>
#include <array>

#include "trace/csv.hpp"

namespace berth::trace {

namespace {

// The more peculiar first: a file is of the first format that has a mark in its header.
constexpr auto kFormats = std::to_array<Format>({
    {"berth", "berth's own: everything a job asks, and a daemon's journal as its history",
     "submit_seconds", read_native, write_native},
    {"philly", "Microsoft Philly as the Pollux and Sia authors publish it", "num_gpus",
     read_philly},
    {"muri", "Muri's jobs, times in milliseconds", "resource_time_0", read_muri},
    {"openb", "Alibaba's openb: pods that share GPUs", "gpu_milli", read_openb},
    {"elasticflow", "ElasticFlow's jobs, raw or with deadlines", "submission_time ddl",
     read_elasticflow},
    {"gavel", "Gavel's and Shockwave's jobs: steps, with --profiles THROUGHPUTS", "", read_gavel,
     nullptr, is_gavel},
    {"sia", "Pollux's and Sia's workloads, with --profiles FOLDER", "num_replicas", read_sia},
    {"chronus", "Chronus's jobs with deadlines, times in minutes", "expect_time_list",
     read_chronus},
    {"carma", "CARMA's scripts of arrivals, with --profiles FOLDER", "task_file", read_carma,
     nullptr, is_carma},
    {"swf", "the Standard Workload Format, processors as GPUs", "", read_swf, write_swf, is_swf},
    {"sacct", "what Slurm's `sacct -P` prints", "JobID JobIDRaw", read_sacct},
    {"tiresias", "the Tiresias simulator's jobs", "submit_time", read_tiresias, write_tiresias},
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
  constexpr std::string_view separators = ", \t|\r";
  const auto separates = [&](std::size_t at) {
    return at >= text.size() || separators.find(text[at]) != std::string_view::npos;
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || separates(at - 1)) && separates(at + word.size())) return true;
  }
  return false;
}

bool is_marked(std::string_view header, std::string_view marks) {
  while (!marks.empty()) {
    const std::size_t end = std::min(marks.find(' '), marks.size());
    if (has_field(header, marks.substr(0, end))) return true;
    marks.remove_prefix(std::min(end + 1, marks.size()));
  }
  return false;
}

/// The first line that is not blank.
std::string_view first_line(std::string_view text) {
  const std::size_t from = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(from, text.find('\n', from) - from);
}

/// What is wrong with a file whatever its format is.
std::optional<Error> check_first_line(std::string_view line, std::string_view file) {
  if (line.empty()) return Error{ErrorCode::BadData, std::string(file) + ": is empty"};
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

Expected<const Format*> guess_format(std::string_view text, std::string_view file) {
  const std::string_view line = first_line(text);
  if (auto wrong = check_first_line(line, file)) return std::unexpected(*std::move(wrong));
  const auto* const found = std::ranges::find_if(kFormats, [&](const Format& format) {
    return is_marked(line, format.marks) || (format.tells != nullptr && format.tells(line));
  });
  if (found != kFormats.end()) return found;
  const bool is_json = line.starts_with('[') || line.starts_with('{');
  return fail(ErrorCode::BadData,
              std::string(file) +
                  (is_json ? ":1: JSON is not read as a trace: Philly's is known as the CSV of "
                             "Pollux and Sia; valid formats: "
                           : ":1: the line is not the header of a trace format; valid formats: ") +
                  known_formats() +
                  "; a table of your own becomes berth's by the columns job, submit_seconds, "
                  "duration_seconds and gpus (doc/traces.md)");
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
  if (is_slurm_nodes(line)) return read_slurm_nodes(text, file);
  if (file.ends_with(".toml") || file.ends_with(".toml.gz")) return read_toml_cluster(text, file);
  return fail(ErrorCode::BadData,
              std::string(file) +
                  ":1: the line is not the header of a cluster file; valid formats: the "
                  "Tiresias simulator's, Philly's machine list, openb's nodes, what "
                  "`scontrol show nodes` prints, and berth's own NAME.toml");
}

}  // namespace berth::trace
