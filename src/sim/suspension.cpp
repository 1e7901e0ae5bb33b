#include "sim/suspension.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "core/base/rng.hpp"
#include "core/base/wide.hpp"
#include "core/text/amounts.hpp"

namespace berth::sim {

namespace {

constexpr std::uint64_t kFailingStream = std::uint64_t{5} << 32;  ///< Apart from all others.

/// Rounded up. Nodes copy at the same time, so the largest part decides.
Duration time_to_copy(std::span<const Suspension::OnNode> memory, Bytes a_second) {
  if (a_second == Bytes(0) || memory.empty()) return Duration(0);
  const Bytes most = std::ranges::max(memory, {}, &Suspension::OnNode::bytes).bytes;
  const Wide microseconds =
      (Wide{most.raw()} * 1'000'000 + a_second.raw() - 1) / Wide{a_second.raw()};
  return Duration(static_cast<std::int64_t>(microseconds));
}

}  // namespace

Expected<SuspendRate> parse_suspend_rate(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto out = parse_size(text.substr(0, colon));
  const auto back = parse_size(colon == text.npos ? "" : text.substr(colon + 1));
  if (out && back) return SuspendRate{.out = *out, .back = *back};
  return fail(ErrorCode::InvalidArgument, "--suspend-rate: '" + std::string(text) +
                                              "' is not OUT:IN in bytes a second, such as 2G:6G");
}

std::optional<Bytes> SuspendModel::room_on(std::size_t nodes) const {
  if (!host_memory) return std::nullopt;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return Bytes(static_cast<std::int64_t>(
      std::min(Wide{host_memory->raw()} * static_cast<std::int64_t>(nodes), Wide{kMost})));
}

Suspension::Suspension(const trace::Trace& trace, const SuspendModel& model, std::uint64_t seed)
    : trace_(trace), model_(model), seed_(seed) {}

bool Suspension::can_be(std::size_t job) const {
  const JobSpec& spec = trace_.jobs[job].spec;
  if (spec.conditions->on_preempt.signal != 0) return true;  // it saves its state instead
  if (usual_suspending(spec.duration_class, false) == Suspending::No) return false;
  if (model_.one_gpu_only && spec.request.gpu.count > GpuCount(1)) return false;
  return model_.fails == 0 || Rng(seed_, kFailingStream + job).between(1, 100) > model_.fails;
}

std::optional<Duration> Suspension::suspend(std::size_t job, std::vector<OnNode> memory) {
  const auto has_room = [&](const OnNode& part) {
    return !model_.host_memory || taken_[part.node] + part.bytes <= *model_.host_memory;
  };
  if (!std::ranges::all_of(memory, has_room)) return std::nullopt;
  for (const OnNode& part : memory) most_ = std::max(most_, taken_[part.node] += part.bytes);
  const Duration time = time_to_copy(memory, model_.rate.out);
  suspended_.insert_or_assign(job, std::move(memory));
  return time;
}

Duration Suspension::resume(std::size_t job) {
  const auto found = suspended_.extract(job);
  if (!found) return Duration(0);
  for (const OnNode& part : found.mapped()) taken_[part.node] -= part.bytes;
  return time_to_copy(found.mapped(), model_.rate.back);
}

}  // namespace berth::sim
