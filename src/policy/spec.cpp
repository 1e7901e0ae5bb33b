#include "policy/spec.hpp"

#include <algorithm>

namespace berth {

namespace {

std::unexpected<Error> refuse(std::string_view text, const std::string& why) {
  return fail(ErrorCode::InvalidArgument, "policy '" + std::string(text) + "': " + why);
}

/// Up to the separator, which goes too. Returns: whether there was one.
bool cut(std::string_view& rest, char separator, std::string_view& part) {
  const std::size_t at = rest.find(separator);
  part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return at != std::string_view::npos;
}

/// The keys behind a name: what stands behind its `:`.
Expected<NamedKeys> with_keys(std::string_view name, std::string_view keys, std::string_view text) {
  NamedKeys named{.name = std::string(name), .keys = {}};
  std::string_view part;
  for (bool more = true; more;) {
    more = cut(keys, ':', part);
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      const std::string key(part.substr(0, equals));
      const auto is_key = [&](const auto& given) { return given.first == key; };
      if (std::ranges::any_of(named.keys, is_key)) {
        return refuse(text, "the key '" + key + "' is given twice");
      }
      named.keys.emplace_back(key, part.substr(equals + 1));
    } else if (equals == std::string_view::npos && !named.keys.empty()) {
      named.keys.back().second.append(":").append(part);
    } else {
      return refuse(text, "'" + std::string(part) + "' is not KEY=VALUE");
    }
  }
  return named;
}

Expected<NamedKeys> named_keys(std::string_view part, std::string_view what,
                               std::string_view text) {
  std::string_view name;
  const bool has_keys = cut(part, ':', name);
  if (name.empty()) return refuse(text, "the name of the " + std::string(what) + " is missing");
  if (!has_keys) return NamedKeys{.name = std::string(name), .keys = {}};
  return with_keys(name, part, text);
}

/// How long the name is that `text` begins with: the longest registered one that ends where a name
/// may end; else all up to there.
std::size_t name_length(std::string_view text, std::span<const std::string_view> names) {
  std::size_t longest = 0;
  for (const std::string_view name : names) {
    const bool ends =
        text.starts_with(name) &&
        (text.size() == name.size() || text[name.size()] == ':' || text[name.size()] == '+');
    if (ends) longest = std::max(longest, name.size());
  }
  return longest > 0 ? longest : std::min(text.find_first_of(":+"), text.size());
}

}  // namespace

Expected<NamedKeys> parse_named_keys(std::string_view text) {
  return named_keys(text, "placement", text);
}

Expected<Spec> parse_spec(std::string_view text, std::span<const std::string_view> names) {
  Spec spec;
  std::string_view place = text;
  std::string_view left;
  if (cut(place, '@', left)) {
    if (place.find('@') != std::string_view::npos) return refuse(text, "there is more than one @");
    auto named = named_keys(place, "placement behind the @", text);
    if (!named) return std::unexpected(named.error());
    spec.place = std::move(*named);
  }
  const std::size_t name = name_length(left, names);
  const std::size_t plus = left.find('+', name);
  std::string_view parts = plus == std::string_view::npos ? "" : left.substr(plus + 1);
  std::string_view part;
  for (bool more = plus != std::string_view::npos; more;) {
    more = cut(parts, '+', part);
    auto named = named_keys(part, "backfill or gate behind the +", text);
    if (!named) return std::unexpected(named.error());
    spec.parts.push_back(std::move(*named));
  }
  auto order = named_keys(left.substr(0, plus), "policy", text);
  if (!order) return std::unexpected(order.error());
  spec.order = std::move(*order);
  return spec;
}

std::string to_text(const NamedKeys& named) {
  std::string text = named.name;
  for (const auto& [key, value] : named.keys)
    text.append(":").append(key).append("=").append(value);
  return text;
}

std::string to_text(const Spec& spec) {
  std::string text = to_text(spec.order);
  for (const NamedKeys& part : spec.parts) text += "+" + to_text(part);
  if (spec.place) text += "@" + to_text(*spec.place);
  return text;
}

}  // namespace berth
