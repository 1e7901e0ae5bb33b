// The study as verbs of berth-eval.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace berth::lab {

struct StudyOptions {
  std::string size = "quick";
  std::string plan = "lab/study/study.toml";
  std::string text = "lab/study/evaluation.md.in";
  std::string folder = "build/eval";  ///< Gets evaluation.json, .md and .html, and evaluation/.
  std::string live;                   ///< live.json of `berth-eval all`; "": there is none.
  std::string shared;                 ///< Folder with public traces; "": there are none.
  std::vector<std::string> only;      ///< Run again; what evaluation.json has of others is kept.
  int at_once = 2;
};

void add_study_options(CLI::App& verb, StudyOptions& options);

/// Runs the plan, then writes all files. Returns: 0 if all runs have figures and the
/// guarantee lost no job by admission.
int run_study(const StudyOptions& options);

/// Writes the other files from evaluation.json, both of the folder.
int write_report(const StudyOptions& options);

}  // namespace berth::lab
