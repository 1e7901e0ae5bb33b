#include "cli/study/trace_input.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>

#include "cli/print/amounts.hpp"
#include "cli/print/files.hpp"
#include "cli/print/verbs.hpp"
#include "cli/study/history.hpp"
#include "core/text/counted.hpp"
#include "trace/gzip.hpp"
#include "trace/vram.hpp"

namespace berth::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProfiles = 1000;

std::string known_formats() {
  std::string known;
  for (const trace::Format& format : trace::formats()) {
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  return known;
}

/// Its name without the ending of what is packed.
std::string unpacked_name(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name;
}

/// The files of a folder and of the folders in it, by name.
Expected<std::vector<fs::path>> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at.depth() > 0) at.disable_recursion_pending();
    if (at->is_regular_file(error)) files.push_back(at->path());
    if (files.size() > kMostProfiles) {
      return fail(ErrorCode::InvalidArgument,
                  folder + ": more than " + std::to_string(kMostProfiles) + " files");
    }
  }
  if (error) return fail(ErrorCode::Io, folder + ": " + error.message());
  std::ranges::sort(files);
  return files;
}

/// One file, or those of a folder that are tables.
Expected<std::vector<fs::path>> profiles_at(const std::string& path) {
  if (path.empty()) return {};
  if (std::error_code error; !fs::is_directory(path, error)) return std::vector<fs::path>{path};
  auto files = files_in(path);
  if (!files || files->size() < 2) return files;
  std::erase_if(*files, [](const fs::path& file) {
    const std::string name = unpacked_name(file.string());
    return !name.ends_with(".csv") && !name.ends_with(".rad");
  });
  return files;
}

Expected<std::vector<trace::Profile>> read_profiles(const std::string& path) {
  const auto files = profiles_at(path);
  if (!files) return std::unexpected(files.error());
  std::error_code error;
  const fs::path above =
      fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  std::vector<trace::Profile> profiles;
  for (const fs::path& file : *files) {
    auto text = read_text(file.string());
    if (!text) return std::unexpected(text.error());
    profiles.push_back({unpacked_name(file.lexically_relative(above).string()), std::move(*text)});
  }
  return profiles;
}

/// `job=id` as the column that the format knows and the file's name for it.
Expected<std::vector<trace::ColumnName>> columns_of(const std::vector<std::string>& words) {
  std::vector<trace::ColumnName> columns;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      return fail(ErrorCode::InvalidArgument,
                  "--columns: '" + trace::shown(word) +
                      "' is not NAME=COLUMN, as in job=id,submit_seconds=created,gpus=ngpus");
    }
    const std::string known = word.substr(0, equals);
    if (std::ranges::find(columns, known, &trace::ColumnName::known) != columns.end()) {
      return fail(ErrorCode::InvalidArgument,
                  "--columns: names '" + trace::shown(known) + "' twice");
    }
    columns.push_back({known, word.substr(equals + 1)});
  }
  return columns;
}

/// Columns that have names of their own are those of a table of one's own, in berth's format.
Expected<const trace::Format*> format_of(std::string_view text, const std::string& path,
                                         const TraceArguments& arguments) {
  if (!arguments.format.empty()) return trace::find_format(arguments.format);
  if (!arguments.columns.empty()) return trace::find_format("berth");
  return trace::guess_format(text, path);
}

