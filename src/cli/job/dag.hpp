// `submit --file`: several jobs that wait for each other, in one TOML file.
//
//   [jobs.prepare]
//   command = "python prepare.py"        # by bash -c; or a list of words
//   gpus = 0
//   [jobs.train]
//   command = ["python", "train.py"]
//   vram = "10G"                         # the options of submit, without --
//   after = ["prepare"]                  # names of this file, or job numbers
//   [defaults]                           # options of every job that does not say
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/job/submission.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

/// The ends of these jobs for which a job waits.
struct DagAfter {
  std::string option;              ///< `after-ok`.
  std::vector<std::string> names;  ///< Of jobs of the file, or numbers.
};

struct DagJob {
  std::string name;
  std::string where;  ///< `FILE:LINE:COLUMN`
  JobOptions options;
  std::vector<DagAfter> after;
};

/// The jobs of a file, each behind those that it waits for; equals as the file has them. Errors:
/// BadData or InvalidArgument as `FILE:LINE:COLUMN: ...`, also for jobs that wait for each other.
Expected<std::vector<DagJob>> read_dag(std::string_view text, const std::string& file);

}  // namespace berth::cli
