#include "cli/job/sweep.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/print/amounts.hpp"
#include "cli/print/files.hpp"
#include "core/base/limits.hpp"
#include "core/text/points.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostSweepFile = std::size_t{4} << 20;
constexpr std::size_t kMostScript = std::size_t{1} << 20;  ///< That is searched for variables.
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kVariable = "BERTH_PARAM_";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  ///< Of spreadsheets.

std::unexpected<Error> sweep_error(const std::string& what) {
  return fail(ErrorCode::InvalidArgument, what);
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// A line, without its end; `text` is then what follows it.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// ---- Values ----------------------------------------------------------------------------------

struct Item {
  std::string text;
  bool is_quoted = false;
};

/// Up to the closing quote, where `""` is one; `text` is then what follows. Nothing without one.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string word;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') {
      word += text[at];
    } else if (text.substr(at + 1).starts_with('"')) {
      word += text[at++];
    } else {
      text.remove_prefix(at + 1);
      return word;
    }
  }
  return std::nullopt;
}

/// How a list of values is written: typed for `--param`, or in a table.
enum class Written : std::uint8_t { Typed, Comma, Tab };

/// Where the value ends that `text` begins with: typed, `\,` is a comma of its own, and so are the
/// commas of `{"a": 1, "b": 2}` and `[1, 2]` up to the bracket that closes it.
std::size_t end_of_typed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view rest = text.substr(first);
  const char open = rest.starts_with('{') || rest.starts_with('[') ? rest.front() : '\0';
  std::size_t depth = 0;
  bool is_quoted = false;
  for (std::size_t at = first; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && at + 1 < text.size()) {
      ++at;
    } else if (open != '\0' && c == '"') {
      is_quoted = !is_quoted;
    } else if (open != '\0' && !is_quoted && (c == '{' || c == '[')) {
      ++depth;
    } else if (depth > 0 && !is_quoted && (c == '}' || c == ']')) {
      --depth;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return depth == 0 ? text.size() : std::min(text.find(','), text.size());
}

std::string with_commas(std::string_view text) {
  std::string value;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("\\,")) ++at;
    value += text[at];
  }
  return value;
}

