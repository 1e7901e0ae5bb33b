#include "gpu/checkpoint.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "gpu/cuda_abi.hpp"

namespace berth {

namespace {

using namespace cuda;

struct Api {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*state)(int, int*) = nullptr;
  int (*lock)(int, const LockArgs*) = nullptr;
  int (*checkpoint)(int, const void*) = nullptr;
  int (*restore)(int, const RestoreArgs*) = nullptr;
  int (*unlock)(int, const void*) = nullptr;
};

template <class Function>
bool find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// "GPU-01234567-89ab-cdef-0123-456789abcdef" to its bytes.
std::optional<Uuid> parse_uuid(std::string_view text) {
  Uuid uuid{};
  std::string digits;
  if (text.starts_with("GPU-")) text.remove_prefix(4);
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != '-'; });
  if (digits.size() != 2 * uuid.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    unsigned byte = 0;
    const char* const begin = digits.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
    uuid.bytes[i] = static_cast<char>(byte);
  }
  return uuid;
}

ErrorCode code_of(int result) {
  if (result == kNotReady || result == kOutOfMemory) return ErrorCode::Conflict;
  if (result == kNotSupported || result == kNotPermitted) return ErrorCode::InvalidArgument;
  return ErrorCode::Io;
}

class CudaCheckpoints final : public CheckpointPort {
 public:
  explicit CudaCheckpoints(const Api& api) : api_(api) {}

  Expected<ProcessState> state(pid_t process) override {
    int state = 0;
    const int result = api_.state(process, &state);
    if (auto done = told("GetState", process, result); !done) return std::unexpected(done.error());
    if (state < 0 || state > 3) {
      return fail(ErrorCode::Io, "cuCheckpointProcessGetState of process " +
                                     std::to_string(process) + ": unknown state " +
                                     std::to_string(state));
    }
    return static_cast<ProcessState>(state);
  }

  Expected<void> lock(pid_t process, Duration timeout) override {
    const auto millis = std::clamp<std::int64_t>(micros(timeout) / 1000, 1, 1'000'000'000);
    const LockArgs args{
        .timeout_millis = static_cast<unsigned>(millis), .reserved0 = 0, .reserved1 = {}};
    return told("Lock", process, api_.lock(process, &args));
  }

  Expected<void> checkpoint(pid_t process) override {
    return told("Checkpoint", process, api_.checkpoint(process, nullptr));
  }

  Expected<void> restore(pid_t process, std::span<const GpuMove> moves) override {
    // Without the persistence mode a restore needs a process with an initialised driver.
    if (const int result = api_.init(0); result != 0) {
      return fail(code_of(result), "cuInit: " + words(result));
    }
    std::vector<GpuPair> pairs;
    for (const GpuMove& move : moves) {
      const auto before = parse_uuid(move.from);
      const auto after = parse_uuid(move.to);
      if (!before || !after) {
        return fail(ErrorCode::InvalidArgument, "no UUID of a GPU: " + move.from + ", " + move.to);
      }
      pairs.push_back({*before, *after});
    }
    const RestoreArgs args{
        .pairs = pairs.data(), .count = static_cast<unsigned>(pairs.size()), .reserved = {}};
    return told("Restore", process, api_.restore(process, pairs.empty() ? nullptr : &args));
  }

  Expected<void> unlock(pid_t process) override {
    return told("Unlock", process, api_.unlock(process, nullptr));
  }

 private:
  std::string words(int result) const {
    const char* name = nullptr;
    if (api_.error_name(result, &name) == 0 && name != nullptr) return name;
    return "error " + std::to_string(result);
  }

  Expected<void> told(const char* call, pid_t process, int result) const {
    if (result == 0) return {};
    return fail(code_of(result), std::string("cuCheckpointProcess") + call + " of process " +
                                     std::to_string(process) + ": " + words(result));
  }

  Api api_;
};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

Expected<OpenedCheckpoints> open_checkpoints(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(ErrorCode::NotFound, std::string("no CUDA driver: ") + dlerror());
  }
  Api api;
  int version = 0;
  const bool has_basics = find(handle, api.init, "cuInit") &&
                          find(handle, api.version, "cuDriverGetVersion") &&
                          find(handle, api.error_name, "cuGetErrorName");
  if (!has_basics || api.version(&version) != 0) {
    return fail(ErrorCode::NotFound, library + ": does not tell its version");
  }
  const bool has_all = find(handle, api.state, "cuCheckpointProcessGetState") &&
                       find(handle, api.lock, "cuCheckpointProcessLock") &&
                       find(handle, api.checkpoint, "cuCheckpointProcessCheckpoint") &&
                       find(handle, api.restore, "cuCheckpointProcessRestore") &&
                       find(handle, api.unlock, "cuCheckpointProcessUnlock");
  if (!has_all || version < kCheckpointsSince) {
    return fail(ErrorCode::NotFound, "the driver is of CUDA " + version_text(version) +
                                         ", and checkpoints need " +
                                         version_text(kCheckpointsSince) + " (driver 570)");
  }
  return OpenedCheckpoints{.port = std::make_unique<CudaCheckpoints>(api), .version = version};
}

std::string why_no_suspension(std::span<const Device> devices, int version) {
  if (devices.empty()) return "there is no GPU";
  for (const Device& device : devices) {
    if (device.mig.value_or(false)) {
      return "GPU " + std::to_string(device.board) +
             " is split into MIG instances, of which no process can be checkpointed";
    }
  }
  if (devices.size() == 1 || version >= kGpuMovesSince) return "";
  return "the driver is of CUDA " + version_text(version) + ", and to restore on another of " +
         std::to_string(devices.size()) + " GPUs needs " + version_text(kGpuMovesSince) +
         " (driver 580)";
}

}  // namespace berth
