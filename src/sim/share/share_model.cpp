#include "sim/share/share_model.hpp"

#include <algorithm>
#include <array>

#include "policy/spec.hpp"

namespace berth::sim {

namespace {

constexpr auto kShares = std::to_array<const ShareEntry*>(
    {&kTimeSlice, &kMps, &kDuty, &kPairsOnly, &kTgs, &kSalus, &kStages});

std::unexpected<Error> refused(const std::string& why) {
  return fail(ErrorCode::InvalidArgument, "--share" + why);
}

/// `5%`.
Expected<void> set_lost(const ShareEntry& entry, std::string_view value, Keys& keys) {
  const std::string name(entry.name);
  if (entry.lost.empty()) return refused(" " + name + ": it takes no '" + std::string(value) + "'");
  const Key& key = *std::ranges::find(entry.keys, entry.lost, &Key::name);
  if (value.ends_with('%') && keys.set(key.name, value.substr(0, value.size() - 1))) return {};
  return refused(" " + name + ": '" + std::string(value) + "' is not N% with N from " +
                 std::to_string(key.least) + " to " + std::to_string(key.most));
}

Expected<Keys> read_keys(const ShareEntry& entry, std::string_view text) {
  Keys keys(entry.keys);
  if (text == entry.name) return keys;
  const std::string_view rest = text.substr(entry.name.size() + 1);
  if (!rest.contains('=')) {
    if (auto done = set_lost(entry, rest, keys); !done) return std::unexpected(done.error());
    return keys;
  }
  const auto named = parse_named_keys(text);
  if (!named) return refused(": " + named.error().message);
  for (const auto& [name, value] : named->keys) {
    if (auto done = keys.set(name, value); !done) {
      return refused(" " + named->name + ": " + done.error().message);
    }
  }
  return keys;
}

}  // namespace

std::span<const ShareEntry* const> shares() { return kShares; }

Expected<std::shared_ptr<const ShareModel>> parse_share(std::string_view text) {
  if (text == "free") return nullptr;
  const std::string_view name = text.substr(0, text.find(':'));
  const auto entry = std::ranges::find(kShares, name, &ShareEntry::name);
  if (entry == kShares.end()) {
    std::string known = "free, exclusive";
    for (const ShareEntry* const each : kShares) known.append(", ").append(each->name);
    return refused(": '" + std::string(name) + "' is unknown; valid values: " + known);
  }
  const auto keys = read_keys(**entry, text);
  if (!keys) return std::unexpected(keys.error());
  return (*entry)->make(*keys);
}

}  // namespace berth::sim
