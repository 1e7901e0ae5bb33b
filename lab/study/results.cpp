#include "lab/study/results.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace berth::lab {

namespace {

/// A figure with the values of ten seeds.
constexpr std::size_t kLongestLine = 220;

std::optional<sim::Interval> interval_of(const std::vector<StudyRun>& runs,
                                         std::map<std::string, double> StudyRun::* of,
                                         std::string_view key) {
  std::vector<double> values;
  for (const StudyRun& run : runs) {
    const auto found = (run.*of).find(std::string(key));
    if (found == (run.*of).end()) return std::nullopt;
    values.push_back(found->second);
  }
  return sim::interval_of(values);
}

using Values = std::map<std::string, double>;

/// One value for each run, null where a run does not know it, with the mean if all do.
StudyJson columns_of(const std::vector<StudyRun>& runs, Values StudyRun::* of) {
  StudyJson columns = StudyJson::object();
  for (const StudyRun& run : runs) {
    for (const auto& [key, value] : run.*of) columns[key] = StudyJson::object();
  }
  for (auto& [key, column] : columns.items()) {
    if (const auto interval = interval_of(runs, of, key)) {
      column["mean"] = kept(interval->mean);
      if (interval->half) column["ci95"] = kept(*interval->half);
    }
    auto& values = column["values"] = StudyJson::array();
    for (const StudyRun& run : runs) {
      const auto found = (run.*of).find(key);
      values.push_back(found == (run.*of).end() ? StudyJson() : StudyJson(found->second));
    }
  }
  return columns;
}

StudyJson json_of(const WayResults& way) {
  StudyJson json = {{"way", way.way}};
  auto& commands = json["commands"] = StudyJson::array();
  StudyJson errors = StudyJson::object();
  for (const StudyRun& run : way.runs) {
    commands.push_back(run.command);
    if (!run.error.empty()) errors[std::to_string(run.seed)] = run.error;
  }
  if (!errors.empty()) json["errors"] = std::move(errors);
  json["figures"] = columns_of(way.runs, &StudyRun::figures);
  json["waits"] = columns_of(way.runs, &StudyRun::waits);
  return json;
}

StudyJson json_of(const ScenarioResults& scenario) {
  StudyJson seeds = StudyJson::array();
  StudyJson makes = StudyJson::array();
  StudyJson ways = StudyJson::array();
  for (const StudyRun& run : scenario.ways.front().runs) {
    seeds.push_back(run.seed);
    makes.push_back(run.make);
  }
  for (const WayResults& way : scenario.ways) ways.push_back(json_of(way));
  return {{"name", scenario.name}, {"words", scenario.words}, {"group", scenario.group},
          {"seeds", seeds},        {"make", makes},           {"ways", std::move(ways)}};
}

void read_columns(const StudyJson& columns, std::vector<StudyRun>& runs, Values StudyRun::* of) {
  for (const auto& [key, column] : columns.items()) {
    const StudyJson& values = column.at("values");
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (values.at(i).is_number()) (runs[i].*of)[key] = values.at(i);
    }
  }
}

ScenarioResults scenario_of(const StudyJson& json) {
  ScenarioResults scenario{
      .name = json.at("name"), .words = json.at("words"), .group = json.at("group"), .ways = {}};
  for (const StudyJson& way : json.at("ways")) {
    auto& results = scenario.ways.emplace_back(WayResults{.way = way.at("way"), .runs = {}});
    const StudyJson errors = way.value("errors", StudyJson::object());
    for (std::size_t i = 0; i < json.at("seeds").size(); ++i) {
      const std::uint64_t seed = json.at("seeds").at(i);
      results.runs.push_back({.seed = seed,
                              .make = json.at("make").at(i),
                              .command = way.at("commands").at(i),
                              .figures = {},
                              .waits = {},
                              .error = errors.value(std::to_string(seed), "")});
    }
    read_columns(way.at("figures"), results.runs, &StudyRun::figures);
    read_columns(way.at("waits"), results.runs, &StudyRun::waits);
  }
  return scenario;
}

}  // namespace

