#include "daemon/loop/plain_json.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace berth::daemon {

namespace {

using Sax = nlohmann::json_sax<Json>;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_decimal(char c) { return c >= '0' && c <= '9'; }

class PlainParser {
 public:
  PlainParser(std::string_view text, Sax& reader) : rest_(text), reader_(reader) {}

  PlainRead whole() {
    const PlainRead read = value();
    if (read != PlainRead::Whole) return read;
    return next() == '\0' && rest_.empty() ? read : PlainRead::Other;
  }

 private:
  /// Behind blanks; NUL at the end.
  char next() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char wanted) {
    if (next() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  static PlainRead told(bool goes_on) { return goes_on ? PlainRead::Whole : PlainRead::Stopped; }

  PlainRead value() {
    switch (next()) {
      case '{':
        return object();
      case '[':
        return list();
      case '"': {
        std::string text;
        return take_text(text) ? told(reader_.string(text)) : PlainRead::Other;
      }
      case 't':
        return take("true") ? told(reader_.boolean(true)) : PlainRead::Other;
      case 'f':
        return take("false") ? told(reader_.boolean(false)) : PlainRead::Other;
      case 'n':
        return take("null") ? told(reader_.null()) : PlainRead::Other;
      default:
        return number();
    }
  }

  bool take_text(std::string& text) {
    if (!take('"')) return false;
    const std::size_t size = plain_size(rest_);
    if (size == rest_.size() || rest_[size] != '"') return false;
    text.assign(rest_.substr(0, size));
    rest_.remove_prefix(size + 1);
    return true;
  }

  /// Of so few digits that it fits. What follows one is a comma or a bracket, or it is no number
  /// as these are.
  PlainRead number() {
    constexpr std::size_t kMostDigits = 18;
    const auto* const end = std::ranges::find_if_not(rest_, is_decimal);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    const bool is_plain =
        size > 0 && size <= kMostDigits && (size == 1 || rest_.front() != '0') &&
        (end == rest_.end() || is_blank(*end) || *end == ',' || *end == ']' || *end == '}');
    if (!is_plain) return PlainRead::Other;
    std::uint64_t read = 0;
    std::from_chars(rest_.data(), rest_.data() + size, read);
    rest_.remove_prefix(size);
    return told(reader_.number_unsigned(read));
  }

  PlainRead list() {
    take('[');
    if (!reader_.start_array(kUnknownSize)) return PlainRead::Stopped;
    if (take(']')) return told(reader_.end_array());
    do {
      if (const PlainRead read = value(); read != PlainRead::Whole) return read;
    } while (take(','));
    return take(']') ? told(reader_.end_array()) : PlainRead::Other;
  }

  PlainRead object() {
    take('{');
    if (!reader_.start_object(kUnknownSize)) return PlainRead::Stopped;
    if (take('}')) return told(reader_.end_object());
    do {
      std::string name;
      if (next() != '"' || !take_text(name)) return PlainRead::Other;
      // In the order in which the library looks: what is wrong with a key is told first.
      if (!reader_.key(name)) return PlainRead::Stopped;
      if (!take(':')) return PlainRead::Other;
      if (const PlainRead read = value(); read != PlainRead::Whole) return read;
    } while (take(','));
    return take('}') ? told(reader_.end_object()) : PlainRead::Other;
  }

  static constexpr std::size_t kUnknownSize = static_cast<std::size_t>(-1);

  std::string_view rest_;
  Sax& reader_;
};

}  // namespace

PlainRead read_plain_json(std::string_view text, nlohmann::json_sax<Json>& reader) {
  return PlainParser(text, reader).whole();
}

}  // namespace berth::daemon
