#include "trace/csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/suggest.hpp"
#include "trace/calendar.hpp"

namespace berth::trace {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMostShown = 60;
constexpr std::int64_t kMostShift = 40;  ///< Of a decimal point; no number here is that large.

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// `1.5e-3` as `0.0015`: the exponent only moves the point. Nothing for what has no exponent, has a
/// sign or is not a number.
std::optional<std::string> without_exponent(std::string_view text) {
  const std::size_t at = text.find_first_of("eE");
  if (at == text.npos) return std::nullopt;
  const std::string_view mantissa = text.substr(0, at);
  std::string_view power = text.substr(at + 1);
  if (power.starts_with('+') && !power.starts_with("+-")) power.remove_prefix(1);
  const auto shift = to_integer(power);
  const std::size_t dot = std::min(mantissa.find('.'), mantissa.size());
  if (!shift || *shift < -kMostShift || *shift > kMostShift || dot == 0) return std::nullopt;
  std::string digits(mantissa);
  if (dot < digits.size()) digits.erase(dot, 1);
  if (digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
  const std::int64_t point = static_cast<std::int64_t>(dot) + *shift;
  if (point < 1) return "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  const auto whole = static_cast<std::size_t>(point);
  if (whole > digits.size()) digits.append(whole - digits.size(), '0');
  return digits.insert(whole, ".");
}

struct Decimal {
  std::int64_t whole = 0;
  std::int64_t millionths = 0;  ///< Further decimals are cut.
};

/// Nothing for what is not a number without a sign.
std::optional<Decimal> decimal(std::string_view text) {
  const auto plain = without_exponent(text);
  if (plain) text = *plain;
  const std::size_t dot = text.find('.');
  const auto whole = to_integer(text.substr(0, dot));
  if (!whole || text.front() == '-') return std::nullopt;
  Decimal value{.whole = *whole};
  const std::string_view places = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  if (!std::ranges::all_of(places, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < 6; ++i) {
    value.millionths = value.millionths * 10 + (i < places.size() ? places[i] - '0' : 0);
  }
  return value;
}

void split_at_blanks(std::string_view line, std::vector<std::string_view>& out) {
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    const auto end = std::ranges::find_if(line, is_blank);
    const auto size = static_cast<std::size_t>(end - line.begin());
    out.push_back(line.substr(0, size));
    line.remove_prefix(size);
  }
}

bool are_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// `3,600` and `1,234,567.5` without their commas, or whatever groups the digits by three; nothing
/// for a text that is not so.
std::optional<std::string> ungrouped(std::string_view text, std::string_view between) {
  constexpr std::size_t kGroup = 3;
  const std::string_view whole = text.substr(0, text.find_first_of(".eE"));
  const std::size_t first = whole.find(between);
  if (first == whole.npos || first == 0 || first > kGroup) return std::nullopt;
  std::string number(whole.substr(0, first));
  for (std::string_view rest = whole.substr(first); !rest.empty();) {
    if (!rest.starts_with(between)) return std::nullopt;
    rest.remove_prefix(between.size());
    if (rest.size() < kGroup) return std::nullopt;
    number += rest.substr(0, kGroup);
    rest.remove_prefix(kGroup);
  }
  if (!are_digits(number)) return std::nullopt;
  return number.append(text.substr(whole.size()));
}

/// `1.234,5` and `0,5`: a comma before the decimals.
std::optional<std::string> with_point(std::string_view text) {
  const std::size_t comma = text.find(',');
  std::string_view whole = text.substr(0, comma);
  std::string plain(whole);
  if (whole.find('.') != whole.npos) {
    for (std::size_t at = plain.find('.'); at != plain.npos; at = plain.find('.')) plain[at] = '\'';
    const auto single = ungrouped(plain, "'");
    if (!single) return std::nullopt;
    plain = *single;
  }
  if (comma == text.npos) return plain;
  const std::string_view places = text.substr(comma + 1);
  if (!are_digits(plain) || places.empty() || !are_digits(places)) return std::nullopt;
  return plain.append(".").append(places);
}

/// Nothing beyond a century.
std::optional<Duration> time_of(std::string_view text, const TimeUnit& unit) {
  const auto value = decimal(text);
  const std::int64_t most = kCentury / unit.size;
  if (!value || value->whole > most || (value->whole == most && value->millionths > 0)) {
    return std::nullopt;
  }
  return value->whole * unit.size + Duration(value->millionths * micros(unit.size) / 1'000'000);
}

}  // namespace

std::optional<Duration> parse_seconds(std::string_view text) { return time_of(text, kSeconds); }

std::string_view why_no_text(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return "this is UTF-16; save it as CSV UTF-8";
  }
  if (text.starts_with("PK\x03\x04")) {
    return "this is a workbook or another archive of zip; save its sheet as CSV UTF-8";
  }
  return {};
}

