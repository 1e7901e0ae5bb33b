#include "lab/study/plan.hpp"

#include <fnmatch.h>
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
          .table = table.text("table"),
          .head = table.text("head"),
          .ways = table.words("ways"),
          .figures = table.words("figures"),
          .over = table.words("over"),
          .over_words = "",
          .at_most = table.number("at_most"),
          .at_least = table.number("at_least"),
          .groups = table.words("groups"),
          .scenarios = table.words("scenarios"),
          .need = static_cast<std::size_t>(table.number("need").value_or(0))};
}

Drawing drawing_of(PlanTable& table) {
  return {.name = table.text("name"),
          .words = table.text("words"),
          .figure = table.text("figure"),
          .y = table.text("y"),
          .over = table.words("over"),
          .is_log = table.text("scale") == "log",
          .mark = table.number("mark"),
          .scenarios = table.words("scenarios"),
          .columns = table.words("columns"),
          .ways = table.words("ways")};
}

/// Adds what a value of an axis says to a scenario's table: its words and arguments stand behind
/// those that are there, its sets beside them, any other key in the place of the template's.
void add_value(toml::table& scenario, const toml::table& value) {
  const auto append = [&](std::string_view to, const std::string& text, const char* between) {
    const auto before = scenario[to].value_or(std::string());
    scenario.insert_or_assign(to, before.empty() ? text : before + between + text);
  };
  for (const auto& [key, node] : value) {
    if (key == "words") {
      append("words", node.value_or(std::string()), ", ");
    } else if (key == "arguments") {
      append("more", node.value_or(std::string()), " ");
    } else if (key == "sets" && node.is_array()) {
      for (const toml::node& one : *node.as_array()) scenario["sets"].as_array()->push_back(one);
    } else {
      scenario.insert_or_assign(key, node);
    }
  }
}

/// A scenario's table for each choice of one value from each axis. Errors: BadData.
Expected<std::vector<toml::table>> choices_of(PlanTable& grid, const toml::table& root,
                                              const std::string& where) {
  const std::string of = grid.text("template");
  const toml::table* const base = root["template"][of].as_table();
  if (base == nullptr)
    return fail(ErrorCode::BadData, where + ": there is no template '" + of + "'");
  const toml::array* const sets = (*base)["sets"].as_array();
  toml::table first{{"template", of}, {"sets", sets == nullptr ? toml::array() : *sets}};
  std::vector<toml::table> tables{std::move(first)};
  for (const auto& axis : grid.lists("axes")) {
    std::vector<toml::table> longer;
    for (const toml::table& before : tables) {
      for (const std::string& name : axis) {
        const toml::table* const value = root["value"][name].as_table();
        if (value == nullptr) {
          return fail(ErrorCode::BadData, where + ": there is no value '" + name + "'");
        }
        toml::table& table = longer.emplace_back(before);
        const auto so_far = table["name"].value_or(std::string());
        table.insert_or_assign("name", so_far.empty() ? name : so_far + "-" + name);
        add_value(table, *value);
      }
    }
    tables = std::move(longer);
  }
  return tables;
}

Expected<void> check_scenario(const Scenario& scenario, const std::string& where) {
  const bool is_whole = !scenario.name.empty() && !scenario.trace.empty() &&
                        !scenario.ways.empty() && scenario.arguments.find('?') == std::string::npos;
  if (is_whole) return {};
  return fail(ErrorCode::BadData, where + " '" + scenario.name +
                                      "': must have a name, a trace, a known machine and ways");
}

/// With the names that fit a pattern instead of it.
std::vector<std::string> scenarios_named(const std::vector<Scenario>& scenarios,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (name.find('*') == std::string::npos) {
      found.push_back(name);
      continue;
    }
    for (const Scenario& scenario : scenarios) {
      if (::fnmatch(name.c_str(), scenario.name.c_str(), 0) == 0) found.push_back(scenario.name);
    }
  }
  return found;
}

/// Public traces may not be there; a size may leave a scenario out.
bool is_wanted(const std::vector<std::string>& sizes, std::string_view size, bool needs_shared,
               std::string_view shared) {
  if (!sizes.empty() && std::ranges::find(sizes, size) == sizes.end()) return false;
  return !shared.empty() || !needs_shared;
}

}  // namespace

std::vector<std::string> ways_named(const std::vector<StudyWay>& ways,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const auto is_named = [&](const StudyWay& way) { return way.name == name; };
    const bool is_way = std::ranges::any_of(ways, is_named);
    for (const StudyWay& way : ways) {
      const bool is_in = !is_way && std::ranges::find(way.sets, name) != way.sets.end();
      if (is_in) found.push_back(way.name);
    }
    if (is_way) found.push_back(name);
  }
  return found;
}

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
      .size = std::string(size), .ways = {}, .scenarios = {}, .targets = {}, .drawings = {}};
  auto done = each(root, "way", file, [&](PlanTable& table, const std::string&) -> Expected<void> {
    plan.ways.push_back(way_of(table));
    return {};
  });
  if (!done) return std::unexpected(done.error());
  const auto add_scenario = [&](PlanTable& table, const std::string& where) -> Expected<void> {
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
  };
  done = each(root, "scenario", file, add_scenario);
  if (!done) return std::unexpected(done.error());
  done = each(root, "grid", file, [&](PlanTable& grid, const std::string& where) -> Expected<void> {
    const auto choices = choices_of(grid, root, where);
    if (!choices) return std::unexpected(choices.error());
    for (const toml::table& choice : *choices) {
      PlanTable table(choice, where);
      if (auto added = add_scenario(table, where); !added) return added;
      if (auto checked = table.check(); !checked) return checked;
    }
    return {};
  });
  if (!done) return std::unexpected(done.error());
  done = each(root, "target", file, [&](PlanTable& table, const std::string&) -> Expected<void> {
    Target& target = plan.targets.emplace_back(target_of(table));
    target.ways = ways_named(plan.ways, target.ways);
    for (const std::string& name : target.over) {
      target.over_words += target.over_words.empty() ? "" : ", ";
      target.over_words += root["set"][name].value_or(name);
    }
    target.over = ways_named(plan.ways, target.over);
    target.scenarios = scenarios_named(plan.scenarios, target.scenarios);
    return {};
  });
  if (!done) return std::unexpected(done.error());
  done = each(root, "drawing", file,
              [&](PlanTable& table, const std::string& where) -> Expected<void> {
                Drawing& drawing = plan.drawings.emplace_back(drawing_of(table));
                drawing.ways = ways_named(plan.ways, drawing.ways);
                drawing.over = ways_named(plan.ways, drawing.over);
                const std::size_t columns = drawing.columns.size();
                if (columns == 0 || columns == drawing.scenarios.size()) return {};
                return fail(ErrorCode::BadData, where + ": needs as many columns as scenarios");
              });
  if (!done) return std::unexpected(done.error());
  return plan;
}

}  // namespace berth::lab
