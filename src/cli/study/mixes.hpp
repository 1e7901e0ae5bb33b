// The mixes of doc/scenarios.md on the command line: which there are, and traces drawn from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/print/verbs.hpp"
#include "core/base/error.hpp"
#include "trace/trace.hpp"

namespace berth::cli {

/// The files that define mixes; "": those in the program.
struct MixFiles {
  std::string mixes;
  std::string workloads;
};

struct MixArguments {
  std::string name;
  MixFiles files;
  std::string cluster;               ///< As for `berth sim`; "": four nodes of 8 GPUs of 80 GB.
  std::vector<std::string> changes;  ///< KEY=VALUE.
};

void add_mix_options(CLI::App& verb, MixArguments& arguments);
/// The options of add_mix_options() that were given, for an error; "" if none was.
std::string given_mix_options(const MixArguments& arguments);

/// Says on standard output what was drawn and how to replay it, on standard error how many of the
/// jobs can never start on the cluster. Errors: of reading the files; NotFound for an unknown mix,
/// which lists the others.
Expected<trace::Trace> draw_named_mix(const MixArguments& arguments, std::int64_t jobs,
                                      std::uint64_t seed);

/// `berth trace mixes`.
void add_mixes(CLI::App& verb, Action& chosen);

}  // namespace berth::cli