std::string_view without_preface(std::string_view text) {
  constexpr std::string_view kSays = "sep=";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = trimmed(text.substr(0, end));
  const bool says = line.starts_with(kSays) && line.size() <= kSays.size() + 1;
  return says ? text.substr(std::min(end + 1, text.size())) : text;
}

std::string shown(std::string_view text) {
  std::string safe;
  for (const char c : text.substr(0, kMostShown)) {
    if (c >= ' ' && c <= '~') {
      safe += c;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      safe += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    }
  }
  return text.size() > kMostShown ? safe + "..." : safe;
}

bool has_lone_return(std::string_view line) {
  return trimmed(line).find('\r') != std::string_view::npos;
}

Expected<std::optional<std::string_view>> Csv::line() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    const std::string_view words = trimmed(text);
    if (has_lone_return(words)) {
      return fail(ErrorCode::BadData, place() + ": " + std::string(kLoneReturn));
    }
    const bool comment = layout_.comment != '\0' && words.starts_with(layout_.comment);
    if (!words.empty() && !comment) return std::optional(text);
  }
  return std::optional<std::string_view>();
}

Expected<void> Csv::split(std::string_view line, std::vector<std::string_view>& out) {
  out.clear();
  if (layout_.separator == ' ') {
    split_at_blanks(line, out);
    return {};
  }
  while (true) {
    const std::size_t text = line.find_first_not_of(layout_.separator == '\t' ? " " : " \t");
    if (has_quotes_ && text != line.npos && line[text] == '"') {
      line.remove_prefix(text);
      const auto field = unquoted(line);
      if (!field) return std::unexpected(field.error());
      out.push_back(*field);
      if (line.empty()) return {};
      line.remove_prefix(1);
      continue;
    }
    const std::size_t comma = line.find(layout_.separator);
    out.push_back(trimmed(line.substr(0, comma)));
    if (comma == line.npos) return {};
    line.remove_prefix(comma + 1);
  }
}

/// Takes a field in quotes off the line, up to what separates it from the next.
Expected<std::string_view> Csv::unquoted(std::string_view& line) {
  const std::string_view whole = line;
  bool is_doubled = false;
  std::size_t end = 1;
  while ((end = line.find('"', end)) != line.npos && line.substr(end + 1).starts_with('"')) {
    is_doubled = true;
    end += 2;
  }
  const std::string_view field = whole.substr(1, end == line.npos ? 0 : end - 1);
  line.remove_prefix(end == line.npos ? line.size() : end + 1);
  const std::string_view behind = line.substr(0, line.find(layout_.separator));
  if (end == whole.npos || !trimmed(behind).empty()) {
    return fail(ErrorCode::BadData, place() + ": '" + shown(trimmed(whole)) +
                                        "', expected a quote at the end of the field too");
  }
  line.remove_prefix(behind.size());
  if (!is_doubled) return field;
  std::string& single = doubled_.emplace_back();
  for (std::size_t i = 0; i < field.size(); i += field[i] == '"' ? 2 : 1) single += field[i];
  return single;
}

