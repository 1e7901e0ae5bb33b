// CUDA driver API: contexts, the current one of each thread, primary contexts.
#include "emu/cuda/driver.hpp"

namespace berth::emu {
namespace {

CudaResult create(Context** out, unsigned flags, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver& driver, Device& device) {
    if (out == nullptr) return CudaResult::InvalidValue;
    const auto context = driver.create_context(device, flags);
    if (!context) return context.error();
    context_stack().push_back(*context);
    *out = *context;
    return CudaResult::Success;
  });
}

/// Runs `body(driver, context)` for a context given by handle.
template <class Body>
CudaResult with_handle(Context* context, const Body& body) {
  return with_driver([&](Driver& driver) {
    return driver.is_live(context) ? body(driver, *context) : CudaResult::InvalidContext;
  });
}

CudaResult pop(Context** out) {
  return with_driver([&](Driver&) {
    auto& stack = context_stack();
    if (stack.empty()) return CudaResult::InvalidContext;
    if (out != nullptr) *out = stack.back();
    stack.pop_back();
    return CudaResult::Success;
  });
}

}  // namespace

extern "C" {

CudaResult cuCtxCreate_v2(Context** context, unsigned flags, CudaDevice device) {
  return create(context, flags, device);
}

CudaResult cuCtxCreate(Context** context, unsigned flags, CudaDevice device) {
  return create(context, flags, device);
}

/// Execution affinity, the addition of _v3, needs MPS.
CudaResult cuCtxCreate_v3(Context** context, void* affinities, int count, unsigned flags,
                          CudaDevice device) {
  if (affinities != nullptr && count != 0) return CudaResult::NotSupported;
  return create(context, flags, device);
}

CudaResult cuCtxCreate_v4(Context** context, void* parameters, unsigned flags, CudaDevice device) {
  if (parameters != nullptr) return CudaResult::NotSupported;
  return create(context, flags, device);
}

CudaResult cuCtxDestroy_v2(Context* context) {
  return with_handle(context, [&](Driver& driver, Context&) {
    if (context->is_primary) return CudaResult::InvalidContext;  // released, not destroyed
    driver.destroy_context(context);
    auto& stack = context_stack();
    if (!stack.empty() && stack.back() == context) stack.pop_back();
    return CudaResult::Success;
  });
}

CudaResult cuCtxDestroy(Context* context) { return cuCtxDestroy_v2(context); }

CudaResult cuCtxPushCurrent_v2(Context* context) {
  return with_handle(context, [&](Driver&, Context&) {
    context_stack().push_back(context);
    return CudaResult::Success;
  });
}

CudaResult cuCtxPushCurrent(Context* context) { return cuCtxPushCurrent_v2(context); }

CudaResult cuCtxPopCurrent_v2(Context** context) { return pop(context); }
CudaResult cuCtxPopCurrent(Context** context) { return pop(context); }

/// Replaces the top of the stack; no context at all removes it.
CudaResult cuCtxSetCurrent(Context* context) {
  return with_driver([&](Driver& driver) {
    if (context != nullptr && !driver.is_live(context)) return CudaResult::InvalidContext;
    auto& stack = context_stack();
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return CudaResult::Success;
  });
}

CudaResult cuCtxGetCurrent(Context** context) {
  return with_driver([&](Driver&) {
    if (context == nullptr) return CudaResult::InvalidValue;
    const auto& stack = context_stack();
    *context = stack.empty() ? nullptr : stack.back();
    return CudaResult::Success;
  });
}

CudaResult cuCtxGetDevice(CudaDevice* device) {
  return with_context([&](Driver&, Context& context) {
    if (device == nullptr) return CudaResult::InvalidValue;
    *device = context.device->ordinal();
    return CudaResult::Success;
  });
}

CudaResult cuCtxGetFlags(unsigned* flags) {
  return with_context([&](Driver&, Context& context) {
    if (flags == nullptr) return CudaResult::InvalidValue;
    *flags = context.flags;
    return CudaResult::Success;
  });
}

CudaResult cuCtxGetApiVersion(Context* context, unsigned* version) {
  return with_driver([&](Driver& driver) {
    if (version == nullptr) return CudaResult::InvalidValue;
    if (context != nullptr && !driver.is_live(context)) return CudaResult::InvalidContext;
    *version = 3020;  // since when contexts are what _v2 makes
    return CudaResult::Success;
  });
}

CudaResult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_context([&](Driver&, Context&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = 0;
    return CudaResult::Success;
  });
}

CudaResult cuCtxSynchronize() {
  return wait_for([](Driver&, Context& context, Pending& pending) {
    pending = {context.device, context.device->queue_end()};
    return CudaResult::Success;
  });
}

CudaResult cuDevicePrimaryCtxRetain(Context** out, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver& driver, Device& device) {
    if (out == nullptr) return CudaResult::InvalidValue;
    const auto context = driver.retain_primary(device);
    if (!context) return context.error();
    *out = *context;
    return CudaResult::Success;
  });
}

CudaResult cuDevicePrimaryCtxRelease_v2(CudaDevice ordinal) {
  return with_device(ordinal,
                     [](Driver& driver, Device& device) { return driver.release_primary(device); });
}

CudaResult cuDevicePrimaryCtxRelease(CudaDevice ordinal) {
  return cuDevicePrimaryCtxRelease_v2(ordinal);
}

CudaResult cuDevicePrimaryCtxReset_v2(CudaDevice ordinal) {
  return with_device(ordinal,
                     [](Driver& driver, Device& device) { return driver.reset_primary(device); });
}

CudaResult cuDevicePrimaryCtxReset(CudaDevice ordinal) {
  return cuDevicePrimaryCtxReset_v2(ordinal);
}

CudaResult cuDevicePrimaryCtxSetFlags_v2(CudaDevice ordinal, unsigned flags) {
  return with_device(ordinal, [&](Driver& driver, Device& device) {
    return driver.set_primary_flags(device, flags);
  });
}

/// Before _v2 the flags of an active context could not change.
CudaResult cuDevicePrimaryCtxSetFlags(CudaDevice ordinal, unsigned flags) {
  return with_device(ordinal, [&](Driver& driver, Device& device) {
    if (driver.is_primary_active(device)) return CudaResult::PrimaryContextActive;
    return driver.set_primary_flags(device, flags);
  });
}

CudaResult cuDevicePrimaryCtxGetState(CudaDevice ordinal, unsigned* flags, int* active) {
  return with_device(ordinal, [&](Driver& driver, Device& device) {
    if (flags == nullptr || active == nullptr) return CudaResult::InvalidValue;
    *flags = driver.primary_flags(device);
    *active = driver.is_primary_active(device) ? 1 : 0;
    return CudaResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