Expected<void> check_time_format(const trace::Format& format, const std::string& time_format) {
  if (time_format.empty() || format.clock == trace::Clock::Calendar) return {};
  std::string known;
  for (const trace::Format& each : trace::formats()) {
    if (each.clock == trace::Clock::Calendar)
      known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  return fail(ErrorCode::InvalidArgument, "--time-format: times in the format " +
                                              std::string(format.name) +
                                              " are numbers; it goes with: " + known);
}

Expected<TraceInput> read_file_of_jobs(const std::string& path, const TraceArguments& arguments) {
  const auto columns = columns_of(arguments.columns);
  if (!columns) return std::unexpected(columns.error());
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  const auto format = format_of(*text, path, arguments);
  if (!format) return std::unexpected(format.error());
  if (auto fine = check_time_format(**format, arguments.time_format); !fine) {
    return std::unexpected(fine.error());
  }
  const auto profiles = read_profiles(arguments.profiles);
  if (!profiles) return std::unexpected(profiles.error());
  auto trace = (*format)->read(
      {.text = *text,
       .file = path,
       .bad_rows = arguments.lenient ? trace::BadRows::Skip : trace::BadRows::Refuse,
       .profiles = *profiles,
       .profile_type = arguments.profile_type,
       .columns = *columns,
       .time_format = arguments.time_format});
  if (trace) return TraceInput{std::move(*trace), std::string((*format)->name)};
  Error error = trace.error();
  const bool is_guess = arguments.format.empty() && arguments.columns.empty();
  if (is_guess && error.message.contains(": no column '")) {
    error.message += "; " + trace::why_taken(**format, *text);
  }
  return std::unexpected(std::move(error));
}

Expected<TraceInput> read_jobs(const std::string& path, const TraceArguments& arguments) {
  if (path == "-") return read_file_of_jobs("/dev/stdin", arguments);
  if (!is_journal(path)) return read_file_of_jobs(path, arguments);
  if (!arguments.format.empty() && arguments.format != "berth") {
    return fail(ErrorCode::InvalidArgument,
                path + ": is a journal of berthd, its format is berth, not " + arguments.format);
  }
  auto history = read_history(path);
  if (!history) return std::unexpected(history.error());
  return TraceInput{std::move(*history), "berth"};
}

/// A trace with nothing in it to replay is a wrong file, or the wrong format for it.
Expected<void> check_has_jobs(const std::string& path, const trace::Trace& trace) {
  if (!trace.jobs.empty()) return {};
  std::string rows;
  for (const trace::LeftOut& left_out : trace.left_out_by) {
    rows += (rows.empty() ? "left out " : ", ") + number_of_things(left_out.rows, left_out.what);
  }
  if (trace.skipped > 0) {
    rows += (rows.empty() ? "" : ", ") + std::string("skipped ") +
            number_of_things(trace.skipped, "bad ones") + "; the first: " + trace.first_skipped;
  }
  return fail(ErrorCode::BadData, path + ": no jobs" + (rows.empty() ? "" : ": " + rows));
}

void tell_what_is_missing(const std::string& path, const trace::Trace& trace) {
  for (const std::string& warning : trace.warnings) {
    std::fprintf(stderr, "berth: %s: %s\n", path.c_str(), warning.c_str());
  }
  for (const trace::LeftOut& left_out : trace.left_out_by) {
    std::fprintf(stderr, "berth: %s: left out %s\n", path.c_str(),
                 number_of_things(left_out.rows, left_out.what).c_str());
  }
  if (trace.skipped > 0) {
    std::fprintf(stderr, "berth: %s: skipped %s; the first: %s\n", path.c_str(),
                 number_of_things(trace.skipped, "bad rows").c_str(), trace.first_skipped.c_str());
  }
}

Expected<trace::VramModel> vram_model_of(const std::string& text) {
  if (text.find(':') != std::string::npos) return trace::VramModel::parse(text);
  const auto file = read_text(text);
  if (!file) return std::unexpected(file.error());
  return trace::VramModel::read(*file, text);
}

}  // namespace

void add_trace_options(CLI::App& verb, TraceArguments& arguments) {
  verb.add_option(
      "--format,--trace-format", arguments.format,
      "The trace's format, if its first line does not show it: " + known_formats() + ".");
  verb.add_option(
          "--columns", arguments.columns,
          "Columns of a table of your own: NAME=COLUMN for each of berth's columns, or those "
          "of --format, whose name in the file is another, as in "
          "job=id,submit_seconds=created,duration_seconds=took,gpus=ngpus.")
      ->delimiter(',')
      ->transform(tight_list);
  verb.add_option("--time-format", arguments.time_format,
                  "How a table writes calendar times, for strptime: %d.%m.%Y %H:%M; %s counts "
                  "seconds from 1970. By default 2024-03-01 12:00:00, also with T, a fraction or a "
                  "zone.");
  verb.add_flag("--lenient", arguments.lenient, "Skip bad rows and print how many.");
  verb.add_option("--vram-model", arguments.vram_model,
                  "GPU memory of jobs that state none: uniform:2G-20G, or a CSV of quantiles; "
                  "by default they get whole GPUs.");
  verb.add_option("--profiles", arguments.profiles,
                  "Run times for traces without them: Gavel's throughput file, or the "
                  "folder of Sia's or CARMA's tables; for pai its table of jobs.");
  verb.add_option("--profile-type", arguments.profile_type,
                  "The GPU type in the profiles; v100 for gavel, aws (T4) for sia.");
}

