// Whether a job died for lack of GPU memory: by its exit code and its last words.
#pragma once

#include <string>
#include <string_view>

#include "shim/record.hpp"

namespace berth::daemon {

/// The code by which a program says so itself.
inline constexpr int kOomCode = 77;

/// True for words of the CUDA driver and runtime, PyTorch, JAX, TensorFlow, vLLM and llama.cpp that
/// mean an allocation of GPU memory failed. Host memory is another matter.
bool tells_of_oom(std::string_view text);

/// A job that ended well did not run out of memory, whatever it printed. `tail` is the end of its
/// log, asked for only if the exit leaves the question open.
template <class Tail>
bool is_oom(const shim::Exit& exit, Tail tail) {
  if (shim::shell_code(exit) == 0 || exit.kind == shim::Exit::Kind::Exec) return false;
  if (exit.kind == shim::Exit::Kind::Code && exit.number == kOomCode) return true;
  return tells_of_oom(tail());
}

/// At most the last `most` bytes of a file; "" if it cannot be read.
std::string read_tail(const std::string& path, std::size_t most);

}  // namespace berth::daemon
