#include "cli/keys.hpp"

#include <algorithm>
#include <array>

#include "core/amounts.hpp"
#include "sim/named_values.hpp"
#include "sim/possible.hpp"

namespace berth::cli {

namespace {

constexpr std::int64_t kMostNumber = 1 << 20;

using Set = Expected<void>(Keys& keys, std::string_view value);

struct Key {
  std::string_view name;
  bool (*is_read_by)(const PolicyEntry& policy);
  Set* set;
};

bool is_headroom(const PolicyEntry& policy) { return policy.name == "headroom"; }
bool has_history(const PolicyEntry& policy) {
  return is_headroom(policy) || policy.name == "fair-share" || policy.name == "multifactor";
}

/// 0 is a time here, though no duration elsewhere.
Expected<Duration> wait_of(std::string_view value) {
  if (value == "0" || value == "0s") return Duration::zero();
  return parse_duration(value);
}

Expected<void> set_half_life(Keys& keys, std::string_view value) {
  const auto time = parse_duration(value);
  if (!time) return std::unexpected(time.error());
  keys.settings.service_half_life = *time;
  return {};
}

template <Duration HeadroomKeys::* Member>
Expected<void> set_time(Keys& keys, std::string_view value) {
  const auto time = wait_of(value);
  if (!time) return std::unexpected(time.error());
  keys.settings.headroom.*Member = *time;
  return {};
}

template <std::int32_t HeadroomKeys::* Member>
Expected<void> set_number(Keys& keys, std::string_view value) {
  const auto number = parse_count(value, kMostNumber);
  if (!number) return std::unexpected(number.error());
  keys.settings.headroom.*Member = static_cast<std::int32_t>(*number);
  return {};
}

/// doc/headroom.md says what they mean.
constexpr auto kKeys = std::to_array<Key>({
    {"half_life", has_history, set_half_life},
    {"short_bound", is_headroom, set_time<&HeadroomKeys::short_bound>},
    {"medium_bound", is_headroom, set_time<&HeadroomKeys::medium_bound>},
    {"ageing", is_headroom, set_time<&HeadroomKeys::ageing>},
    {"reserve_after", is_headroom, set_time<&HeadroomKeys::reserve_after>},
    {"reservations", is_headroom, set_number<&HeadroomKeys::reservations>},
    {"lend", is_headroom, set_time<&HeadroomKeys::lend>},
    {"liar_after", is_headroom, set_number<&HeadroomKeys::liar_after>},
    {"share_below_percent", is_headroom, set_number<&HeadroomKeys::share_below_percent>},
    {"share_after", is_headroom, set_time<&HeadroomKeys::share_after>},
});

std::string known_keys() {
  std::string known;
  for (const Key& key : kKeys) known += (known.empty() ? "" : ", ") + std::string(key.name);
  return known;
}

Error refusal(std::string_view text, const std::string& why) {
  return {ErrorCode::InvalidArgument, "--keys: '" + std::string(text) + "': " + why};
}

}  // namespace

Expected<Keys> parse_keys(std::string_view text) {
  Keys keys;
  std::optional<Error> error;
  const bool is_list =
      sim::each_named_value(text, [&](std::string_view name, std::string_view value) {
        const auto key = std::ranges::find(kKeys, name, &Key::name);
        if (key == kKeys.end()) {
          error = refusal(text, "no policy has the key '" + std::string(name) +
                                    "'; there are: " + known_keys());
        } else if (std::ranges::find(keys.given, name) != keys.given.end()) {
          error = refusal(text, "the key '" + std::string(name) + "' stands there twice");
        } else if (const auto done = key->set(keys, value); !done) {
          error = refusal(text, std::string(name) + " " + done.error().message);
        }
        keys.given.emplace_back(name);
        return !error.has_value();
      });
  if (error) return std::unexpected(*error);
  if (!is_list) return std::unexpected(refusal(text, "is not KEY=VALUE with commas"));
  if (!sim::is_possible(keys.settings)) {
    return std::unexpected(refusal(text, "out of range: doc/headroom.md gives the ranges"));
  }
  return keys;
}

Expected<void> check_read(const Keys& keys, std::span<const std::string> policies) {
  for (const std::string& name : keys.given) {
    const Key& key = *std::ranges::find(kKeys, name, &Key::name);
    const bool is_read = std::ranges::any_of(policies, [&](const std::string& policy) {
      const auto entry = std::ranges::find(berth::policies(), policy, &PolicyEntry::name);
      return entry != berth::policies().end() && key.is_read_by(*entry);
    });
    if (is_read) continue;
    std::string readers;
    for (const PolicyEntry& entry : berth::policies()) {
      if (key.is_read_by(entry)) readers += (readers.empty() ? "" : ", ") + std::string(entry.name);
    }
    return fail(ErrorCode::InvalidArgument,
                "--keys: '" + name + "' would change nothing; it is a key of: " + readers);
  }
  return {};
}

}  // namespace berth::cli
