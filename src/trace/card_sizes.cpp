#include "trace/card_sizes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostCardGiB = 4096;

struct Card {
  std::string_view name;
  std::int64_t gib;
};
/// G1, G2, G3 and the series are not disclosed, MISC is several.
constexpr auto kCards = std::to_array<Card>({{"V100M16", 16},
                                             {"V100M32", 32},
                                             {"V100", 16},
                                             {"T4", 16},
                                             {"P100", 16},
                                             {"A10", 24},
                                             {"H800", 80}});

}  // namespace

Bytes size_in(std::string_view type) {
  std::string lower(type);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string_view rest = lower;
  if (rest.ends_with("b")) rest.remove_suffix(1);
  if (!rest.ends_with("g")) return kUnknownCard;
  rest.remove_suffix(1);
  rest = rest.substr(rest.find_last_not_of("0123456789") + 1);
  std::int64_t gib = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), gib);
  const bool is_size = error == std::errc() && gib > 0 && gib <= kMostCardGiB;
  return is_size ? Bytes(gib << 30) : kUnknownCard;
}

Bytes card_size(std::string_view type) {
  const auto* const found = std::ranges::find(kCards, type, &Card::name);
  return found == kCards.end() ? size_in(type) : Bytes(found->gib << 30);
}

}  // namespace berth::trace
