#include "sim/predictions.hpp"

#include "core/assert.hpp"
#include "engine/forecast.hpp"

namespace berth::sim {

std::optional<Instant> predicted_start(const Engine& engine, JobId job, const MakePolicy& policy) {
  auto copy = Engine::restore(engine.save(), policy());
  BERTH_ASSERT(copy.has_value());
  return forecast(std::move(*copy), job, {.now = engine.now()}).start;
}

}  // namespace berth::sim
