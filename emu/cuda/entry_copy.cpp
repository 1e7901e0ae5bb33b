// CUDA driver API: copies and fills. They take no GPU time; the synchronous ones wait for the
// kernels queued before them, as on a card.
#include "emu/cuda/driver.hpp"

namespace berth::emu {
namespace {

/// Runs `body(device)` if the range lies in one allocation.
template <class Body>
CudaResult on_range(CudaAddress address, std::size_t bytes, const Body& body) {
  return with_context([&](Driver& driver, Context&) {
    if (bytes == 0) return CudaResult::Success;
    auto* device = driver.device_at(address);
    if (device == nullptr || !device->holds(address, bytes)) return CudaResult::InvalidValue;
    return body(driver, *device);
  });
}

CudaResult synchronise() {
  return wait_for([](Driver&, Context& context, Pending& pending) {
    pending = {context.device, context.device->queue_end()};
    return CudaResult::Success;
  });
}

CudaResult to_device(CudaAddress target, const void* source, std::size_t bytes) {
  return on_range(target, bytes, [&](Driver&, Device& device) {
    if (source == nullptr) return CudaResult::InvalidValue;
    device.bytes().write(target, source, bytes);
    return CudaResult::Success;
  });
}

CudaResult to_host(void* target, CudaAddress source, std::size_t bytes) {
  return on_range(source, bytes, [&](Driver&, Device& device) {
    if (target == nullptr) return CudaResult::InvalidValue;
    device.bytes().read(source, target, bytes);
    return CudaResult::Success;
  });
}

CudaResult on_device(CudaAddress target, CudaAddress source, std::size_t bytes) {
  return on_range(target, bytes, [&](Driver& driver, Device& device) {
    auto* from = driver.device_at(source);
    if (from == nullptr || !from->holds(source, bytes)) return CudaResult::InvalidValue;
    if (from != &device) return CudaResult::PeerAccessUnsupported;
    device.bytes().copy(target, source, bytes);
    return CudaResult::Success;
  });
}

template <class Pattern>
CudaResult fill(CudaAddress target, Pattern pattern, std::size_t count) {
  const auto bytes = count * sizeof(Pattern);
  if (bytes / sizeof(Pattern) != count || target % sizeof(Pattern) != 0) {
    return CudaResult::InvalidValue;
  }
  return on_range(target, bytes, [&](Driver&, Device& device) {
    device.bytes().fill(target, &pattern, sizeof pattern, bytes);
    return CudaResult::Success;
  });
}

/// Does `body` when what was queued before has ended.
template <class Body>
CudaResult in_order(const Body& body) {
  const auto waited = synchronise();
  return waited == CudaResult::Success ? body() : waited;
}

}  // namespace

extern "C" {

CudaResult cuMemcpyHtoD_v2(CudaAddress target, const void* source, std::size_t bytes) {
  return in_order([&] { return to_device(target, source, bytes); });
}

CudaResult cuMemcpyDtoH_v2(void* target, CudaAddress source, std::size_t bytes) {
  return in_order([&] { return to_host(target, source, bytes); });
}

CudaResult cuMemcpyDtoD_v2(CudaAddress target, CudaAddress source, std::size_t bytes) {
  return in_order([&] { return on_device(target, source, bytes); });
}

CudaResult cuMemcpyHtoDAsync_v2(CudaAddress target, const void* source, std::size_t bytes,
                                Stream*) {
  return to_device(target, source, bytes);
}

CudaResult cuMemcpyDtoHAsync_v2(void* target, CudaAddress source, std::size_t bytes, Stream*) {
  return to_host(target, source, bytes);
}

CudaResult cuMemcpyDtoDAsync_v2(CudaAddress target, CudaAddress source, std::size_t bytes,
                                Stream*) {
  return on_device(target, source, bytes);
}

CudaResult cuMemsetD8_v2(CudaAddress target, unsigned char value, std::size_t count) {
  return fill(target, value, count);
}

CudaResult cuMemsetD16_v2(CudaAddress target, unsigned short value, std::size_t count) {
  return fill(target, value, count);
}

CudaResult cuMemsetD32_v2(CudaAddress target, unsigned value, std::size_t count) {
  return fill(target, value, count);
}

CudaResult cuMemsetD8Async(CudaAddress target, unsigned char value, std::size_t count, Stream*) {
  return fill(target, value, count);
}

CudaResult cuMemsetD16Async(CudaAddress target, unsigned short value, std::size_t count, Stream*) {
  return fill(target, value, count);
}

CudaResult cuMemsetD32Async(CudaAddress target, unsigned value, std::size_t count, Stream*) {
  return fill(target, value, count);
}

}  // extern "C"

}  // namespace berth::emu
