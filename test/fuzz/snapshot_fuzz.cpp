// Goal: no bytes make a restore crash, hang, or take more memory than the bytes describe; whatever
// it accepts is a sound engine that can go on.
// Method: the first two bytes choose a registered policy, the rest is the snapshot. An engine that
// was restored is checked, saved and restored again, and goes on for three steps.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/assert.hpp"
#include "engine/restored.hpp"
#include "fuzz/snapshot_seed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view policy = berth::test::policy_of_seed(input);
  if (policy.empty()) return 0;
  BERTH_ASSERT(berth::test::restore_and_go_on(input.substr(2), policy).has_value());
  return 0;
}
