#include "daemon/oom.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "posix/descriptor.hpp"

namespace berth::daemon {

namespace {

/// As the programs print them; each is specific enough to stand alone.
constexpr auto kWords = std::to_array<std::string_view>({
    "CUDA_ERROR_OUT_OF_MEMORY",                  // driver, CuPy, Numba, JAX
    "cudaErrorMemoryAllocation",                 // runtime
    "CUDA out of memory",                        // PyTorch
    "CUDA error: out of memory",                 // PyTorch, llama.cpp
    "torch.cuda.OutOfMemoryError",               // PyTorch 1.13 to 2.4
    "torch.OutOfMemoryError",                    // PyTorch from 2.5
    "CUBLAS_STATUS_ALLOC_FAILED",                // cuBLAS
    "CUDNN_STATUS_ALLOC_FAILED",                 // cuDNN
    "OOM when allocating tensor",                // TensorFlow
    "RESOURCE_EXHAUSTED: Out of memory",         // JAX, XLA
    "No available memory for the cache blocks",  // vLLM
    "ggml_cuda_device_malloc",                   // llama.cpp
});

}  // namespace

bool tells_of_oom(std::string_view text) {
  return std::ranges::any_of(
      kWords, [&](std::string_view words) { return text.find(words) != std::string_view::npos; });
}

std::string read_tail(const std::string& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) return "";
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string tail(std::min(size, most), '\0');
  const auto from = static_cast<off_t>(size - tail.size());
  const ssize_t got = ::pread(file.number(), tail.data(), tail.size(), from);
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return tail;
}

}  // namespace berth::daemon
