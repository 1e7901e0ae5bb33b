// Plain numbers of GPUs in Python source: `.cuda(1)`, `"cuda:1"`, `Trainer(devices=2)`.
//
// Nothing is said of what an option, a caller or the machine may say otherwise: of defaults, of
// conditions, of a file that asks how many GPUs there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/code/gpu_warnings.hpp"

namespace berth::cli {

/// A text that the code gives a shell.
struct ShellLine {
  std::string text;
  std::size_t line = 1;
};

/// `first_line`: that of the text in its file. Returns: what it has shells do.
std::vector<ShellLine> read_gpus_of_python(std::string_view text, std::size_t first_line,
                                           GpuWarnings& warnings);

}  // namespace berth::cli
