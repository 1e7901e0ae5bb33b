// Tables of speeds from the files of published artefacts, and from berth's own.
#pragma once

#include <string_view>

#include "core/base/error.hpp"
#include "core/knowledge/speeds.hpp"

namespace berth::trace {

/// Adds the speeds of a file, whose format is known by its beginning (doc/simulator.md): berth's
/// own CSV, Gavel's throughputs, Chronus' model_info, Lucid's pairs or its single runs,
/// ElasticFlow's throughputs, Sia's profiles, MISO's steps, the stages of Muri's traces. Gavel's
/// speeds are taken against those on `reference`, and a job type does not run on a type of GPU on
/// which its throughput is 0; where a file names no model its own name does, or that of its folder.
/// Errors: BadData naming the file and what was expected.
Expected<void> read_speeds(std::string_view text, std::string_view file, std::string_view reference,
                           Speeds& into);

class Csv;
/// Muri's: what an iteration of each model takes alone on so many GPUs, and its stages.
Expected<void> read_muri_stages(Csv& csv, Speeds& into);

}  // namespace berth::trace
