// Runs what a plan says, as commands of berth.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "lab/study/plan.hpp"
#include "lab/study/results.hpp"

namespace berth::lab {

struct StudyTools {
  std::string berth = "build/release/bin/berth";  ///< As commands name it.
  int at_once = 2;                                ///< Commands beside each other.
};

/// The results to be: every run with its commands, and no figures yet.
StudyResults planned(const StudyPlan& plan, const StudyTools& tools);

/// Takes over what `earlier` has of runs with the same commands, but for runs of these ways.
void keep(StudyResults& results, const StudyResults& earlier, const std::vector<std::string>& but);

/// Makes the traces, then runs the commands that have no figures yet and fills them in; says on
/// standard output how far it is. A run that fails has an error and no figures. Returns: the number
/// of these. Errors: of a command that makes a trace.
Expected<std::size_t> run_study(StudyResults& results, const StudyTools& tools);

/// Runs one command and fills in its figures or its error.
void run_one(StudyRun& run);

/// What a command writes to its standard output. Errors: Io with the last line of its standard
/// error, if it does not end with 0.
Expected<std::string> output_of(const std::string& command);

}  // namespace berth::lab
