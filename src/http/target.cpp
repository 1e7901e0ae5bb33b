#include "http/target.hpp"

#include <optional>
#include <utility>

#include "http/client.hpp"

namespace berth::http {

namespace {

enum class Plus { Itself, Space };

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

/// The byte of `%41`; nothing if that is not an escape.
std::optional<char> escaped_byte(std::string_view text) {
  if (text.size() < 3) return std::nullopt;
  const auto high = hex_digit(text[1]);
  const auto low = hex_digit(text[2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high << 4 | *low);
}

std::expected<std::string, Fault> decoded(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const auto byte = escaped_byte(text.substr(i, 3));
      if (!byte || *byte == '\0') {
        return std::unexpected(
            Fault{400, "'" + std::string(text.substr(i, 3)) + "' is not an escape, as in '%20'"});
      }
      c = *byte;
      i += 2;
    } else if (c == '+' && plus == Plus::Space) {
      c = ' ';
    }
    out.push_back(c);
  }
  return out;
}

std::expected<void, Fault> add_pair(std::string_view text, Request& request) {
  const std::size_t sign = text.find('=');
  auto key = decoded(text.substr(0, sign), Plus::Space);
  if (!key) return std::unexpected(std::move(key.error()));
  const std::string_view rest = sign == std::string_view::npos ? "" : text.substr(sign + 1);
  auto value = decoded(rest, Plus::Space);
  if (!value) return std::unexpected(std::move(value.error()));
  request.query.emplace_back(std::move(*key), std::move(*value));
  return {};
}

std::expected<void, Fault> parse_query(std::string_view text, Request& request) {
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (pair.empty()) continue;
    if (auto added = add_pair(pair, request); !added) return added;
  }
  return {};
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

}  // namespace

std::expected<void, Fault> read_target(std::string_view target, Request& request) {
  if (!target.starts_with('/')) {
    return std::unexpected(Fault{400, "'" + std::string(target) + "' does not begin with '/'"});
  }
  const std::size_t mark = target.find('?');
  auto path = decoded(target.substr(0, mark), Plus::Itself);
  if (!path) return std::unexpected(std::move(path.error()));
  request.path = std::move(*path);
  return parse_query(mark == std::string_view::npos ? "" : target.substr(mark + 1), request);
}

std::optional<std::string> Request::parameter(std::string_view key) const {
  for (const auto& [name, value] : query) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::string escape(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_plain(c)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return out;
}

}  // namespace berth::http
