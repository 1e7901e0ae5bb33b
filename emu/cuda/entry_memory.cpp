// CUDA driver API: device memory, pools, page-locked host memory.
#include <algorithm>
#include <cstdlib>

#include "emu/cuda/driver.hpp"

namespace berth::emu {
namespace {

constexpr std::size_t kPitchStep = 512;
constexpr std::size_t kHostPage = 4096;

CudaResult allocate(Driver& driver, Context& context, CudaAddress* address, std::size_t bytes) {
  if (address == nullptr) return CudaResult::InvalidValue;
  auto& device = *context.device;
  const auto base = device.allocate(bytes, &context);
  if (!base) return base.error();
  *address = *base;
  auto& high = driver.pool_of(device)->high_bytes;
  high = std::max(high, device.allocated_bytes());
  return CudaResult::Success;
}

/// Freeing 0 is allowed and does nothing, as with free(3).
CudaResult release(Driver& driver, CudaAddress address) {
  if (address == 0) return CudaResult::Success;
  auto* device = driver.device_at(address);
  return device == nullptr ? CudaResult::InvalidValue : device->free(address);
}

/// A free waits for kernels that may still use the memory; then the memory goes back.
CudaResult free_when_idle(CudaAddress address) {
  const auto waited = wait_for([&](Driver& driver, Context& context, Pending& pending) {
    auto* device = driver.device_at(address);
    pending.device = device == nullptr ? context.device : device;
    pending.target = device == nullptr ? 0 : device->queue_end();
    return CudaResult::Success;
  });
  if (waited != CudaResult::Success) return waited;
  return with_context([&](Driver& driver, Context&) { return release(driver, address); });
}

bool is_stream(Driver& driver, Stream* stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= kPerThreadStream ||
         driver.streams().contains(stream);
}

CudaResult allocate_async(CudaAddress* address, std::size_t bytes, Stream* stream) {
  return with_context([&](Driver& driver, Context& context) {
    if (!is_stream(driver, stream)) return CudaResult::InvalidHandle;
    return allocate(driver, context, address, bytes);
  });
}

enum PoolAttribute : int {
  kReuseFirst = 1,
  kReuseLast = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  kReservedHigh = 6,
  kUsedCurrent = 7,
  kUsedHigh = 8,
};

template <class Body>
CudaResult with_pool(MemoryPool* pool, const void* argument, const Body& body) {
  return with_driver([&](Driver& driver) {
    if (!driver.is_pool(pool) || argument == nullptr) return CudaResult::InvalidValue;
    return body();
  });
}

CudaResult default_pool(MemoryPool** pool, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver& driver, Device& device) {
    if (pool == nullptr) return CudaResult::InvalidValue;
    *pool = driver.pool_of(device);
    return CudaResult::Success;
  });
}

CudaResult allocate_host(void** pointer, std::size_t bytes) {
  return with_context([&](Driver&, Context&) {
    if (pointer == nullptr || bytes == 0) return CudaResult::InvalidValue;
    return ::posix_memalign(pointer, kHostPage, bytes) == 0 ? CudaResult::Success
                                                            : CudaResult::OutOfMemory;
  });
}

}  // namespace

extern "C" {

CudaResult cuMemAlloc_v2(CudaAddress* address, std::size_t bytes) {
  return with_context(
      [&](Driver& driver, Context& context) { return allocate(driver, context, address, bytes); });
}

CudaResult cuMemAllocPitch_v2(CudaAddress* address, std::size_t* pitch, std::size_t width,
                              std::size_t height, unsigned element_bytes) {
  return with_context([&](Driver& driver, Context& context) {
    const bool is_element = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
    if (pitch == nullptr || width == 0 || height == 0 || !is_element) {
      return CudaResult::InvalidValue;
    }
    const auto row = (width + kPitchStep - 1) / kPitchStep * kPitchStep;
    std::size_t bytes = 0;
    if (row < width || __builtin_mul_overflow(row, height, &bytes)) return CudaResult::OutOfMemory;
    *pitch = row;
    return allocate(driver, context, address, bytes);
  });
}

CudaResult cuMemFree_v2(CudaAddress address) { return free_when_idle(address); }

CudaResult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return with_context([&](Driver&, Context& context) {
    if (free != nullptr) *free = context.device->free_bytes();
    if (total != nullptr) *total = context.device->total_bytes();
    return CudaResult::Success;
  });
}

