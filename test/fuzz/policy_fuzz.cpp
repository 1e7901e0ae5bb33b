// Goal: no text of a policy or a placement makes the parser crash or hang, and a text that is taken
// is written again as what it was read from.
// Method: the text as a policy, and as a placement of one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/assert.hpp"
#include "policy/registry.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto spec = berth::parse_policy(text)) {
    const auto again = berth::parse_policy(to_text(*spec));
    BERTH_ASSERT(again && *again == *spec);
  }
  if (const auto chosen = berth::choose(text)) {
    BERTH_ASSERT(berth::choose(chosen->name, chosen->place) || chosen->policy->own_place != "");
  }
  (void)berth::choose("fifo", text);
  return 0;
}
