// Goal: no bytes make a restore crash, hang, or take more memory than the bytes describe; whatever
// it accepts is a sound engine that can go on.
// Method: the first byte chooses the policy, the rest is the snapshot. An engine that was restored
// is checked, saved and restored again, and steps twice.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/assert.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace {

constexpr std::array<std::string_view, 7> kPolicies = {
    "fifo-skip",         "fifo-reserve",       "srsf", "las", "fair-share",
    "tiresias/shortest", "tiresias/dlas-gpu-2"};

std::unique_ptr<berth::Policy> policy_for(std::uint8_t number) {
  return std::move(*berth::make_policy(kPolicies[number % kPolicies.size()], "first-fit"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto engine = berth::Engine::restore(bytes, policy_for(data[0]));
  if (!engine) return 0;
  BERTH_ASSERT(!engine->check());
  const std::string saved = engine->save();
  const auto again = berth::Engine::restore(saved, policy_for(data[0]));
  BERTH_ASSERT(again.has_value() && again->save() == saved);
  for (int step = 1; step <= 2; ++step) {
    const berth::Input tick = berth::Ticked{};
    engine->step(engine->now() + berth::seconds(step), std::span(&tick, 1));
    BERTH_ASSERT(!engine->check());
  }
  return 0;
}
