// The options of other queues (sbatch, gflow, pueue, task-spooler) that people type out of habit:
// what to say here instead, and what an #SBATCH line with one of them means. One table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

/// `--gres=gpu:1` or `-Jname`: `say --gpus N and ...`; "" for an option that nobody has.
std::string hint_for(std::string_view word);

/// What an option of an #SBATCH line means here.
struct SbatchMeaning {
  std::vector<std::string> words;  ///< The same as options of `submit`; none if there are none.
  std::string left_out;            ///< Why it is left out; "" if it is not.
  bool is_refused = false;         ///< Without it the job would be another: it is not left out.
};

/// `value` is what follows the option in its line or word; "" if nothing does.
SbatchMeaning meaning_of_sbatch(std::string_view option, std::string_view value);

/// The variable by which berthd tells a job what Slurm would; a script with #SBATCH lines has it.
inline constexpr const char* kTellsSlurm = "BERTH_SLURM=1";

/// Variables, as NAME=value, in which Slurm tells a job what such an option asked for.
std::vector<std::string> told_by_slurm(std::string_view option, std::string_view value);

/// True for an #SBATCH option that stands without a value.
bool is_sbatch_flag(std::string_view option);

}  // namespace berth::cli
