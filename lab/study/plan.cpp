#include "lab/study/plan.hpp"

#include <toml++/toml.h>

#include <algorithm>

#include "lab/study/plan_table.hpp"

namespace berth::lab {

namespace {

/// Calls `read` for each table of a list of tables.
template <class Read>
Expected<void> each(const toml::table& root, std::string_view name, std::string_view file,
                    Read read) {
  const toml::array* const list = root[name].as_array();
  if (list == nullptr) return {};
  for (const toml::node& node : *list) {
    const std::string where = std::string(file) + ":" + std::to_string(node.source().begin.line) +
                              ": " + std::string(name);
    if (!node.is_table()) return fail(ErrorCode::BadData, where + " must be a table");
    PlanTable table(*node.as_table(), where);
    if (Expected<void> done = read(table, where); !done) return done;
    if (Expected<void> done = table.check(); !done) return done;
  }
  return {};
}

StudyWay way_of(PlanTable& table) {
  return {.name = table.text("name"),
          .words = table.text("words"),
          .sets = table.words("sets"),
          .arguments = table.text("arguments")};
}

bool overlap(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::ranges::any_of(
      some, [&](const auto& word) { return std::ranges::find(others, word) != others.end(); });
}

/// What a size of the study says.
struct Size {
  std::size_t seeds = 0;
  std::string jobs;
};

Expected<Size> size_of(const toml::table& root, std::string_view file, std::string_view size) {
  const toml::table* const found = root["size"][size].as_table();
  if (found == nullptr) {
    return fail(ErrorCode::BadData,
                std::string(file) + ": there is no [size." + std::string(size) + "]");
  }
  PlanTable table(*found, std::string(file) + ": size." + std::string(size));
  Size read{.seeds = static_cast<std::size_t>(table.number("seeds").value_or(0)),
            .jobs = std::to_string(static_cast<int>(table.number("jobs").value_or(0)))};
  if (auto done = table.check(); !done) return std::unexpected(done.error());
  if (read.seeds > 0) return read;
  return fail(ErrorCode::BadData,
              std::string(file) + ": size." + std::string(size) + ": seeds must be 1 or more");
}

Scenario scenario_of(PlanTable& table, const toml::table& root, const Size& size,
                     std::string_view shared) {
  table.like(root["template"][table.text("template")].as_table());
  Scenario scenario{.name = table.text("name"),
                    .words = table.text("words"),
                    .group = table.text("group"),
                    .make = table.text("make"),
                    .trace = table.text("trace"),
                    .arguments = table.text("arguments"),
                    .ways = {},
                    .seeds = {}};
  if (const std::string more = table.text("more"); !more.empty()) {
    scenario.arguments += " " + more;
  }
  if (const std::string machine = table.text("machine"); !machine.empty()) {
    scenario.arguments += " " + root["machine"][machine].value_or(std::string("?"));
  }
  for (std::string* text : {&scenario.make, &scenario.trace, &scenario.arguments}) {
    *text = filled(filled(std::move(*text), "{jobs}", size.jobs), "{shared}", shared);
    *text = filled(std::move(*text), "{name}", scenario.name);
  }
  const auto seeds =
      static_cast<std::size_t>(table.number("seeds").value_or(static_cast<double>(size.seeds)));
  for (std::size_t i = 1; i <= seeds; ++i) scenario.seeds.push_back(i);
  return scenario;
}

Target target_of(PlanTable& table) {
  return {.name = table.text("name"),
          .way = table.text("way"),
          .figures = table.words("figures"),
          .over = table.words("over"),
          .at_most = table.number("at_most"),
          .at_least = table.number("at_least"),
          .groups = table.words("groups"),
          .scenarios = table.words("scenarios"),
          .need = static_cast<std::size_t>(table.number("need").value_or(0))};
}

Sweep sweep_of(PlanTable& table) {
  return {.name = table.text("name"),
          .x = table.text("x"),
          .is_log = table.text("scale") == "log",
          .scenarios = table.words("scenarios"),
          .at = table.numbers("at"),
          .ways = table.words("ways"),
          .figures = table.words("figures")};
}

Expected<void> check_scenario(const Scenario& scenario, const std::string& where) {
  const bool is_whole = !scenario.name.empty() && !scenario.trace.empty() &&
                        !scenario.ways.empty() && scenario.arguments.find('?') == std::string::npos;
  if (is_whole) return {};
  return fail(ErrorCode::BadData, where + " '" + scenario.name +
                                      "': must have a name, a trace, a known machine and ways");
}

/// Public traces may not be there; a size may leave a scenario out.
bool is_wanted(const std::vector<std::string>& sizes, std::string_view size, bool needs_shared,
               std::string_view shared) {
  if (!sizes.empty() && std::ranges::find(sizes, size) == sizes.end()) return false;
  return !shared.empty() || !needs_shared;
}

}  // namespace

std::string filled(std::string text, std::string_view name, std::string_view value) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size()) {
    text.replace(at, name.size(), value);
  }
  return text;
}

Expected<StudyPlan> read_plan(std::string_view text, std::string_view file, std::string_view size,
                              std::string_view shared) {
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    return fail(ErrorCode::BadData, std::string(file) + ":" +
                                        std::to_string(parsed.error().source().begin.line) + ": " +
                                        std::string(parsed.error().description()));
  }
  const toml::table& root = parsed.table();
  const auto of_size = size_of(root, file, size);
  if (!of_size) return std::unexpected(of_size.error());
  StudyPlan plan{
      .size = std::string(size), .ways = {}, .scenarios = {}, .targets = {}, .sweeps = {}};
  auto done = each(root, "way", file, [&](PlanTable& table, const std::string&) -> Expected<void> {
    plan.ways.push_back(way_of(table));
    return {};
  });
  if (!done) return std::unexpected(done.error());
  done = each(root, "scenario", file,
              [&](PlanTable& table, const std::string& where) -> Expected<void> {
                Scenario scenario = scenario_of(table, root, *of_size, shared);
                const auto sets = table.words("sets");
                for (const StudyWay& way : plan.ways) {
                  if (overlap(way.sets, sets)) scenario.ways.push_back(way.name);
                }
                const bool needs_shared = table.text("needs") == "shared";
                const bool wanted = is_wanted(table.words("sizes"), size, needs_shared, shared);
                if (auto whole = check_scenario(scenario, where); !whole) return whole;
                if (wanted) plan.scenarios.push_back(std::move(scenario));
                return {};
              });
  if (!done) return std::unexpected(done.error());
  done = each(root, "target", file, [&](PlanTable& table, const std::string&) -> Expected<void> {
    plan.targets.push_back(target_of(table));
    return {};
  });
  if (!done) return std::unexpected(done.error());
  done =
      each(root, "sweep", file, [&](PlanTable& table, const std::string& where) -> Expected<void> {
        Sweep& sweep = plan.sweeps.emplace_back(sweep_of(table));
        if (sweep.at.size() == sweep.scenarios.size()) return {};
        return fail(ErrorCode::BadData, where + ": needs as many numbers in 'at' as scenarios");
      });
  if (!done) return std::unexpected(done.error());
  return plan;
}

}  // namespace berth::lab
