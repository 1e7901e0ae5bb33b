// What a command runs in the end: behind `env`, `nice`, `timeout 1h`, `conda run -n e`, `torchrun`
// and the like. Their options are known by name, so that an unknown one may hide the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/code/shell_words.hpp"

namespace berth::cli {

/// What the word at `what` is.
enum class RunKind : std::uint8_t {
  Unknown,
  PythonFile,
  PythonText,
  ShellFile,
  ShellText,
  File  ///< Its first line says what of.
};

struct WhatRuns {
  std::vector<std::size_t> programs;  ///< Places of the names of programs, the outermost first.
  RunKind kind = RunKind::Unknown;
  std::size_t what = 0;
};

WhatRuns what_runs(std::span<const ShellWord> words);

/// `python` of `/opt/bin/python3.11`.
std::string_view plain_name(std::string_view program);

/// Whether the words from `at` on are `torchrun`, `accelerate launch`, `python -m
/// torch.distributed.run` or another program that starts a process for each GPU.
bool is_launcher(std::span<const ShellWord> words, std::size_t at);

}  // namespace berth::cli
