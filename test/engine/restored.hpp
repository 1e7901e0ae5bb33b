// What must hold of any bytes given to a restore: they are refused, or give an engine that is sound
// and can go on.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::test {

/// What the shells could say next of an engine they know nothing of: every job is where it should
/// be a little later, one more comes.
inline std::vector<Input> next_answers(const Engine& engine, JobId newcomer) {
  std::vector<Input> inputs;
  for (const JobId id : engine.view().running()) {
    const Job& job = *engine.view().find(id);
    if (job.state == JobState::Starting) inputs.push_back(Started{id, job.attempt});
    if (job.state == JobState::Running && id.value() % 2 == 0) {
      inputs.push_back(Exited{.job = id, .attempt = job.attempt});
    }
    if (job.state == JobState::Stopping) inputs.push_back(Released{id, job.attempt});
  }
  Submitted submitted{.job = newcomer, .spec = {.user = UserId(1)}};
  submitted.spec.request.gpu.count = GpuCount(1);
  inputs.push_back(std::move(submitted));
  inputs.push_back(Ticked{});
  return inputs;
}

enum class Restored : std::uint8_t { Refused, Sound };

/// What is left once bad jobs are put aside, and the same at an earlier time. Errors: as below.
inline Expected<void> salvage_and_set_back(std::string_view bytes, std::string_view policy) {
  const auto fresh = [&] { return std::move(*make_policy(policy, "first-fit")); };
  auto salvaged = Engine::salvage(bytes, fresh());
  if (!salvaged) return {};
  const Engine& engine = salvaged->engine;
  if (const auto broken = engine.check()) return fail(ErrorCode::BadData, *broken);
  const auto again = Engine::restore_state(engine.save(), fresh());
  if (!again) return fail(ErrorCode::BadData, "not restored again: " + again.error().message);
  const auto back = engine.set_back(std::min(engine.now(), kStart + seconds(1)), fresh());
  if (!back) return fail(ErrorCode::BadData, "not set back: " + back.error().message);
  if (const auto broken = back->check()) return fail(ErrorCode::BadData, *broken);
  return {};
}

/// Errors: BadData with what is wrong with an engine that was restored.
inline Expected<Restored> restore_and_go_on(std::string_view bytes, std::string_view policy) {
  const auto fresh = [&] { return std::move(*make_policy(policy, "first-fit")); };
  if (auto done = salvage_and_set_back(bytes, policy); !done) return std::unexpected(done.error());
  auto engine = Engine::restore(bytes, fresh());
  if (!engine) return Restored::Refused;
  if (const auto broken = engine->check()) return fail(ErrorCode::BadData, *broken);
  const std::string saved = engine->save();
  const auto again = Engine::restore(saved, fresh());
  if (!again) return fail(ErrorCode::BadData, "not restored again: " + again.error().message);
  if (again->save() != saved) return fail(ErrorCode::BadData, "saved otherwise the second time");
  std::uint64_t last = 0;
  engine->view().for_each_job([&](const Job& job) { last = job.id.value(); });
  for (int step = 1; step <= 3; ++step) {
    const std::vector<Input> inputs = next_answers(*engine, JobId(++last));
    engine->step(engine->now() + seconds(step * 100), inputs);
    if (const auto broken = engine->check()) {
      return fail(ErrorCode::BadData, "step " + std::to_string(step) + ": " + *broken);
    }
  }
  return Restored::Sound;
}

}  // namespace berth::test
