// CUDA driver API: streams and events. All streams of a process on one GPU share one queue, so
// waiting across streams needs nothing.
#include <algorithm>

#include "emu/cuda/driver.hpp"

namespace berth::emu {
namespace {

/// Finds what a stream handle stands for: its device and the end of its work.
CudaResult resolve(Driver& driver, Context& context, Stream* stream, Pending& pending) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= kPerThreadStream) {
    pending = {context.device, context.device->queue_end()};
    return CudaResult::Success;
  }
  if (!driver.streams().contains(stream)) return CudaResult::InvalidHandle;
  pending = {stream->context->device, stream->target};
  return CudaResult::Success;
}

CudaResult create_stream(Stream** stream, unsigned flags, int priority) {
  constexpr unsigned kNonBlocking = 1;
  return with_context([&](Driver& driver, Context& context) {
    if (stream == nullptr || flags > kNonBlocking) return CudaResult::InvalidValue;
    *stream = driver.streams().add({.context = &context, .flags = flags, .priority = priority});
    return CudaResult::Success;
  });
}

/// Runs `body(stream)` for a stream that is an object.
template <class Body>
CudaResult with_stream(Stream* stream, const Body& body) {
  return with_context([&](Driver& driver, Context&) {
    return driver.streams().contains(stream) ? body(*stream) : CudaResult::InvalidHandle;
  });
}

CudaResult record(Event* event, Stream* stream) {
  return with_context([&](Driver& driver, Context& context) {
    if (!driver.events().contains(event)) return CudaResult::InvalidHandle;
    Pending pending;
    const auto found = resolve(driver, context, stream, pending);
    if (found != CudaResult::Success) return found;
    auto& device = *pending.device;
    if (event->context->device != &device) return CudaResult::InvalidHandle;
    device.unwatch(event);
    const bool idle = device.has_reached(pending.target);
    event->is_recorded = true;
    event->target = pending.target;
    event->reached_nanoseconds = idle ? monotonic_nanoseconds() : 0;
    if (!idle) device.watch(event);
    return CudaResult::Success;
  });
}

CudaResult elapsed(float* milliseconds, Event* start, Event* end) {
  constexpr double kMillisecond = 1e6;
  return with_context([&](Driver& driver, Context&) {
    if (milliseconds == nullptr) return CudaResult::InvalidValue;
    for (auto* event : {start, end}) {
      if (!driver.events().contains(event) || !event->is_recorded ||
          (event->flags & kEventDisableTiming) != 0) {
        return CudaResult::InvalidHandle;
      }
      event->context->device->observe();
      if (event->reached_nanoseconds == 0) return CudaResult::NotReady;
    }
    const auto from = static_cast<double>(start->reached_nanoseconds);
    const auto to = static_cast<double>(end->reached_nanoseconds);
    *milliseconds = static_cast<float>((to - from) / kMillisecond);
    return CudaResult::Success;
  });
}

}  // namespace

extern "C" {

CudaResult cuStreamCreate(Stream** stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}

CudaResult cuStreamCreateWithPriority(Stream** stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

/// What is queued still runs; only the handle goes.
CudaResult cuStreamDestroy_v2(Stream* stream) {
  return with_driver([&](Driver& driver) {
    return driver.streams().remove(stream) ? CudaResult::Success : CudaResult::InvalidHandle;
  });
}

CudaResult cuStreamDestroy(Stream* stream) { return cuStreamDestroy_v2(stream); }

CudaResult cuStreamSynchronize(Stream* stream) {
  return wait_for([&](Driver& driver, Context& context, Pending& pending) {
    return resolve(driver, context, stream, pending);
  });
}

CudaResult cuStreamQuery(Stream* stream) {
  return with_context([&](Driver& driver, Context& context) {
    Pending pending;
    const auto found = resolve(driver, context, stream, pending);
    if (found != CudaResult::Success) return found;
    return pending.device->has_reached(pending.target) ? CudaResult::Success : CudaResult::NotReady;
  });
}

CudaResult cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  return with_context([&](Driver& driver, Context& context) {
    Pending pending;
    if (!driver.events().contains(event)) return CudaResult::InvalidHandle;
    const auto found = resolve(driver, context, stream, pending);
    const bool is_object = reinterpret_cast<std::uintptr_t>(stream) > kPerThreadStream;
    if (found == CudaResult::Success && is_object && event->is_recorded &&
        event->context->device == pending.device) {
      stream->target = std::max(stream->target, event->target);
    }
    return found;
  });
}

CudaResult cuStreamGetFlags(Stream* stream, unsigned* flags) {
  return with_stream(stream, [&](const Stream& found) {
    if (flags == nullptr) return CudaResult::InvalidValue;
    *flags = found.flags;
    return CudaResult::Success;
  });
}

CudaResult cuStreamGetPriority(Stream* stream, int* priority) {
  return with_stream(stream, [&](const Stream& found) {
    if (priority == nullptr) return CudaResult::InvalidValue;
    *priority = found.priority;
    return CudaResult::Success;
  });
}

CudaResult cuStreamGetCtx(Stream* stream, Context** context) {
  return with_stream(stream, [&](const Stream& found) {
    if (context == nullptr) return CudaResult::InvalidValue;
    *context = found.context;
    return CudaResult::Success;
  });
}

CudaResult cuEventCreate(Event** event, unsigned flags) {
  return with_context([&](Driver& driver, Context& context) {
    if (event == nullptr) return CudaResult::InvalidValue;
    *event = driver.events().add({.context = &context, .flags = flags});
    return CudaResult::Success;
  });
}

CudaResult cuEventDestroy_v2(Event* event) {
  return with_driver([&](Driver& driver) {
    if (!driver.events().contains(event)) return CudaResult::InvalidHandle;
    event->context->device->unwatch(event);
    driver.events().remove(event);
    return CudaResult::Success;
  });
}

CudaResult cuEventDestroy(Event* event) { return cuEventDestroy_v2(event); }

CudaResult cuEventRecord(Event* event, Stream* stream) { return record(event, stream); }

CudaResult cuEventRecordWithFlags(Event* event, Stream* stream, unsigned) {
  return record(event, stream);
}

/// An event never recorded counts as reached.
CudaResult cuEventQuery(Event* event) {
  return with_context([&](Driver& driver, Context&) {
    if (!driver.events().contains(event)) return CudaResult::InvalidHandle;
    if (!event->is_recorded) return CudaResult::Success;
    event->context->device->observe();
    return event->reached_nanoseconds != 0 ? CudaResult::Success : CudaResult::NotReady;
  });
}

CudaResult cuEventSynchronize(Event* event) {
  return wait_for([&](Driver& driver, Context&, Pending& pending) {
    if (!driver.events().contains(event)) return CudaResult::InvalidHandle;
    pending = {event->context->device, event->target};
    return CudaResult::Success;
  });
}

CudaResult cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  return elapsed(milliseconds, start, end);
}

CudaResult cuEventElapsedTime_v2(float* milliseconds, Event* start, Event* end) {
  return elapsed(milliseconds, start, end);
}

}  // extern "C"

}  // namespace berth::emu
