// Scripts as jobs: options in their comment lines (`#BERTH --vram 10G`, `#SBATCH --time=2:00:00`),
// and the command that runs a script which is not executable.
#pragma once

#include <string>
#include <vector>

#include "cli/job/submission.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

/// Whether a name without a slash is that of a program in this process's PATH.
bool is_in_path(const std::string& name);
/// The same of a PATH, as execvp(3) looks a word up; folders without a slash are below `below`.
bool is_in_folders(const std::string& name, const std::string& path, const std::string& below);
/// The PATH of these variables; without one, what execvp(3) takes then.
std::string path_in(const std::vector<std::string>& environment);

/// If the command is a script, fills in the options that were not typed: from its #BERTH lines,
/// then from its #SBATCH lines, then from those of PBS, LSF and Grid Engine (other_queues.hpp), of
/// two the later. Lines count up to the first that is no comment. A script of this folder is found
/// without `./`, and one that is not executable is given to the program that its first line names.
/// Returns: warnings, one for each option of another queue that is left out, one for #GFLOW lines,
/// which `berth compat gbatch` reads, one where a script for Slurm calls srun and there is none.
/// Errors: InvalidArgument as `FILE:LINE: ...`; for a whole command line in one word.
Expected<std::vector<std::string>> read_script(JobOptions& options, const Caller& caller);

/// A script that has no file, as it came through a pipe: the options as read_script() takes them,
/// and a command that has the text as one of its words. Without `#!` it is for /bin/sh. Returns:
/// warnings likewise. Errors: InvalidArgument for what is no text, is too long for a word, or is
/// for a program that takes no text as a word; as `stdin:LINE: ...`.
Expected<std::vector<std::string>> take_script(JobOptions& options, const std::string& text,
                                               const std::vector<std::string>& arguments,
                                               const Caller& caller);

struct ScriptLine {
  std::string where;  ///< `job.sh:3: `
  std::vector<std::string> words;
};
/// A script with options of gflow's in its comment lines, `#GFLOW --gpus 1` or `# GFLOW ...`.
struct GflowScript {
  std::vector<ScriptLine> lines;     ///< None: it is no script, or has none.
  std::vector<std::string> command;  ///< What runs it, with the script.
};
/// `program` is named in this process's directory. Errors: InvalidArgument as `FILE:LINE: ...`.
Expected<GflowScript> gflow_script(const std::string& program);

/// Fills in the options that are not there yet; variables come before those that are.
void fill_in(JobOptions& into, JobOptions from);

/// The options that these words are, as behind `submit`. Errors: InvalidArgument, `where` first.
Expected<JobOptions> options_of_words(std::vector<std::string> words, const std::string& where);

}  // namespace berth::cli
