#include "emu/cuda/ptx.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace berth::emu {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string without_comments(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto two = text.substr(at, 2);
    if (two == "//" || two == "/*") {
      const bool line = two == "//";
      const auto end = text.find(line ? "\n" : "*/", at + 2);
      if (end == std::string_view::npos) break;
      at = line ? end : end + 2;
      result += ' ';
    } else {
      result += text[at++];
    }
  }
  return result;
}

/// Takes the next run of characters up to a space or one of `stops`.
std::string_view take_word(std::string_view& text, std::string_view stops) {
  const auto start = text.find_first_not_of(kSpace);
  text.remove_prefix(start == std::string_view::npos ? text.size() : start);
  const auto end = text.find_first_of(std::string(kSpace) + std::string(stops));
  const auto word = text.substr(0, end);
  text.remove_prefix(word.size());
  return word;
}

std::size_t bytes_of_type(std::string_view type) {
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32")) return 4;
  if (type.ends_with("16")) return 2;
  if (type.ends_with("8")) return 1;
  return 0;
}

/// The count in "name[16]", 1 without brackets.
std::size_t elements_of(std::string_view name) {
  const auto bracket = name.find('[');
  if (bracket == std::string_view::npos) return 1;
  std::size_t count = 0;
  std::from_chars(name.data() + bracket + 1, name.data() + name.size(), count);
  return count;
}

/// Bytes of ".param .u64 name" or ".param .align 8 .b8 name[16]"; nullopt for anything else.
std::optional<std::size_t> parse_parameter(std::string_view text) {
  if (take_word(text, "") != ".param") return std::nullopt;
  std::size_t type_bytes = 0;
  for (auto word = take_word(text, ""); !word.empty(); word = take_word(text, "")) {
    if (word == ".align") {
      take_word(text, "");
    } else if (!word.starts_with('.')) {
      const auto bytes = type_bytes * elements_of(word);
      return bytes == 0 ? std::nullopt : std::optional(bytes);
    } else if (bytes_of_type(word) != 0) {
      type_bytes = bytes_of_type(word);
    }
  }
  return std::nullopt;
}

std::optional<std::vector<std::size_t>> parse_parameters(std::string_view list) {
  std::vector<std::size_t> bytes;
  if (list.find_first_not_of(kSpace) == std::string_view::npos) return bytes;
  for (;;) {
    const auto comma = list.find(',');
    const auto parameter = parse_parameter(list.substr(0, comma));
    if (!parameter) return std::nullopt;
    bytes.push_back(*parameter);
    if (comma == std::string_view::npos) return bytes;
    list.remove_prefix(comma + 1);
  }
}

/// Parses behind ".entry": a name, then parameters in parentheses, which may be missing.
std::optional<PtxEntry> parse_entry(std::string_view text) {
  PtxEntry entry{.name = std::string(take_word(text, "({")), .parameter_bytes = {}};
  if (entry.name.empty()) return std::nullopt;
  const auto open = text.find_first_not_of(kSpace);
  if (open == std::string_view::npos) return std::nullopt;
  if (text[open] != '(') return entry;
  const auto close = text.find(')', open);
  if (close == std::string_view::npos) return std::nullopt;
  auto parameters = parse_parameters(text.substr(open + 1, close - open - 1));
  if (!parameters) return std::nullopt;
  entry.parameter_bytes = std::move(*parameters);
  return entry;
}

}  // namespace

std::expected<std::vector<PtxEntry>, CudaResult> parse_ptx(std::string_view text) {
  constexpr std::string_view kEntry = ".entry";
  const auto source = without_comments(text);
  std::string_view rest = source;
  if (take_word(rest, "") != ".version") return std::unexpected(CudaResult::InvalidImage);
  if (rest.find(".target") == std::string_view::npos) {
    return std::unexpected(CudaResult::InvalidPtx);
  }
  std::vector<PtxEntry> entries;
  for (auto at = rest.find(kEntry); at != std::string_view::npos; at = rest.find(kEntry)) {
    rest.remove_prefix(at + kEntry.size());
    auto entry = parse_entry(rest);
    if (!entry) return std::unexpected(CudaResult::InvalidPtx);
    entries.push_back(std::move(*entry));
  }
  return entries;
}

bool is_binary_image(const void* image) {
  constexpr std::array<unsigned char, 4> kElf{0x7f, 'E', 'L', 'F'};
  constexpr std::array<unsigned char, 4> kFat{0x50, 0xed, 0x55, 0xba};
  constexpr std::array<unsigned char, 4> kFatWrapper{0xb1, 0x43, 0x62, 0x46};
  // Byte by byte: an image may be shorter than four bytes, but a text ends in 0 before that.
  const auto begins_with = [&](const std::array<unsigned char, 4>& magic) {
    const auto* bytes = static_cast<const unsigned char*>(image);
    for (std::size_t index = 0; index < magic.size(); ++index) {
      if (bytes[index] != magic[index]) return false;
    }
    return true;
  };
  return begins_with(kElf) || begins_with(kFat) || begins_with(kFatWrapper);
}

}  // namespace berth::emu