std::vector<NamedFile> inputs_of(const std::string& path, const TraceArguments& arguments) {
  std::vector<NamedFile> inputs = {{"the trace", path}, {"--vram-model", arguments.vram_model}};
  const auto profiles = profiles_at(arguments.profiles);
  if (!profiles) return inputs;  // as reading them will say
  for (const fs::path& file : *profiles) inputs.push_back({"of --profiles", file.string()});
  return inputs;
}

Expected<TraceInput> read_trace_file(const std::string& path, const TraceArguments& arguments) {
  auto input = read_jobs(path, arguments);
  if (!input) return input;
  if (auto any = check_has_jobs(path, input->trace); !any) return std::unexpected(any.error());
  tell_what_is_missing(path, input->trace);
  return input;
}

Expected<void> draw_vram(trace::Trace& trace, const TraceArguments& arguments, std::uint64_t seed) {
  if (arguments.vram_model.empty()) return {};
  const auto model = vram_model_of(arguments.vram_model);
  if (!model) return std::unexpected(model.error());
  trace::draw_vram(trace, *model, seed);
  return {};
}

Expected<TraceInput> read_trace(const std::string& path, const TraceArguments& arguments,
                                std::uint64_t seed) {
  auto input = read_trace_file(path, arguments);
  if (!input) return input;
  if (auto done = draw_vram(input->trace, arguments, seed); !done) {
    return std::unexpected(done.error());
  }
  return input;
}

namespace {

/// `4x8x80` has 80 GPUs on each node, and is most often 4x8x80G without its unit.
void warn_of_large_nodes(const std::string& text, const Cluster& cluster) {
  constexpr std::size_t kLikely = 16;
  const std::size_t last = text.rfind('x');
  const bool has_three = last != text.npos && text.find('x') != last;
  const bool has_unit = text.back() < '0' || text.back() > '9';
  if (!has_three || has_unit || cluster.largest_node() <= kLikely) return;
  report_failure("--cluster " + text + " is " + std::to_string(cluster.gpus().size()) + " GPUs, " +
                 text.substr(last + 1) + " on each node; " + text + "G is " + text.substr(0, last) +
                 " GPUs of " + text.substr(last + 1) + " GiB");
}

/// Helios's list counts GPUs, and the nodes are a guess.
void tell_of_guessed_nodes(const std::string& path, const Cluster& cluster) {
  report_failure("--cluster " + path + ": read as " + std::to_string(cluster.nodes().size()) +
                 " nodes of 8 GPUs, the most of a day; it does not say what a node has");
}

}  // namespace

Expected<Cluster> read_cluster(const std::string& text) {
  if (trace::is_shape(text)) {
    auto cluster = trace::parse_cluster(text);
    if (cluster) warn_of_large_nodes(text, *cluster);
    return cluster;
  }
  const auto file = read_text(text);
  if (file) {
    auto cluster = trace::read_cluster(*file, text);
    if (cluster && trace::is_helios_gpus(*file)) tell_of_guessed_nodes(text, *cluster);
    return cluster;
  }
  Error error = file.error();
  error.message += "; a cluster is such a file, or NODESxGPUS as 4x8, or 4x8x80G with their memory";
  return std::unexpected(std::move(error));
}

Expected<std::string> read_text(const std::string& path) {
  try {
    auto bytes = read_file(path, trace::kMostText);
    if (!bytes) return bytes;
    return trace::unpacked(std::move(*bytes), path);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::BadData, path + ": there is not enough memory for its text");
  }
}

}  // namespace berth::cli
