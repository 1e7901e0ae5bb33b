#include "cli/study/policy_pages.hpp"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/print/output.hpp"
#include "policy/registry.hpp"

namespace berth::cli {

namespace {

constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
constexpr std::size_t kNameColumns = 27;

/// A policy or a placement, as they are shown alike.
struct Listed {
  std::string_view kind;  ///< `order`, `whole`, `backfill`, `gate`, `place`.
  std::string_view name;
  const About* about;
  std::string_view place = {};  ///< The placement it goes with, or has.
  bool has_own_place = false;
};

std::vector<Listed> all_listed() {
  std::vector<Listed> all;
  for (const PolicyEntry& entry : policies()) {
    all.push_back({.kind = entry.order != nullptr ? "order" : "whole",
                   .name = entry.name,
                   .about = entry.about,
                   .place = entry.own_place.empty() ? entry.place : entry.own_place,
                   .has_own_place = !entry.own_place.empty()});
  }
  for (const BackfillEntry& entry : backfills()) {
    all.push_back({.kind = "backfill", .name = entry.name, .about = entry.about});
  }
  for (const GateEntry& entry : gates()) {
    all.push_back({.kind = "gate", .name = entry.name, .about = entry.about});
  }
  for (const PlacerEntry& entry : placers()) {
    all.push_back({.kind = "place", .name = entry.name, .about = entry.about});
  }
  return all;
}

std::vector<std::string> needs_of(const Needs& needs) {
  std::vector<std::string> words;
  if (needs.preemption) words.emplace_back("preemption");
  if (needs.estimates) words.emplace_back("estimates or time limits");
  if (needs.reports) words.emplace_back("reported progress");
  if (needs.samples) words.emplace_back("the service of past jobs (--service)");
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Name and text of each paragraph that has one.
std::vector<std::pair<std::string, std::string>> paragraphs(const Listed& one) {
  const About& about = *one.about;
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](std::string name, std::string_view text) {
    if (!text.empty()) all.emplace_back(std::move(name), text);
  };
  add("Rule", about.rule);
  add("Reads", about.reads);
  add("Needs", joined(needs_of(about.needs)));
  if (one.has_own_place) {
    add("Placement", "its own");
  } else {
    add("Placement", one.place);
  }
  add("Source", about.source);
  add("Differs from the source", about.differs);
  add("Cost", about.cost);
  add("Proof", about.proof);
  return all;
}

/// In mdoc a line may not begin with a dot or an apostrophe, and a backslash is special.
std::string mdoc(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c != '`') {
      escaped += c;
    }
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

/// In a table a `|` ends a cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string key_table(std::span<const Key> keys) {
  std::string text = "| key | type | default | range | what it is |\n|---|---|---|---|---|\n";
  for (const Key& key : keys) {
    text += "| `" + std::string(key.name) + "` | " + std::string(type_text(key.type)) + " | " +
            std::string(key.usual) + " | " + range_text(key) + " | " + cell(key.what) + " |\n";
  }
  return text;
}

std::string markdown_section(std::string_view title, std::string_view kind) {
  std::string text = "## " + std::string(title) + "\n\n";
  for (const Listed& one : all_listed()) {
    if (one.kind != kind) continue;
    text += "### " + std::string(one.name) + "\n\n" + std::string(one.about->title) + "\n\n";
    for (const auto& [name, what] : paragraphs(one)) {
      text.append("- **").append(name).append(".** ").append(what).append("\n");
    }
    text += "\n";
    if (!one.about->keys.empty()) text += key_table(one.about->keys) + "\n";
  }
  return text;
}

}  // namespace

std::string policies_list() {
  std::string text = "Policies (--policy):\n";
  std::string_view kind = "order";
  for (const Listed& one : all_listed()) {
    const std::string_view before = std::exchange(kind, one.kind);
    if (kind == "backfill" && before != kind) text += "\nBackfills (--policy ORDER+BACKFILL):\n";
    if (kind == "gate" && before != kind) text += "\nGates (--policy ORDER+BACKFILL+GATE):\n";
    if (kind == "place" && before != kind) text += "\nPlacements (--place):\n";
    text.append("  ")
        .append(padded(std::string(one.name), kNameColumns - 1, Align::Left))
        .append(" ");
    text.append(one.about->title).append("\n");
  }
  return text;
}

