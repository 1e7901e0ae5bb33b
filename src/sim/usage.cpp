#include "sim/usage.hpp"

#include <algorithm>

#include "core/base/rate.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

namespace {

constexpr std::int64_t kGpuMilli = 1000;

std::int64_t share_of(const GpuRequest& asked) {
  const bool is_part = asked.sharing != Sharing::Alone && asked.milli > GpuMilli(0);
  return is_part ? std::min(asked.milli.raw(), kGpuMilli) : kGpuMilli;
}

}  // namespace

Usage::Usage(std::size_t gpus, Instant start, const Window& arrivals)
    : on_(gpus), start_(start), since_(start), window_(arrivals) {}

void Usage::Integral::add(const Sums& sums, Duration time) {
  milli += Wide{sums.milli} * micros(time);
  gpus += Wide{sums.gpus} * micros(time);
  tenants += Wide{sums.tenants} * micros(time);
  load += Wide{sums.load} * micros(time);
  bytes += Wide{sums.bytes} * micros(time);
}

Use Usage::Integral::over(Duration time) const {
  return {.seconds = in_seconds(time),
          .allocated = static_cast<double>(milli) / 1e9,
          .busy = static_cast<double>(gpus) / 1e6,
          .tenancy = static_cast<double>(tenants) / 1e6,
          .kernels = static_cast<double>(load) / 1e12,
          .held = static_cast<double>(bytes) / 1e6};
}

void Usage::advance(Instant now) {
  if (now <= since_) return;
  whole_.add(sums_, now - since_);
  const Instant from = std::max(since_, window_.from);
  const Instant to = std::min(now, window_.to);
  if (to > from) arriving_.add(sums_, to - from);
  since_ = now;
}

void Usage::begin(const GpuRequest& asked, std::span<const GpuId> gpus, Instant now) {
  advance(now);
  change(gpus, share_of(asked), 1);
}

void Usage::end(const GpuRequest& asked, std::span<const GpuId> gpus, Instant now) {
  advance(now);
  change(gpus, -share_of(asked), -1);
}

void Usage::add_load(GpuId gpu, std::int64_t more, Instant now) {
  advance(now);
  OnGpu& on = on_[gpu.value()];
  sums_.load -= std::min(on.load, Rate::kWhole);
  on.load += more;
  sums_.load += std::min(on.load, Rate::kWhole);
}

void Usage::hold(Bytes bytes, Instant now) {
  advance(now);
  sums_.bytes = bytes.raw();
}

void Usage::change(std::span<const GpuId> gpus, std::int64_t milli, std::int32_t tenants) {
  for (const GpuId id : gpus) {
    OnGpu& gpu = on_[id.value()];
    sums_.milli -= std::min(gpu.milli, kGpuMilli);
    sums_.gpus -= gpu.tenants > 0 ? 1 : 0;
    gpu.tenants += tenants;
    gpu.milli += milli;
    sums_.milli += std::min(gpu.milli, kGpuMilli);
    sums_.gpus += gpu.tenants > 0 ? 1 : 0;
    sums_.tenants += tenants;
  }
}

Use Usage::whole(Instant now) {
  advance(now);
  return whole_.over(now - start_);
}

Use Usage::arriving(Instant now) {
  advance(now);
  const Instant from = std::max(start_, window_.from);
  const Instant to = std::min(now, window_.to);
  return arriving_.over(std::max(Duration(0), to - from));
}

}  // namespace berth::sim