/// What stands between the separators, without blanks around it.
Expected<std::vector<Item>> items_of(std::string_view text, Written written) {
  const char separator = written == Written::Tab ? '\t' : ',';
  std::vector<Item> items;
  for (bool more = true; more;) {
    const std::string_view from = trimmed(text);
    Item item{.text = "", .is_quoted = from.starts_with('"')};
    std::size_t end = written == Written::Typed ? end_of_typed(text)
                                                : std::min(text.find(separator), text.size());
    if (item.is_quoted) {
      text.remove_prefix(text.find('"'));
      auto word = take_quoted(text);
      if (!word) return sweep_error("a double quote without its other");
      item.text = std::move(*word);
      end = std::min(text.find(separator), text.size());
      if (!trimmed(text.substr(0, end)).empty()) {
        return sweep_error("text behind the double quotes of '" + item.text + "'");
      }
    } else {
      item.text = trimmed(text.substr(0, end));
      if (written == Written::Typed) item.text = with_commas(item.text);
    }
    items.push_back(std::move(item));
    more = end < text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

bool are_all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

struct IntegerRange {
  std::string_view first;
  std::string_view last;
  std::string_view step = "1";
};

/// `1-5`, `1-9:2`.
std::optional<IntegerRange> range_in(std::string_view text) {
  IntegerRange range;
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    range.step = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  const std::size_t dash = text.find('-');
  if (dash == text.npos) return std::nullopt;
  range.first = text.substr(0, dash);
  range.last = text.substr(dash + 1);
  const bool is_one =
      are_all_digits(range.first) && are_all_digits(range.last) && are_all_digits(range.step);
  return is_one ? std::optional(range) : std::nullopt;
}

/// Padded with zeros if the first is, as a shell does it.
Expected<void> add_range(std::vector<std::string>& values, const IntegerRange& range) {
  constexpr std::int64_t kMostValue = 1'000'000'000'000;
  const auto first = parse_count(range.first, kMostValue);
  const auto last = parse_count(range.last, kMostValue);
  const auto step = parse_count(range.step, kMostValue);
  const std::string shown = std::string(range.first) + "-" + std::string(range.last);
  if (!first || !last || !step || *step == 0 || *last < *first) {
    return sweep_error(shown + " is no range such as 1-5 or 1-9:2; for the text say '\"" + shown +
                       "\"'");
  }
  if ((*last - *first) / *step >= limits::kMostTasks) {
    return sweep_error(shown + " has " + std::to_string((*last - *first) / *step + 1) +
                       " values, the most is " + std::to_string(limits::kMostTasks));
  }
  const bool is_padded = range.first.size() > 1 && range.first.starts_with('0');
  for (std::int64_t value = *first; value <= *last; value += *step) {
    std::string text = std::to_string(value);
    if (is_padded && text.size() < range.first.size()) {
      text.insert(0, range.first.size() - text.size(), '0');
    }
    values.push_back(std::move(text));
  }
  return {};
}

/// What people write who know other tools; "" for a value.
std::string fault_of_value(std::string_view text) {
  for (const std::string_view word : {"range(", "choice(", "interval(", "glob(", "shuffle("}) {
    if (!text.starts_with(word)) continue;
    return std::string(text) + "...: is of another tool; say 1-5, 1-9:2 or 0.1,0.01";
  }
  const bool is_ranges = text.find_first_not_of("0123456789.-:") == text.npos;
  const std::size_t dash = text.find('-', 1);
  const bool has_dots = text.contains("..");
  const bool is_of_fractions = text.contains('.') && dash != text.npos && dash + 1 < text.size();
  const bool is_of_negatives = text.starts_with('-') && dash != text.npos;  // -5--1, -2-2
  if (is_ranges && (has_dots || is_of_fractions || is_of_negatives)) {
    return std::string(text) +
           ": ranges are of whole numbers with one dash, as 1-5 or 1-9:2; write other values with "
           "commas between them, and a text in double quotes";
  }
  if (text.starts_with('[') || text.ends_with(']')) {
    return std::string(text) +
           ": write the values without brackets; a text with them in double quotes, each of its "
           "own twice, as \"[1, \"\"a\"\"]\"";
  }
  return text.empty() ? "a value is empty; for an empty text write \"\"" : "";
}

Expected<void> add_values(std::vector<std::string>& values, const Item& item) {
  const auto range = item.is_quoted ? std::nullopt : range_in(item.text);
  if (range) return add_range(values, *range);
  const std::string fault = item.is_quoted ? "" : fault_of_value(item.text);
  if (!fault.empty()) return sweep_error(fault);
  values.push_back(item.text);
  return {};
}

/// A value that cannot be one of a point.
Expected<void> check_value(const std::string& value) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!is_utf8(value)) return sweep_error("a value is not UTF-8");
  if (std::ranges::none_of(value, is_control)) return {};
  return sweep_error("a value has a control character, such as a line break or a tab");
}

Expected<void> check_name(std::string_view name) {
  if (is_parameter_name(name) && name.size() <= limits::kMostLabel) return {};
  std::string proposal(name);
  std::ranges::replace_if(proposal, [](char c) { return !is_letter(c) && !is_digit(c); }, '_');
  const std::string shown = "'" + std::string(name.substr(0, limits::kMostLabel)) + "'";
  return sweep_error(shown + " is no name of letters, digits and _, of " +
                     std::to_string(limits::kMostLabel) + " bytes at most" +
                     (is_parameter_name(proposal) && proposal.size() <= limits::kMostLabel
                          ? "; say " + proposal + ", and in the command --" + std::string(name) +
                                " {" + proposal + "}"
                          : ""));
}

// ---- Lines -----------------------------------------------------------------------------------

/// Whether a shell would read on in the next line.
bool goes_on(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  return (line.size() - (last == line.npos ? 0 : last + 1)) % 2 == 1;
}

/// A command's line with those that it goes on in. Tabs are as good as blanks there.
std::string next_command(std::string_view& text, std::size_t& number) {
  std::string command;
  bool more = true;
  for (bool is_first = true; more && !text.empty(); is_first = false) {
    const std::string_view line = next_line(text);
    ++number;
    const bool is_comment = is_first && trimmed(line).starts_with('#');
    more = !is_comment && goes_on(line);
    if (!is_comment) command += more ? line.substr(0, line.size() - 1) : line;
  }
  std::ranges::replace(command, '\t', ' ');
  return std::string(trimmed(command));
}

Expected<std::string> text_named(const std::string& path) {
  return path == "-" ? read_input(kMostSweepFile) : read_file(path, kMostSweepFile);
}