Expected<Csv> Csv::open(std::string_view text, std::string_view file, const Layout& layout) {
  if (const auto why = why_no_text(text); !why.empty()) {
    return fail(ErrorCode::BadData, std::string(file) + ": " + std::string(why));
  }
  Csv csv;
  csv.rest_ = without_preface(text);
  const std::string_view preface = text.substr(0, text.size() - csv.rest_.size());
  csv.line_ = static_cast<std::size_t>(std::ranges::count(preface, '\n'));
  csv.file_ = file;
  csv.layout_ = layout;
  csv.has_quotes_ = layout.separator == ',';
  csv.header_ = layout.header;
  if (!csv.header_.empty()) {
    if (auto done = csv.check_renamed(); !done) return std::unexpected(done.error());
    return csv;
  }
  const auto header = csv.line();
  if (!header) return std::unexpected(header.error());
  if (!*header) return fail(ErrorCode::BadData, csv.file_ + ": empty, expected a header line");
  csv.choose_separator(**header);
  if (auto done = csv.split(**header, csv.header_); !done) return std::unexpected(done.error());
  csv.header_doubled_ = csv.doubled_.size();
  csv.header_line_ = csv.line_;
  if (auto done = csv.check_header(); !done) return std::unexpected(done.error());
  if (auto done = csv.check_renamed(); !done) return std::unexpected(done.error());
  return csv;
}

/// Of what stands outside quotes.
void Csv::choose_separator(std::string_view header) {
  if (layout_.separator != ',') return;
  bool is_quoted = false;
  bool has_semicolon = false;
  bool has_tab = false;
  for (const char c : header) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (c == ',') return;
    has_semicolon = has_semicolon || c == ';';
    has_tab = has_tab || c == '\t';
  }
  if (has_semicolon) layout_.separator = ';';
  if (has_tab && !has_semicolon) layout_.separator = '\t';
}

/// In a table with tabs a comma may be either, and is refused.
std::optional<std::string> Csv::plain_number(std::string_view text) const {
  constexpr auto kMarks = std::to_array<std::string_view>({"'", " ", "\xc2\xa0", "\xe2\x80\xaf"});
  const bool has_commas = text.contains(',');
  const bool has_points = text.find('.') != text.rfind('.');
  if (has_commas && layout_.separator == ',') return ungrouped(text, ",");
  if ((has_commas || has_points) && layout_.separator == ';') return with_point(text);
  if (text.find_first_of("' \xc2\xe2") == text.npos) return std::nullopt;
  for (const std::string_view mark : kMarks) {
    if (auto plain = ungrouped(text, mark)) return plain;
  }
  return std::nullopt;
}

bool Csv::is_blank_row() const {
  return has_quotes_ && header_.size() > 1 &&
         std::ranges::all_of(fields_, [](std::string_view field) { return field.empty(); });
}

/// Refuses two columns of one name, because it is unknown which is meant.
Expected<void> Csv::check_header() const {
  std::vector<std::string_view> names = header_;
  std::ranges::sort(names);
  std::erase(names, "");  // columns without a name are never looked for
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return fail(ErrorCode::BadData,
              place() + ": column '" + shown(*twice) + "' is in the header twice");
}

Expected<void> Csv::check_renamed() const {
  for (const ColumnName& column : layout_.renamed) {
    if (std::ranges::find(header_, column.in_file) != header_.end()) continue;
    const std::vector<std::string> known(header_.begin(), header_.end());
    const std::string near = shown(nearest(column.in_file, known));
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + shown(name);
    return fail(ErrorCode::BadData,
                file_ + ":" + std::to_string(header_line_) + ": no column '" +
                    shown(column.in_file) + "'" + (near.empty() ? "" : " (" + near + "?)") +
                    " for --columns " + shown(column.known) + "; its columns: " + names);
  }
  return {};
}

std::string Csv::place() const { return file_ + ":" + std::to_string(line_); }

std::string_view Csv::name_in_file(std::string_view name) const {
  const auto renamed = std::ranges::find(layout_.renamed, name, &ColumnName::known);
  return renamed == layout_.renamed.end() ? name : std::string_view(renamed->in_file);
}

std::optional<std::size_t> Csv::find(std::string_view name) const {
  const auto found = std::ranges::find(header_, name_in_file(name));
  if (found == header_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header_.begin());
}

