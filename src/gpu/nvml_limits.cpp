// The port's part about memory limits of cgroups.
#include "gpu/nvml.hpp"

namespace berth {

namespace {

using nvml::Result;

/// What the driver means by its word, where that is known.
Error refusal_of(const nvml::Api& api, const char* call, std::uint32_t gpu, Result result) {
  Error error = nvml::error_of(api, call, gpu, result);
  if (result == Result::NotSupported) error.code = ErrorCode::NotFound;
  if (result == Result::NotFound) error.message += ": no cgroup v2 with GPU memory (dmem)";
  return error;
}

/// The driver refuses instances: their memory is their own as it is.
constexpr const char* kNotUnderMig = "a MIG instance: the driver's memory limits are not for these";

unsigned long long count_of(Bytes bytes) { return static_cast<unsigned long long>(bytes.raw()); }

}  // namespace

Expected<void> GpuPort::set_limits(std::uint32_t, const std::string&, const MemoryLimits&) {
  return fail(ErrorCode::NotFound, "this driver has no memory limits");
}

Expected<void> GpuPort::keep_accounts(std::uint32_t) {
  return fail(ErrorCode::NotFound, "this driver keeps no accounts");
}

Expected<LimitsInForce> GpuPort::limits(std::uint32_t, const std::string&) {
  return fail(ErrorCode::NotFound, "this driver has no memory limits");
}

Expected<void> Nvml::set_limits(std::uint32_t device, const std::string& cgroup,
                                const MemoryLimits& limits) {
  const auto found = gpu(device);
  if (!found) return std::unexpected(found.error());
  if (found->is_instance()) return fail(ErrorCode::InvalidArgument, kNotUnderMig);
  nvml::SetLimits wanted{.cgroup = cgroup.c_str(),
                         .soft = count_of(limits.guaranteed),
                         .hard = limits.most ? count_of(*limits.most) : nvml::kNoLimit};
  const Result result = api_.set_limits(found->handle, &wanted);
  if (result == Result::Success) return {};
  return std::unexpected(refusal_of(api_, api_.set_limits.name, device, result));
}

Expected<LimitsInForce> Nvml::limits(std::uint32_t device, const std::string& cgroup) {
  const auto found = gpu(device);
  if (!found) return std::unexpected(found.error());
  if (found->is_instance()) return fail(ErrorCode::InvalidArgument, kNotUnderMig);
  nvml::GetLimits got{.cgroup = cgroup.c_str(), .soft = 0, .hard = nvml::kNoLimit, .used = 0};
  const Result result = api_.get_limits(found->handle, &got);
  if (result != Result::Success) {
    return std::unexpected(refusal_of(api_, api_.get_limits.name, device, result));
  }
  LimitsInForce limits{.limits = {.guaranteed = Bytes(static_cast<std::int64_t>(got.soft))},
                       .used = Bytes(static_cast<std::int64_t>(got.used))};
  if (got.hard != nvml::kNoLimit) limits.limits.most = Bytes(static_cast<std::int64_t>(got.hard));
  return limits;
}

}  // namespace berth