bool has_words_of_variable(const std::string& word, const std::string& directory) {
  if (word.contains(kVariable)) return true;
  std::error_code failed;
  const auto path = std::filesystem::path(directory) / word;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  const auto text = read_file(path.string(), kMostScript);
  return text && text->contains(kVariable);
}

/// Before anything that is said of them by their number.
Expected<Sweep> points_in(const std::string& file) {
  const auto text = text_named(file);
  if (!text) return std::unexpected(text.error());
  return parse_points(*text, file == "-" ? "stdin" : file);
}

}  // namespace

Expected<Sweep> parse_param(std::string_view typed) {
  const std::size_t equals = typed.find('=');
  if (equals == typed.npos) return sweep_error("has no =; say NAME=VALUES, as lr=0.1,0.01");
  const std::string name(typed.substr(0, equals));
  if (auto done = check_name(name); !done) return std::unexpected(done.error());
  const auto items = items_of(typed.substr(equals + 1), Written::Typed);
  if (!items) return std::unexpected(items.error());
  std::vector<std::string> values;
  for (const Item& item : *items) {
    if (auto done = add_values(values, item); !done) return std::unexpected(done.error());
  }
  Sweep sweep{.names = {name}, .points = {}};
  for (std::string& value : values) {
    if (auto done = check_value(value); !done) return std::unexpected(done.error());
    sweep.points.push_back({std::move(value)});
  }
  auto sorted = sweep.points;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return sweep;
  return sweep_error("'" + twice->front() + "' is there twice");
}

Expected<Sweep> parse_points(std::string_view text, const std::string& file) {
  Sweep sweep;
  Written written = Written::Comma;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    const std::string where = file + ":" + std::to_string(number) + ": ";
    const std::string_view content = trimmed(line);
    // A comment has a blank behind its mark: #ff0000 is a value.
    if (content.empty() || content == "#" || content.starts_with("# ")) continue;
    const bool is_header = sweep.names.empty();
    if (is_header && line.contains('\t')) written = Written::Tab;
    const auto items = items_of(line, written);
    if (!items) return sweep_error(where + items.error().message);
    std::vector<std::string> values;
    for (const Item& item : *items) {
      const auto done = is_header ? check_name(item.text) : check_value(item.text);
      if (!done && is_header && item.text.empty()) {
        return sweep_error(where +
                           "a column without a name, as pandas writes its index; leave it "
                           "out with index=False");
      }
      if (!done && is_header && line.contains(';')) {
        return sweep_error(where + "columns between semicolons; write commas or tabs");
      }
      if (!done) return sweep_error(where + done.error().message);
      if (is_header && std::ranges::find(values, item.text) != values.end()) {
        return sweep_error(where + "'" + item.text + "' is there twice");
      }
      values.push_back(item.text);
    }
    if (is_header) {
      sweep.names = std::move(values);
      continue;
    }
    if (values.size() != sweep.names.size()) {
      return sweep_error(where + std::to_string(values.size()) + " values, the first line has " +
                         std::to_string(sweep.names.size()) + " names");
    }
    sweep.points.push_back(std::move(values));
  }
  if (!sweep.points.empty()) return sweep;
  return sweep_error(file +
                     ": has no point; its first line names the parameters, as lr,seed, and "
                     "each that follows has their values");
}

Expected<Sweep> parse_lines(std::string_view text, const std::string& file) {
  Sweep sweep{.names = {"line"}, .points = {}};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 0; !text.empty();) {
    const std::size_t first = number + 1;
    std::string command = next_command(text, number);
    if (command.empty()) continue;
    const std::string where = file + ":" + std::to_string(first) + ": ";
    if (auto done = check_value(command); !done) return sweep_error(where + done.error().message);
    const std::size_t size = shell_quoted(command).size() + sizeof("line=");
    if (size > limits::kMostPoint) {
      return sweep_error(where + std::to_string(size) + " bytes in quotes, the most is " +
                         std::to_string(limits::kMostPoint) + "; write a script of it");
    }
    sweep.points.push_back({std::move(command)});
  }
  if (!sweep.points.empty()) return sweep;
  return sweep_error(file + ": has no line with a command");
}

