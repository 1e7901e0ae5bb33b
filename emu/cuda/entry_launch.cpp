// CUDA driver API: modules from PTX and kernel launches.
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "emu/cuda/driver.hpp"
#include "emu/cuda/ptx.hpp"
#include "emu/spin.hpp"

namespace berth::emu {
namespace {

Module module_of(Context& context, std::vector<PtxEntry> entries) {
  Module module{.context = &context, .functions = {}};
  for (auto& entry : entries) {
    const bool spin = entry.name == kSpinEntry && !entry.parameter_bytes.empty() &&
                      entry.parameter_bytes.front() == sizeof(std::uint64_t);
    module.functions[entry.name] = {entry.name, std::move(entry.parameter_bytes), spin};
  }
  return module;
}

CudaResult load(Module** out, const void* image) {
  return with_context([&](Driver& driver, Context& context) {
    if (out == nullptr || image == nullptr) return CudaResult::InvalidValue;
    if (is_binary_image(image)) return CudaResult::NoBinaryForGpu;
    auto entries = parse_ptx(static_cast<const char*>(image));
    if (!entries) return entries.error();
    *out = driver.modules().add(module_of(context, std::move(*entries)));
    return CudaResult::Success;
  });
}

struct Shape {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
};

CudaResult check(const Shape& shape) {
  constexpr std::uint64_t kThreads = 1024;
  constexpr unsigned kDepth = 64;
  constexpr unsigned kGridSide = 65535;
  if (shape.grid_x == 0 || shape.grid_y == 0 || shape.grid_z == 0) return CudaResult::InvalidValue;
  if (shape.grid_x > 0x7fffffff || shape.grid_y > kGridSide || shape.grid_z > kGridSide) {
    return CudaResult::InvalidValue;
  }
  if (shape.block_x == 0 || shape.block_y == 0 || shape.block_z == 0) {
    return CudaResult::InvalidValue;
  }
  if (shape.block_x > kThreads || shape.block_y > kThreads || shape.block_z > kDepth) {
    return CudaResult::InvalidValue;
  }
  const auto threads = std::uint64_t{shape.block_x} * shape.block_y * shape.block_z;
  return threads > kThreads ? CudaResult::InvalidValue : CudaResult::Success;
}

/// What the kernel gets, however the caller passed it.
struct Arguments {
  void** parameters;  // one pointer per parameter
  void** extra;       // or ids and values, ended by 0
};

/// The first parameter's address; nullptr when the caller passed none.
const void* first_parameter(const Arguments& arguments) {
  if (arguments.parameters != nullptr) return arguments.parameters[0];
  if (arguments.extra == nullptr) return nullptr;
  for (void** entry = arguments.extra; *entry != nullptr; entry += 2) {
    if (reinterpret_cast<std::uintptr_t>(*entry) == kLaunchParameterBuffer) return entry[1];
  }
  return nullptr;
}

/// How long the kernel keeps the GPU; nullopt when it lacks its parameters.
std::optional<std::uint64_t> duration_of(const Driver& driver, const Function& function,
                                         const Arguments& arguments) {
  const auto* first = first_parameter(arguments);
  if (!function.parameter_bytes.empty() && first == nullptr) return std::nullopt;
  if (!function.is_spin) return driver.default_kernel_nanoseconds();
  std::uint64_t nanoseconds = 0;
  std::memcpy(&nanoseconds, first, sizeof nanoseconds);
  return nanoseconds;
}

CudaResult launch(const Function* function, const Shape& shape, Stream* stream,
                  const Arguments& arguments) {
  return with_context([&](Driver& driver, Context& context) {
    if (!driver.is_function(function)) return CudaResult::InvalidHandle;
    if (const auto fits = check(shape); fits != CudaResult::Success) return fits;
    const bool is_object = reinterpret_cast<std::uintptr_t>(stream) > kPerThreadStream;
    if (is_object && !driver.streams().contains(stream)) return CudaResult::InvalidHandle;
    if (arguments.parameters != nullptr && arguments.extra != nullptr) {
      return CudaResult::InvalidValue;
    }
    if (function->name == kTrapEntry) {
      driver.trap();
      return CudaResult::Success;  // the next call tells
    }
    const auto duration = duration_of(driver, *function, arguments);
    if (!duration) return CudaResult::InvalidValue;
    auto& device = is_object ? *stream->context->device : *context.device;
    const auto end = device.enqueue(*duration);
    if (is_object) stream->target = end;
    return CudaResult::Success;
  });
}

}  // namespace

extern "C" {

CudaResult cuModuleLoadData(Module** module, const void* image) { return load(module, image); }

CudaResult cuModuleLoadDataEx(Module** module, const void* image, unsigned, int*, void**) {
  return load(module, image);
}

CudaResult cuModuleLoad(Module** module, const char* path) {
  if (path == nullptr) return CudaResult::InvalidValue;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CudaResult::FileNotFound;
  std::ostringstream text;
  text << file.rdbuf();
  return load(module, text.str().c_str());
}

CudaResult cuModuleLoadFatBinary(Module**, const void*) { return CudaResult::NoBinaryForGpu; }

CudaResult cuModuleUnload(Module* module) {
  return with_driver([&](Driver& driver) {
    return driver.modules().remove(module) ? CudaResult::Success : CudaResult::InvalidHandle;
  });
}

CudaResult cuModuleGetFunction(Function** function, Module* module, const char* name) {
  return with_context([&](Driver& driver, Context&) {
    if (function == nullptr || name == nullptr) return CudaResult::InvalidValue;
    if (!driver.modules().contains(module)) return CudaResult::InvalidHandle;
    const auto found = module->functions.find(name);
    if (found == module->functions.end()) return CudaResult::NotFound;
    *function = &found->second;
    return CudaResult::Success;
  });
}

CudaResult cuModuleGetGlobal_v2(CudaAddress*, std::size_t*, Module*, const char*) {
  return CudaResult::NotFound;
}

CudaResult cuFuncGetAttribute(int* value, int attribute, Function* function) {
  constexpr int kMostThreads = 0;
  return with_context([&](Driver& driver, Context&) {
    if (value == nullptr || attribute < 0) return CudaResult::InvalidValue;
    if (!driver.is_function(function)) return CudaResult::InvalidHandle;
    *value = attribute == kMostThreads ? 1024 : 0;
    return CudaResult::Success;
  });
}

CudaResult cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                          Stream* stream, void** parameters, void** extra) {
  return launch(function, {grid_x, grid_y, grid_z, block_x, block_y, block_z}, stream,
                {parameters, extra});
}

CudaResult cuLaunchKernelEx(const CudaLaunchConfig* config, Function* function, void** parameters,
                            void** extra) {
  if (config == nullptr) return CudaResult::InvalidValue;
  const Shape shape{config->grid_x,  config->grid_y,  config->grid_z,
                    config->block_x, config->block_y, config->block_z};
  return launch(function, shape, config->stream, {parameters, extra});
}

}  // extern "C"

}  // namespace berth::emu