std::optional<sim::Interval> WayResults::figure(std::string_view key) const {
  return interval_of(runs, &StudyRun::figures, key);
}

std::optional<sim::Interval> WayResults::wait(std::string_view reason) const {
  std::vector<double> values;
  for (const StudyRun& run : runs) {
    const auto found = run.waits.find(std::string(reason));
    values.push_back(found == run.waits.end() ? 0 : found->second);
  }
  return sim::interval_of(values);
}

std::optional<sim::Interval> WayResults::less(const WayResults& other, std::string_view key) const {
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(runs.size(), other.runs.size()); ++i) {
    const auto mine = runs[i].figures.find(std::string(key));
    const auto its = other.runs[i].figures.find(std::string(key));
    if (mine == runs[i].figures.end() || its == other.runs[i].figures.end()) return std::nullopt;
    values.push_back(mine->second - its->second);
  }
  return sim::interval_of(values);
}

const WayResults* ScenarioResults::find(std::string_view way) const {
  const auto found = std::ranges::find(ways, way, &WayResults::way);
  return found == ways.end() ? nullptr : &*found;
}

const ScenarioResults* StudyResults::find(std::string_view scenario) const {
  const auto found = std::ranges::find(scenarios, scenario, &ScenarioResults::name);
  return found == scenarios.end() ? nullptr : &*found;
}

double kept(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

Expected<void> read_summary(std::string_view text, StudyRun& run) {
  const StudyJson json = StudyJson::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("jobs")) {
    return fail(ErrorCode::BadData,
                "is no summary of a run: '" + std::string(text.substr(0, 80)) + "'");
  }
  for (const StudyFigure& figure : study_figures()) {
    const StudyJson::json_pointer at{std::string(figure.at)};
    if (!json.contains(at) || !json.at(at).is_number()) continue;
    double value = json.at(at).get<double>();
    if (!figure.per.empty()) {
      const double per = json.value(StudyJson::json_pointer(std::string(figure.per)), 0.0);
      if (per <= 0) continue;
      value /= per;
    }
    run.figures[std::string(figure.key)] = kept(value);
  }
  if (!json.contains("waits")) return {};
  for (const auto& [reason, wait] : json.at("waits").items()) {
    if (!wait.is_object() || !wait.contains("mean_seconds")) continue;
    const double seconds = wait.at("mean_seconds").get<double>();
    if (seconds > 0) run.waits[reason] = kept(seconds);
  }
  return {};
}

StudyJson to_json(const StudyResults& results) {
  StudyJson list = StudyJson::array();
  for (const ScenarioResults& scenario : results.scenarios) list.push_back(json_of(scenario));
  return {{"size", results.size}, {"scenarios", std::move(list)}};
}

Expected<StudyResults> results_of(const StudyJson& json) {
  try {
    StudyResults results{.size = json.at("size"), .scenarios = {}};
    for (const StudyJson& scenario : json.at("scenarios")) {
      results.scenarios.push_back(scenario_of(scenario));
    }
    return results;
  } catch (const StudyJson::exception& error) {  // of the library: a key that is not there
    return fail(ErrorCode::BadData, std::string("is no study: ") + error.what());
  }
}

std::string json_lines(const StudyJson& json) {
  std::string line = json.dump();
  if (line.size() <= kLongestLine || !json.is_structured()) return line;
  std::string text = json.is_object() ? "{" : "[";
  const char* separator = "\n";
  for (const auto& [key, value] : json.items()) {
    text += separator;
    if (json.is_object()) text += StudyJson(key).dump() + ": ";
    text += json_lines(value);
    separator = ",\n";
  }
  return text + "\n" + (json.is_object() ? "}" : "]");
}

}  // namespace berth::lab