std::optional<std::string> policy_text(std::string_view name) {
  std::string all;  // a policy and a backfill, or a gate, may share a name
  for (const Listed& one : all_listed()) {
    if (one.name != name) continue;
    std::string text = std::string(one.about->title) + "\n";
    if (one.kind == "backfill") text.insert(0, "Backfill " + std::string(one.name) + ". ");
    if (one.kind == "gate") text.insert(0, "Gate " + std::string(one.name) + ". ");
    for (const auto& [heading, what] : paragraphs(one)) {
      text.append("  ").append(heading).append(": ").append(what).append("\n");
    }
    if (!one.about->keys.empty()) text += "  Keys:\n";
    for (const Key& key : one.about->keys) {
      text.append("    ").append(key.name).append("=").append(key.usual);
      text.append(" (").append(type_text(key.type)).append(", ").append(range_text(key));
      text.append("): ").append(key.what).append("\n");
    }
    all += text;
  }
  return all.empty() ? std::nullopt : std::optional(all);
}

std::string policies_json() {
  auto list = nlohmann::ordered_json::array();
  for (const Listed& one : all_listed()) {
    auto keys = nlohmann::ordered_json::array();
    for (const Key& key : one.about->keys) {
      keys.push_back({{"name", key.name},
                      {"type", type_text(key.type)},
                      {"default", key.usual},
                      {"range", range_text(key)},
                      {"what", key.what}});
    }
    list.push_back({{"kind", one.kind},
                    {"name", one.name},
                    {"title", one.about->title},
                    {"rule", one.about->rule},
                    {"reads", one.about->reads},
                    {"needs", needs_of(one.about->needs)},
                    {"place", one.place},
                    {"source", one.about->source},
                    {"differs", one.about->differs},
                    {"cost", one.about->cost},
                    {"proof", one.about->proof},
                    {"keys", std::move(keys)}});
  }
  return list.dump(2, ' ', false, kReplace) + "\n";
}

std::string policies_markdown() {
  std::string text =
      "# Policies\n\n"
      "Printed by `berth policies --markdown` from the texts in each policy's source file; a test\n"
      "compares. `berth policies NAME` prints one policy.\n\n"
      "A policy is written "
      "`POLICY[:KEY=VALUE...][+BACKFILL[:KEY=VALUE...]][+GATE[:KEY=VALUE...]...]"
      "[@PLACEMENT[:KEY=VALUE...]]`,\n"
      "on the command line and in berth.toml: `las:quantum=1m`, "
      "`dlas:thresholds=3600:14400@count`,\n"
      "`multifactor+conservative`, `sjf+easy@consolidated`, `las+idle`. Any order goes with any\n"
      "backfill and any gates.\n\n"
      "A *proof* is what an outsider would accept: a peer's own jobs, a published figure, a "
      "worked\n"
      "example of the paper, or an independent restatement of it. Every policy also has a "
      "scenario\n"
      "under `test/golden` and passes the tests under `test/property`. Those show that the code\n"
      "does what we meant, not that we meant what was published.\n\n";
  text += markdown_section("Orders", "order");
  text += markdown_section("Whole policies", "whole");
  text += markdown_section("Backfills", "backfill");
  text += markdown_section("Gates", "gate");
  text += markdown_section("Placements", "place");
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string policies_manual() {
  std::string text =
      ".\\\" Printed by `berth policies --man`; a test compares.\n"
      ".Dd November 22, 2026\n.Dt BERTH-POLICIES 7\n.Os\n.Sh NAME\n.Nm berth-policies\n"
      ".Nd the policies and placements of berth, and their keys\n.Sh DESCRIPTION\n"
      "A policy is written\n"
      ".Ar POLICY Ns Op : Ns Ar KEY Ns = Ns Ar VALUE ...\n"
      "with a backfill and gates behind a + each, and a placement behind an @.\n.Xr berth 1\n.Cm "
      "policies Ar NAME\n"
      "prints rule, source, differences and proof of one.\n";
  std::string_view kind = "order";
  text += ".Sh POLICIES\n.Bl -tag -width Ds\n";
  for (const Listed& one : all_listed()) {
    const std::string_view before = std::exchange(kind, one.kind);
    const std::string_view section = kind == before       ? ""
                                     : kind == "backfill" ? "BACKFILLS"
                                     : kind == "gate"     ? "GATES"
                                     : kind == "place"    ? "PLACEMENTS"
                                                          : "";
    if (!section.empty()) {
      text.append(".El\n.Sh ").append(section).append("\n.Bl -tag -width Ds\n");
    }
    text += ".It Cm " + mdoc(one.name) + "\n" + mdoc(one.about->title) + "\n";
    for (const Key& key : one.about->keys) {
      text += ".Pp\n.Cm " + mdoc(key.name) + "\n(" + std::string(type_text(key.type)) + ", " +
              range_text(key) + ", default " + mdoc(key.usual) + ").\n" + mdoc(key.what) + "\n";
    }
  }
  return text + ".El\n.Sh SEE ALSO\n.Xr berth 1 ,\n.Xr berthd 8\n";
}

}  // namespace berth::cli