Expected<std::size_t> Csv::column(std::string_view name) const {
  if (const auto found = find(name)) return *found;
  return fail(ErrorCode::BadData, file_ + ":" + std::to_string(header_line_) + ": no column '" +
                                      std::string(name) + "' in the header");
}

std::size_t Csv::most_rows_left() const {
  return static_cast<std::size_t>(std::ranges::count(rest_, '\n')) + 1;
}

void Csv::join_free_text() {
  const auto column = layout_.free_text.empty() ? std::nullopt : find(layout_.free_text);
  if (!column) return;
  const auto first = fields_.begin() + static_cast<std::ptrdiff_t>(*column);
  const auto last = first + static_cast<std::ptrdiff_t>(fields_.size() - header_.size());
  *first = std::string_view(first->data(), last->data() + last->size());
  fields_.erase(first + 1, last + 1);
}

Expected<bool> Csv::next() {
  do {
    const auto text = line();
    if (!text) return std::unexpected(text.error());
    if (!*text) return false;
    doubled_.resize(header_doubled_);
    if (auto done = split(**text, fields_); !done) return std::unexpected(done.error());
  } while (is_blank_row());
  if (fields_.size() > header_.size() && doubled_.size() == header_doubled_) join_free_text();
  if (fields_.size() == header_.size()) return true;
  return fail(ErrorCode::BadData, place() + ": " + std::to_string(fields_.size()) +
                                      " fields, expected " + std::to_string(header_.size()));
}

Error Csv::error(std::size_t column, std::string_view expected) const {
  return {ErrorCode::BadData, place() + ": column '" + shown(header_[column]) + "': '" +
                                  shown(fields_[column]) + "', expected " + std::string(expected)};
}

bool Csv::is_missing(std::size_t column) const {
  const std::string_view text = fields_[column];
  return text.empty() || text == "nan" || text == "NaN" || text == "NA";
}

Expected<std::int64_t> Csv::integer(std::size_t column, std::int64_t low, std::int64_t high) const {
  // pandas writes `2.0` where another row of the column has none, and `1e+16` for large ones.
  const auto single = plain_number(fields_[column]);
  const std::string_view typed = single ? std::string_view(*single) : fields_[column];
  const auto plain = without_exponent(typed);
  const std::string_view text = plain ? std::string_view(*plain) : typed;
  const std::size_t point = text.find('.');
  const bool is_whole = point == text.npos || text.find_first_not_of('0', point + 1) == text.npos;
  const auto value = to_integer(is_whole ? text.substr(0, point) : text);
  if (value && *value >= low && *value <= high) return *value;
  return std::unexpected(
      error(column, "an integer from " + std::to_string(low) + " to " + std::to_string(high)));
}

Expected<std::int64_t> Csv::millionths(std::size_t column, std::int64_t most) const {
  const auto single = plain_number(fields_[column]);
  const auto value = decimal(single ? std::string_view(*single) : fields_[column]);
  if (value && (value->whole < most || (value->whole == most && value->millionths == 0))) {
    return value->whole * 1'000'000 + value->millionths;
  }
  return std::unexpected(error(column, "a number from 0 to " + std::to_string(most)));
}

std::optional<Instant> Csv::calendar(std::size_t column) const {
  if (layout_.time_format.empty()) return calendar_instant(fields_[column]);
  return instant_by_format(fields_[column], layout_.time_format);
}

std::string Csv::expected_time(std::string_view example) const {
  if (layout_.time_format.empty()) return "a time such as " + std::string(example);
  return "a time of the form " + shown(layout_.time_format);
}

Expected<Duration> Csv::duration(std::size_t column, const TimeUnit& unit) const {
  const auto single = plain_number(fields_[column]);
  const auto time = time_of(single ? std::string_view(*single) : fields_[column], unit);
  if (time) return *time;
  return std::unexpected(
      error(column, std::string(unit.name) + " from 0 to " + std::to_string(kCentury / unit.size)));
}

}  // namespace berth::trace
