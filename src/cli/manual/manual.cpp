#include "cli/manual/manual.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace berth::cli {

namespace {

/// A line may not begin with a dot or an apostrophe; a backslash is special, and a dash that is
/// typed is one.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '`') {
      escaped += "\\(ga";
    } else {
      escaped += c == '\n' ? ' ' : c;
    }
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

/// Words behind a macro: one that is a macro's name itself is taken for that.
std::string argument(std::string_view text) {
  std::string escaped = roff(text);
  std::erase(escaped, '"');
  return "\"" + escaped + "\"";
}

bool is_help(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return std::ranges::find(names, "help") != names.end();
}

std::string names_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) {
    names += (names.empty() ? "" : ", ") + ("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names += (names.empty() ? "" : ", ") + ("--" + name);
  }
  return names;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string positional_text(const CLI::Option& option) {
  std::string text = upper(option.get_name(true));
  if (option.get_items_expected_max() > 1) text += " ...";
  return option.get_required() ? text : "[" + text + "]";
}

/// `berth logs [OPTIONS] [JOB ...]`.
std::string synopsis(const CLI::App& app, const std::string& name) {
  std::string line = ".Nm " + argument(name) + "\n.Op Ar OPTIONS\n";
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_positional()) line += ".Ar " + argument(positional_text(*option)) + "\n";
  }
  const bool takes_command = app.get_prefix_command();
  if (takes_command) line += ".Fl \\-\n.Ar \"COMMAND [ARGUMENTS]\"\n";
  return line;
}

/// Of one group.
std::string option_list(const CLI::App& app, const std::string& group) {
  std::string list;
  for (const CLI::Option* const option : app.get_options()) {
    if (is_help(*option) || option->get_group() != group) continue;
    const bool is_positional = option->get_positional();
    const std::string value = value_name(*option);
    list += ".It " + (is_positional ? "Ar " + argument(upper(option->get_name(true)))
                                    : "Li " + argument(names_of(*option)) +
                                          (value.empty() ? "" : " Ar " + argument(value)));
    list += "\n" + roff(option->get_description()) + "\n";
  }
  return list.empty() ? list : ".Bl -tag -width Ds\n" + list + ".El\n";
}

/// Those without a group of their own come first; they have no heading.
std::string option_section(const CLI::App& app) {
  constexpr std::string_view kNoGroup = "Options";
  std::string lists = option_list(app, std::string(kNoGroup));
  for (const std::string& group : app.get_groups()) {
    if (group.empty() || group == kNoGroup) continue;
    const std::string list = option_list(app, group);
    if (!list.empty()) lists += ".Ss " + argument(group) + "\n" + list;
  }
  return lists;
}

std::string mdoc_paragraphs(std::string_view text) {
  std::string page;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", at), text.size());
    page += (page.empty() ? "" : ".Pp\n") + roff(text.substr(at, end - at)) + "\n";
    at = end + 2;
  }
  return page;
}

std::string examples_of(const ManualText& text) {
  std::string page;
  for (const Example& example : text.examples) {
    page += (page.empty() ? "" : ".Pp\n") + roff(example.meaning) +
            ":\n.Bd -literal -offset indent\n" + roff(example.command) + "\n.Ed\n";
  }
  return page;
}

/// `berth-why(1), berthd(8)`.
std::string references(std::string_view list) {
  std::string page;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(", ", at), list.size());
    const std::string_view one = list.substr(at, comma - at);
    const std::size_t open = one.find('(');
    page += ".Xr " + std::string(one.substr(0, open)) + " " + one[open + 1] +
            (comma < list.size() ? " ,\n" : "\n");
    at = comma + 2;
  }
  return page;
}

constexpr std::string_view kExitStatus =
    "0 if it was done; 2 for an unknown option or a value that is not allowed; 125 for every other "
    "failure, such as no daemon that answers, or one that refuses.";

}  // namespace

std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  std::string type = option.get_type_name();
  type.resize(std::min(type.find(':'), type.size()));  // without what a check says
  const bool is_plain =
      type.empty() || type == "TEXT" || type == "UINT" || type == "INT" || type == "FLOAT";
  return is_plain ? "VALUE" : type;
}

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool is_quoted = false;
  bool is_open = false;
  for (const char c : line) {
    if (c == '\'') {
      is_quoted = !is_quoted;
      if (!is_open) words.emplace_back();
      is_open = true;
    } else if (c == ' ' && !is_quoted) {
      is_open = false;
    } else {
      if (!is_open) words.emplace_back();
      is_open = true;
      words.back() += c;
    }
  }
  return words;
}

std::string manual_page(const CLI::App& verb, const ManualText& text) {
  const std::string name = "berth " + std::string(text.verb);
  std::string title = upper("berth-" + std::string(text.verb));
  std::string summary = verb.get_description();
  summary.resize(std::min(summary.find(": --"), summary.size()));  // the synopsis has the command
  if (summary.ends_with('.')) summary.pop_back();
  std::string page = ".Dd November 24, 2026\n.Dt " + title + " 1\n.Os\n.Sh NAME\n.Nm " +
                     argument("berth-" + std::string(text.verb)) + "\n.Nd " + roff(summary) + "\n";
  const auto below = verb.get_subcommands([](const CLI::App*) { return true; });
  page += ".Sh SYNOPSIS\n";
  if (below.empty()) page += synopsis(verb, name);
  for (const CLI::App* const one : below) page += synopsis(*one, name + " " + one->get_name());
  page += ".Sh DESCRIPTION\n" + mdoc_paragraphs(text.description);
  page += ".Sh OPTIONS\n" + option_section(verb);
  for (const CLI::App* const one : below) {
    page += ".Ss " + argument(name + " " + one->get_name()) + "\n" + roff(one->get_description()) +
            "\n" + option_section(*one);
  }
  page += ".Pp\n.Fl \\-help\nprints all of this in short.\n";
  page += ".Sh EXIT STATUS\n" +
          mdoc_paragraphs(text.exit_status.empty() ? kExitStatus : text.exit_status);
  page += ".Sh EXAMPLES\n" + examples_of(text);
  const std::string more(text.see_also);
  page += ".Sh SEE ALSO\n" + references((more.empty() ? "" : more + ", ") + "berth(1), berthd(8)");
  return page;
}

}  // namespace berth::cli