Expected<Sweep> crossed(const Sweep& slow, const Sweep& fast) {
  if (slow.names.empty()) return fast;
  Sweep sweep{.names = slow.names, .points = {}};
  for (const std::string& name : fast.names) {
    if (std::ranges::find(sweep.names, name) != sweep.names.end()) {
      return sweep_error(name + ": is given twice; say all its values at once, as " + name +
                         "=0.1,0.01");
    }
    sweep.names.push_back(name);
  }
  if (slow.points.size() * fast.points.size() > std::size_t{limits::kMostTasks}) {
    return sweep_error(std::to_string(slow.points.size()) + " x " +
                       std::to_string(fast.points.size()) + " points are " +
                       std::to_string(slow.points.size() * fast.points.size()) +
                       " jobs, the most is " + std::to_string(limits::kMostTasks));
  }
  for (const auto& values : slow.points) {
    for (const auto& more : fast.points) {
      sweep.points.push_back(values);
      sweep.points.back().insert(sweep.points.back().end(), more.begin(), more.end());
    }
  }
  return sweep;
}

Expected<void> take_lines_option(JobOptions& options) {
  const std::string& file = *options["--lines"];
  if (!options.command.empty()) {
    return sweep_error("--lines " + file +
                       ": a command stands beside it, while each line is a command of its own; for "
                       "one command with values say --param or --param-file");
  }
  options.command = {"bash", "-c", "{line}"};
  if (!options["--name"]) {
    options["--name"] = file == "-" ? "lines" : std::filesystem::path(file).stem().string();
  }
  return {};
}

Expected<Sweep> sweep_of(const JobOptions& options) {
  const auto& lines = options["--lines"];
  const auto& file = options["--param-file"];
  const std::string other = file ? "--param-file" : options.params.empty() ? "" : "--param";
  if (lines && !other.empty()) {
    return sweep_error("--lines " + *lines + ": " + other +
                       " stands beside it, and the lines have no braces to fill; give one of them");
  }
  Sweep sweep;
  if (lines) {
    const auto text = text_named(*lines);
    if (!text) return std::unexpected(text.error());
    auto read = parse_lines(*text, *lines == "-" ? "stdin" : *lines);
    if (!read) return sweep_error("--lines: " + read.error().message);
    sweep = std::move(*read);
  } else if (file) {
    auto read = points_in(*file);
    if (!read) return sweep_error("--param-file: " + read.error().message);
    sweep = std::move(*read);
  }
  for (const std::string& typed : options.params) {
    const auto one = parse_param(typed);
    auto both = one ? crossed(sweep, *one) : std::unexpected(one.error());
    if (!both) return sweep_error("--param " + typed + ": " + both.error().message);
    sweep = std::move(*both);
  }
  if (sweep.points.size() <= std::size_t{limits::kMostTasks}) return sweep;
  return sweep_error((lines ? "--lines " + *lines : "--param-file " + *file) + ": " +
                     std::to_string(sweep.points.size()) + " jobs, the most is " +
                     std::to_string(limits::kMostTasks));
}

Expected<void> check_labels(const Sweep& sweep, const JobOptions& options) {
  for (const char* const option : {"--name", "--output", "--comment"}) {
    for (const std::string& name : placeholders(options[option].value_or(""))) {
      if (std::ranges::find(sweep.names, name) == sweep.names.end()) continue;
      return sweep_error(std::string(option) + ": {" + name + "} is filled in the command alone; " +
                         (option == std::string_view("--output")
                              ? "%a is the number of the task"
                              : "each task's parameters stand behind its name"));
    }
  }
  return {};
}

Expected<void> check_use(const Sweep& sweep, const std::vector<std::string>& command,
                         const std::string& directory) {
  if (const std::string fault = fault_of_placeholders(command, sweep.names); !fault.empty()) {
    return sweep_error("--param: " + fault);
  }
  std::vector<std::string> read;
  for (const std::string& word : command) {
    const auto names = placeholders(word);
    read.insert(read.end(), names.begin(), names.end());
  }
  const auto has_variables = [&](const std::string& word) {
    return has_words_of_variable(word, directory);
  };
  for (const std::string& name : sweep.names) {
    if (std::ranges::find(read, name) != read.end()) continue;
    if (std::ranges::any_of(command, has_variables)) return {};
    return sweep_error("--param " + name + ": nothing of the command reads it; write {" + name +
                       "} where its value goes, or if the program reads it by itself env " +
                       std::string(kVariable) + name + "={" + name + "} before the program");
  }
  return {};
}

}  // namespace berth::cli
