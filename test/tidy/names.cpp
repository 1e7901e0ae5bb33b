// Which names the sources define, and where: namespaces followed by their braces, nothing more of
// C++ is understood.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "tidy/rules.hpp"

namespace berth::tidy {

namespace {

constexpr std::string_view kSpaces = " \t\n";

bool is_part_of_name(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// With one space where there were any, and none beside what is no name.
std::string squeezed(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kSpaces.find(text[i]) == std::string_view::npos) {
      result.push_back(text[i]);
      continue;
    }
    const std::size_t next = text.find_first_not_of(kSpaces, i);
    if (next == std::string_view::npos) break;
    const bool parts = !result.empty() && is_part_of_name(result.back());
    if (parts && is_part_of_name(text[next])) result.push_back(' ');
    i = next - 1;
  }
  return result;
}

/// Takes `word` off the front, if it stands there alone.
bool take(std::string_view& text, std::string_view word) {
  const bool is_there =
      text.starts_with(word) && (text.size() == word.size() || !is_part_of_name(text[word.size()]));
  if (!is_there) return false;
  text.remove_prefix(word.size());
  if (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

/// Takes what begins with `open` off the front, up to the `close` that belongs to it.
bool take_pair(std::string_view& text, char open, char close) {
  if (!text.starts_with(open)) return false;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] != close || --depth > 0) continue;
    text.remove_prefix(i + 1);
    return true;
  }
  return false;
}

std::string_view take_name(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && (is_part_of_name(text[end]) || text[end] == ':')) {
    if (text[end] == ':' && !text.substr(end).starts_with("::")) break;
    end += text[end] == ':' ? 2 : 1;
  }
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

/// `struct Name final : Base` gives `Name`; nothing for what is no type. A specialisation is named
/// with what it is for.
std::optional<std::string> type_in(std::string_view text) {
  bool is_type = take(text, "struct") || take(text, "class") || take(text, "union");
  if (!is_type && take(text, "enum")) {
    is_type = true;
    (void)(take(text, "class") || take(text, "struct"));
  }
  if (!is_type) return std::nullopt;
  while (take_pair(text, '[', ']')) {
  }
  if (take(text, "alignas")) take_pair(text, '(', ')');
  std::string name(take_name(text));
  const std::string_view rest = text;
  if (take_pair(text, '<', '>')) name += rest.substr(0, rest.size() - text.size());
  (void)take(text, "final");
  if (text.starts_with(' ')) text.remove_prefix(1);
  (void)take(text, "final");
  const bool is_definition = !name.empty() && (text.empty() || text.starts_with(':'));
  return is_definition ? std::optional(name) : std::nullopt;
}

/// `inline int f(int x) const` gives `f(int x)`, `inline constexpr int kMost` gives `kMost`; a
/// constexpr function is inline, and a static one is in the way of a template that calls what is
/// beside its arguments. What is none of these the linker finds, or it is its file's constant.
std::optional<std::string> inline_in(std::string_view text) {
  const bool is_static = take(text, "static");
  bool is_inline = false;
  bool is_constant = false;
  for (bool goes_on = true; goes_on;) {
    const bool says_inline = take(text, "inline");
    const bool says_constant = take(text, "constexpr") || take(text, "consteval");
    is_inline = is_inline || says_inline;
    is_constant = is_constant || says_constant;
    goes_on = says_inline || says_constant;
  }
  const bool is_function = text.find('(') != std::string_view::npos;
  if (!is_inline && !(is_function && (is_constant || is_static))) return std::nullopt;
  std::size_t end = text.find_first_of("([{=");
  end = end == std::string_view::npos ? text.size() : end;
  std::size_t begin = end;
  while (begin > 0 && is_part_of_name(text[begin - 1])) --begin;
  std::string name(text.substr(begin, end - begin));
  std::string_view rest = text.substr(end);
  const std::string_view all = rest;
  if (take_pair(rest, '(', ')')) name += all.substr(0, all.size() - rest.size());
  return name.empty() ? std::nullopt : std::optional(name);
}

/// A scope that braces open.
struct Scope {
  enum class Kind { Namespace, Unnamed, Transparent, Other };
  Kind kind = Kind::Other;
  std::string name;
};

Scope scope_of(std::string_view text) {
  if (text.starts_with("extern\"")) return {Scope::Kind::Transparent, ""};
  (void)take(text, "inline");
  if (!take(text, "namespace")) return {};
  while (take_pair(text, '[', ']')) {
  }
  if (text.empty()) return {Scope::Kind::Unnamed, ""};
  return {Scope::Kind::Namespace, std::string(text)};
}

/// Reads one file's code, statement by statement.
class Reader {
 public:
  using Found = std::vector<std::pair<std::string, std::size_t>>;  ///< A name, and its line.

  Found run(std::string_view code) {
    for (const char c : code) {
      if (c == '\n') ++line_;
      read(c);
    }
    return std::move(found_);
  }

 private:
  void read(char c) {
    if (c == '{') return open();
    if (c == '}') return close();
    if (c == ';') return end();
    if (c == '\n' && is_directive()) return statement_.clear();
    if (statement_.empty() && kSpaces.find(c) != std::string_view::npos) return;
    statement_.push_back(c);
  }

  bool is_directive() const { return statement_.starts_with('#'); }
  bool is_outside() const {
    return std::ranges::all_of(scopes_, [](const Scope& scope) {
      return scope.kind == Scope::Kind::Namespace || scope.kind == Scope::Kind::Transparent;
    });
  }

  void open() {
    if (is_outside()) note();
    scopes_.push_back(scope_of(squeezed(statement_)));
    statement_.clear();
  }
  void close() {
    if (!scopes_.empty()) scopes_.pop_back();
    statement_.clear();
  }
  void end() {
    const bool has_value = statement_.find('=') != std::string::npos;
    if (is_outside() && has_value) note();
    statement_.clear();
  }

  void note() {
    const std::string text = squeezed(statement_);
    std::string_view rest = text;
    while (take(rest, "template")) take_pair(rest, '<', '>');
    auto name = type_in(rest);
    if (!name) name = inline_in(rest);
    if (!name) return;
    std::string whole;
    for (const Scope& scope : scopes_) whole += scope.name.empty() ? "" : scope.name + "::";
    found_.emplace_back(whole + *name, line_);
  }

  std::string statement_;
  std::vector<Scope> scopes_;
  std::size_t line_ = 1;
  Found found_;
};

}  // namespace

Findings names_defined_twice(std::span<const Source> tree) {
  constexpr std::array ours = {"src", "emu", "lab"};
  std::map<std::string, Finding> first;
  Findings findings;
  for (const Source& source : tree) {
    if (!is_cpp(source) || std::ranges::find(ours, part(source.path, 0)) == ours.end()) continue;
    for (const auto& [name, line] : Reader().run(code_only(source.text))) {
      const auto [known, is_new] = first.try_emplace(name, Finding{source.path, line, name});
      if (is_new) continue;
      findings.push_back({source.path, line,
                          name + " is defined in " + known->second.path + ":" +
                              std::to_string(known->second.line) +
                              " as well; in one program one of the two is taken for both"});
    }
  }
  return findings;
}

}  // namespace berth::tidy