CudaResult cuMemGetAddressRange_v2(CudaAddress* base, std::size_t* bytes, CudaAddress address) {
  return with_context([&](Driver& driver, Context&) {
    const auto* device = driver.device_at(address);
    if (device == nullptr) return CudaResult::NotFound;
    const auto placed = *device->addresses().find(address);
    if (base != nullptr) *base = placed.base;
    if (bytes != nullptr) *bytes = placed.allocation.bytes;
    return CudaResult::Success;
  });
}

CudaResult cuMemAllocAsync(CudaAddress* address, std::size_t bytes, Stream* stream) {
  return allocate_async(address, bytes, stream);
}

CudaResult cuMemAllocFromPoolAsync(CudaAddress* address, std::size_t bytes, MemoryPool* pool,
                                   Stream* stream) {
  const auto checked = with_pool(pool, address, [] { return CudaResult::Success; });
  return checked == CudaResult::Success ? allocate_async(address, bytes, stream) : checked;
}

/// The memory is back at once, not when the stream gets there: kernels do not touch it.
CudaResult cuMemFreeAsync(CudaAddress address, Stream* stream) {
  return with_context([&](Driver& driver, Context&) {
    if (!is_stream(driver, stream)) return CudaResult::InvalidHandle;
    return release(driver, address);
  });
}

CudaResult cuDeviceGetDefaultMemPool(MemoryPool** pool, CudaDevice device) {
  return default_pool(pool, device);
}

CudaResult cuDeviceGetMemPool(MemoryPool** pool, CudaDevice device) {
  return default_pool(pool, device);
}

/// There is one pool per device, so only that one can be set.
CudaResult cuDeviceSetMemPool(CudaDevice ordinal, MemoryPool* pool) {
  return with_device(ordinal, [&](Driver& driver, Device& device) {
    return pool == driver.pool_of(device) ? CudaResult::Success : CudaResult::InvalidValue;
  });
}

CudaResult cuMemPoolTrimTo(MemoryPool* pool, std::size_t) {
  return with_pool(pool, pool, [] { return CudaResult::Success; });
}

CudaResult cuMemPoolSetAttribute(MemoryPool* pool, int attribute, void* value) {
  return with_pool(pool, value, [&] {
    if (attribute >= kReuseFirst && attribute <= kReuseLast) return CudaResult::Success;
    const auto number = *static_cast<const std::uint64_t*>(value);
    if (attribute == kReleaseThreshold) {
      pool->release_threshold = number;
    } else if ((attribute == kReservedHigh || attribute == kUsedHigh) && number == 0) {
      pool->high_bytes = pool->device->allocated_bytes();
    } else {
      return CudaResult::InvalidValue;
    }
    return CudaResult::Success;
  });
}

CudaResult cuMemPoolGetAttribute(MemoryPool* pool, int attribute, void* value) {
  return with_pool(pool, value, [&] {
    if (attribute >= kReuseFirst && attribute <= kReuseLast) {
      *static_cast<int*>(value) = 1;
      return CudaResult::Success;
    }
    auto& number = *static_cast<std::uint64_t*>(value);
    switch (attribute) {
      case kReleaseThreshold:
        number = pool->release_threshold;
        return CudaResult::Success;
      case kReservedCurrent:
      case kUsedCurrent:
        number = pool->device->allocated_bytes();
        return CudaResult::Success;
      case kReservedHigh:
      case kUsedHigh:
        number = pool->high_bytes;
        return CudaResult::Success;
      default:
        return CudaResult::InvalidValue;
    }
  });
}

CudaResult cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
  return allocate_host(pointer, bytes);
}

CudaResult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return allocate_host(pointer, bytes);
}

CudaResult cuMemFreeHost(void* pointer) {
  return with_context([&](Driver&, Context&) {
    std::free(pointer);
    return CudaResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
