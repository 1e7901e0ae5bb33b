// The one list of trace formats: their names, how each is recognised, read and written.
//
// doc/traces.md has the columns, units and peculiarities of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "trace/csv.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

/// What to do with a row that breaks the format.
enum class BadRows : std::uint8_t {
  Refuse,  ///< The trace is not read; the error names the row.
  Skip,    ///< It is counted (Trace::skipped).
};

/// A file that a trace needs beside itself.
struct Profile {
  std::string name;  ///< Below the folder that was named: `cifar10/scalability.csv`.
  std::string text;
};

struct Source {
  std::string_view text;
  std::string_view file;  ///< For messages.
  BadRows bad_rows = BadRows::Refuse;
  std::span<const Profile> profiles = {};
  std::string_view profile_type = {};  ///< The GPU type whose profile counts; "" for the usual one.
  std::span<const ColumnName> columns = {};  ///< Whose names in the file are others.
  std::string_view time_format = {};         ///< Of calendar times, for strptime(); "": the usual.
};

using Reader = Expected<Trace> (*)(const Source&);
using Writer = std::string (*)(const Trace&);

/// How the times of a format are written.
enum class Clock : std::uint8_t { Number, Calendar };

struct Format {
  std::string_view name;
  std::string_view what;   ///< One line for people.
  std::string_view marks;  ///< Columns only it has, any of them, with blanks between.
  std::string_view needs;  ///< The columns that it must have, in words; "": it has no header.
  Reader read = nullptr;
  Writer write = nullptr;                          ///< None: berth only reads it.
  bool (*tells)(std::string_view line) = nullptr;  ///< By the first line, without a header.
  Clock clock = Clock::Number;
};

std::span<const Format> formats();
/// Errors: NotFound naming those there are.
Expected<const Format*> find_format(std::string_view name);
/// By the first line. Errors: BadData naming the file; of a table that is none of jobs but is
/// known, what it is and which to give.
Expected<const Format*> guess_format(std::string_view text, std::string_view file);
/// `taken for one of the format tiresias by its column 'submit_time'`, and what that would read.
std::string why_taken(const Format& format, std::string_view text);

// Each reads what its name says, as doc/traces.md has it. Errors: BadData naming file, line,
// column, value and what was expected.
Expected<Trace> read_tiresias(const Source& source);
Expected<Trace> read_philly(const Source& source);
/// Of Microsoft's own JSON.
Expected<Trace> read_philly_json(const Source& source);
Expected<Trace> read_muri(const Source& source);
Expected<Trace> read_openb(const Source& source);
Expected<Trace> read_elasticflow(const Source& source);
Expected<Trace> read_gavel(const Source& source);
Expected<Trace> read_sia(const Source& source);
Expected<Trace> read_chronus(const Source& source);
Expected<Trace> read_carma(const Source& source);
Expected<Trace> read_swf(const Source& source);
Expected<Trace> read_sacct(const Source& source);
Expected<Trace> read_helios(const Source& source);
Expected<Trace> read_pai(const Source& source);
Expected<Trace> read_spot(const Source& source);
Expected<Trace> read_native(const Source& source);

std::string write_tiresias(const Trace& trace);
std::string write_swf(const Trace& trace);
std::string write_native(const Trace& trace);

bool is_carma(std::string_view line);
bool is_gavel(std::string_view line);
bool is_pai(std::string_view line);
bool is_pai_jobs(std::string_view line);
bool is_philly_json(std::string_view line);
bool is_swf(std::string_view line);

/// Reads a cluster file, whose format is known by its first line: the Tiresias simulator's,
/// Philly's machines, openb's nodes, what `scontrol show nodes` prints; or by its name, berth's own
/// in TOML. Errors: BadData naming file, line, column and value.
Expected<Cluster> read_cluster(std::string_view text, std::string_view file);
/// Philly's list of machines: machineId, number of GPUs, and where the list has it their memory.
Expected<Cluster> read_philly_machines(std::string_view text, std::string_view file);
/// openb's list of nodes, with host cores and memory, GPU types, and slots that never bind.
Expected<Cluster> read_openb_nodes(std::string_view text, std::string_view file);

/// Alibaba PAI's machines, with the names of the columns or, as published, without.
Expected<Cluster> read_pai_machines(std::string_view text, std::string_view file);
bool is_pai_machines(std::string_view line);
/// Helios's GPUs by day and virtual cluster: nodes of eight, as many as on the day with most.
Expected<Cluster> read_helios_gpus(std::string_view text, std::string_view file);
bool is_helios_gpus(std::string_view text);
/// The nodes of Alibaba's trace of spot jobs.
Expected<Cluster> read_spot_nodes(std::string_view text, std::string_view file);

/// What `scontrol show nodes` prints, with or without --oneliner.
Expected<Cluster> read_slurm_nodes(std::string_view text, std::string_view file);
bool is_slurm_nodes(std::string_view line);
/// berth's own, in TOML: doc/traces.md has the keys.
Expected<Cluster> read_toml_cluster(std::string_view text, std::string_view file);

}  // namespace berth::trace
