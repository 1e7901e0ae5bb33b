#include "lab/study/study.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/evaluation.hpp"
#include "lab/machine.hpp"
#include "lab/report.hpp"
#include "lab/study/document.hpp"
#include "lab/study/page.hpp"
#include "lab/study/runner.hpp"
#include "report/chart.hpp"

namespace berth::lab {

namespace {

Expected<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (file && !text.fail()) return text.str();
  return fail(ErrorCode::Io, path + ": cannot be read");
}

Expected<void> write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (file.flush()) return {};
  return fail(ErrorCode::Io, path + ": cannot be written");
}

Expected<StudyJson> json_in(const std::string& path) {
  const auto text = text_of(path);
  if (!text) return std::unexpected(text.error());
  StudyJson json = StudyJson::parse(*text, nullptr, false);
  if (json.is_object()) return json;
  return fail(ErrorCode::BadData, path + ": is no JSON object");
}

Expected<StudyPlan> plan_of(const StudyOptions& options, const std::string& size) {
  const auto text = text_of(options.plan);
  if (!text) return std::unexpected(text.error());
  return read_plan(*text, options.plan, size, options.shared);
}

StudyJson json_of(const Judged& judged) {
  StudyJson verdicts = StudyJson::array();
  for (const Verdict& one : judged.verdicts) {
    verdicts.push_back({{"scenario", one.scenario},
                        {"figure", one.figure},
                        {"value", kept(one.value)},
                        {"met", one.met}});
  }
  return {{"target", judged.target.name}, {"way", judged.way},     {"over", judged.target.over},
          {"met_in", judged.met},         {"needed", judged.need}, {"is_met", judged.is_met()},
          {"scenarios", verdicts}};
}

StudyJson json_of(const std::string& way, const Loss& loss) {
  return {{"way", way},
          {"figure", loss.figure},
          {"scenario", loss.scenario},
          {"value", kept(loss.mine)},
          {"best", kept(loss.best)},
          {"best_way", loss.best_way},
          {"clear", loss.is_clear}};
}

/// All that was measured and what follows from it.
StudyJson whole(const StudyPlan& plan, const StudyResults& results) {
  StudyJson json = {{"date", today()}, {"machine", machine()}};
  json.update(to_json(results));
  auto& targets = json["targets"] = StudyJson::array();
  for (const Judged& judged : judge(plan, results)) targets.push_back(json_of(judged));
  auto& losses = json["where_it_does_not_help"] = StudyJson::array();
  for (const auto& [way, rivals] : kJudgedWays) {
    for (const Balance& balance : balances(results, way, ways_in(plan, rivals, way))) {
      for (const Loss& loss : balance.losses) losses.push_back(json_of(way, loss));
    }
  }
  return json;
}

Expected<void> write_documents(const StudyOptions& options, const StudyPlan& plan,
                               const StudyJson& json) {
  auto results = results_of(json);
  if (!results) return std::unexpected(results.error());
  const auto text = text_of(options.text);
  if (!text) return std::unexpected(text.error());
  StudyDocument document{.plan = plan,
                         .results = std::move(*results),
                         .text = *text,
                         .live = "",
                         .made = json.value("date", "") + ", " + json.value("machine", "")};
  if (json.contains("live")) {
    auto live = live_section(json.at("live"));
    if (!live) return std::unexpected(live.error());
    document.live = std::move(*live);
  }
  const auto filled = written(document);
  if (!filled) return fail(filled.error().code, options.text + ": " + filled.error().message);
  const std::string beside = options.folder + "/evaluation";
  std::error_code error;
  std::filesystem::create_directories(beside, error);
  if (error) return fail(ErrorCode::Io, beside + ": " + error.message());
  auto done = write(beside + ".md", *filled);
  if (done) done = write(beside + ".html", page(document, *filled));
  if (done) done = write(beside + "/tables.md", tables(document));
  for (const auto& [name, svg] : drawings(document)) {
    if (done) done = write(beside + "/" + name + ".svg", sim::standalone(svg));
  }
  return done;
}

/// Attempts that the guarantee lost by admission, over all runs of the judged ways.
double lost_by_admission(const StudyResults& results) {
  double sum = 0;
  for (const ScenarioResults& scenario : results.scenarios) {
    for (const auto& [name, rivals] : kJudgedWays) {
      const WayResults* const way = scenario.find(name);
      const auto lost = way == nullptr ? std::nullopt : way->figure("oom_admission");
      sum += lost ? lost->mean : 0;
    }
  }
  return sum;
}

Expected<int> study(const StudyOptions& options) {
  const auto plan = plan_of(options, options.size);
  if (!plan) return std::unexpected(plan.error());
  const StudyTools tools{.at_once = options.at_once};
  StudyResults results = planned(*plan, tools);
  if (!options.only.empty()) {
    const auto before = json_in(options.folder + "/evaluation.json");
    if (!before) return std::unexpected(before.error());
    const auto earlier = results_of(*before);
    if (!earlier) return std::unexpected(earlier.error());
    keep(results, *earlier, options.only);
  }
  const auto failed = run_study(results, tools);
  if (!failed) return std::unexpected(failed.error());
  StudyJson json = whole(*plan, results);
  if (!options.live.empty()) {
    auto live = json_in(options.live);
    if (!live) return std::unexpected(live.error());
    json["live"] = std::move(*live);
  }
  auto done = write(options.folder + "/evaluation.json", json_lines(json) + "\n");
  if (done) done = write_documents(options, *plan, json);
  if (!done) return std::unexpected(done.error());
  const double lost = lost_by_admission(results);
  std::printf("%zu runs have no figures; the guarantee lost %.0f attempts by admission\n", *failed,
              lost);
  return *failed == 0 && lost == 0 ? 0 : kFailed;
}

Expected<void> again(const StudyOptions& options) {
  const auto json = json_in(options.folder + "/evaluation.json");
  if (!json) return std::unexpected(json.error());
  StudyOptions all = options;  // nothing is run, so that it does not matter where the traces are
  if (all.shared.empty()) all.shared = "shared";
  const auto plan = plan_of(all, json->value("size", options.size));
  if (!plan) return std::unexpected(plan.error());
  return write_documents(options, *plan, *json);
}

}  // namespace

void add_study_options(CLI::App& verb, StudyOptions& options) {
  verb.add_option("--size", options.size, "quick or full.")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  verb.add_option("--plan", options.plan, "Ways, scenarios and targets.")->capture_default_str();
  verb.add_option("--text", options.text, "Markdown of the document, whose figures are filled in.")
      ->capture_default_str();
  verb.add_option("--folder", options.folder, "Has evaluation.json, and gets the documents.")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  verb.add_option("--live", options.live, "What `berth-eval all` wrote.")->check(CLI::ExistingFile);
  verb.add_option("--shared", options.shared,
                  "Folder with public traces; without it their "
                  "scenarios are left out.")
      ->check(CLI::ExistingDirectory);
  verb.add_option("--only", options.only,
                  "Run these ways again; of others evaluation.json of the folder is kept where its "
                  "commands are the same.")
      ->delimiter(',');
  verb.add_option("--at-once", options.at_once, "Runs beside each other.")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

int run_study(const StudyOptions& options) {
  const auto done = study(options);
  return done ? *done : report(done.error());
}

int write_report(const StudyOptions& options) {
  const auto done = again(options);
  return done ? 0 : report(done.error());
}

}  // namespace berth::lab
