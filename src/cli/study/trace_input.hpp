// Traces and clusters that verbs name: files, gzipped or plain, and a daemon's journal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/print/files.hpp"
#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "trace/formats.hpp"
#include "trace/trace.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

/// How a trace is read, whatever it is read for.
struct TraceArguments {
  std::string format;  ///< "": by the first line.
  std::string vram_model;
  std::string profiles;
  std::string profile_type;
  std::vector<std::string> columns;  ///< NAME=COLUMN, of a table whose names are others.
  std::string time_format;           ///< For strptime(); "": the format's own.
  bool lenient = false;
};

void add_trace_options(CLI::App& verb, TraceArguments& arguments);

/// A trace that was read, and how.
struct TraceInput {
  trace::Trace trace;
  std::string format;
};

/// The files that are read for it, of those that can be told before; for check_apart().
std::vector<NamedFile> inputs_of(const std::string& path, const TraceArguments& arguments);

/// Prints skipped bad rows on standard error; draws nothing. Errors: of reading each
/// file, naming it; BadData for a trace without jobs.
Expected<TraceInput> read_trace_file(const std::string& path, const TraceArguments& arguments);

/// Gives memory to jobs that state none, if there is a model of it. Errors: of reading that.
Expected<void> draw_vram(trace::Trace& trace, const TraceArguments& arguments, std::uint64_t seed);

/// Both, with `seed` for what is drawn.
Expected<TraceInput> read_trace(const std::string& path, const TraceArguments& arguments,
                                std::uint64_t seed);

/// `NxG`, `SxNxG`, or else the name of a cluster file. Errors: of the text, or of reading the file.
Expected<Cluster> read_cluster(const std::string& text);

/// A file's text, packed or plain. Errors: Io or BadData naming the file.
Expected<std::string> read_text(const std::string& path);

}  // namespace berth::cli
