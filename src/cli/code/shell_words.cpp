#include "cli/code/shell_words.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/text/text.hpp"

namespace berth::cli {

namespace {

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text) {}

  std::vector<ShellCommand> take() && {
    while (at_ < text_.size()) read_next();
    end_command();
    return std::move(commands_);
  }

 private:
  struct Awaited {
    std::size_t command;
    std::string mark;
    bool strips_tabs;
  };

  bool follows(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  ShellWord& word() {
    if (!word_) word_ = ShellWord{.text = "", .line = line_};
    return *word_;
  }
  /// Takes what stands there as a part of the word.
  void keep(std::size_t count) {
    for (; count > 0 && at_ < text_.size(); --count) {
      word().text += text_[at_];
      if (text_[at_++] == '\n') ++line_;
    }
  }

  void read_next() {
    const char c = text_[at_];
    if (c == '#' && !word_) return skip_comment();
    if (c == '\n') return end_line();
    if (c == ' ' || c == '\t' || c == '\r') return end_word_and_skip();
    if (c == '\\') return take_escaped();
    if (c == '\'' || c == '"') return take_quoted_part(c);
    if (c == '$' || c == '`') return take_expansion(c);
    if (c == '<' || c == '>' || follows("&>")) return take_redirection();
    if (c != ';' && c != '&' && c != '|' && c != '(' && c != ')') return keep(1);
    end_command();
    ++at_;
  }

  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  void end_word_and_skip() {
    end_word();
    ++at_;
  }
  void take_escaped() {
    ++at_;
    if (!follows("\n")) return keep(1);
    ++at_;
    ++line_;
  }
  void take_quoted_part(char quote) {
    word();
    for (++at_; at_ < text_.size() && text_[at_] != quote;) {
      const bool escapes = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           std::string_view("\"\\$`").contains(text_[at_ + 1]);
      if (escapes) ++at_;
      keep(1);
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  /// `$(...)` and its like stay as they are.
  void take_expansion(char c) {
    if (c == '`') return keep(std::min(text_.find('`', at_ + 1), text_.size()) + 1 - at_);
    const char open = text_.substr(at_ + 1).starts_with('(')   ? '('
                      : text_.substr(at_ + 1).starts_with('{') ? '{'
                                                               : '\0';
    if (open == '\0') return keep(1);
    const char close = open == '(' ? ')' : '}';
    std::size_t depth = 0;
    std::size_t end = at_ + 1;
    for (; end < text_.size(); ++end) {
      if (text_[end] == open) ++depth;
      if (text_[end] == close && --depth == 0) break;
    }
    keep(end + 1 - at_);
  }

  void take_redirection() {
    if (word_ && std::ranges::all_of(word_->text, is_digit)) word_.reset();  // 2>&1
    end_word();
    const bool is_text = follows("<<") && !follows("<<<");
    const bool strips_tabs = follows("<<-");
    at_ = std::min(text_.find_first_not_of("<>&|-", at_), text_.size());
    drops_next_ = true;
    awaits_.reset();
    if (is_text)
      awaits_ = Awaited{.command = commands_.size(), .mark = "", .strips_tabs = strips_tabs};
  }

  void end_word() {
    if (!word_) return;
    ShellWord ended = *std::exchange(word_, std::nullopt);
    if (!std::exchange(drops_next_, false)) return now_.words.push_back(std::move(ended));
    if (!awaits_) return;
    awaits_->mark = std::move(ended.text);
    awaited_.push_back(*std::exchange(awaits_, std::nullopt));
  }
  void end_command() {
    end_word();
    drops_next_ = false;
    awaits_.reset();
    const bool is_awaited = !awaited_.empty() && awaited_.back().command == commands_.size();
    if (now_.words.empty() && !is_awaited) return;
    commands_.push_back(std::exchange(now_, {}));
  }
  void end_line() {
    end_command();
    ++at_;
    ++line_;
    for (const Awaited& awaited : std::exchange(awaited_, {})) take_input(awaited);
  }
  void take_input(const Awaited& awaited) {
    ShellCommand& command = commands_[awaited.command];
    command.input_line = line_;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      ++line_;
      if (awaited.strips_tabs) {
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      }
      if (line == awaited.mark) return;
      command.input.append(line) += '\n';
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::optional<ShellWord> word_;
  bool drops_next_ = false;        ///< The next word is a redirection's.
  std::optional<Awaited> awaits_;  ///< The mark is the next word.
  std::vector<Awaited> awaited_;   ///< Texts that begin in the next line.
  ShellCommand now_;
  std::vector<ShellCommand> commands_;
};

}  // namespace

std::vector<ShellCommand> shell_commands(std::string_view text) { return ShellReader(text).take(); }

}  // namespace berth::cli
