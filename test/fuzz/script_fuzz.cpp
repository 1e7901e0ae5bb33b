// Goal: no script makes its readers crash, hang or name what is not there.
// Method: the text as one of a shell, whose commands are unwrapped, and as Python.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/code/gpu_python.hpp"
#include "cli/code/launchers.hpp"
#include "cli/code/shell_words.hpp"
#include "core/base/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::cli;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  for (const ShellCommand& command : shell_commands(text)) {
    for (const ShellWord& word : command.words) BERTH_ASSERT(word.line <= lines);
    const WhatRuns runs = what_runs(command.words);
    for (const std::size_t at : runs.programs) BERTH_ASSERT(at < command.words.size());
    BERTH_ASSERT(runs.kind == RunKind::Unknown || runs.what < command.words.size());
  }
  GpuWarnings warnings(1);
  for (const ShellLine& line : read_gpus_of_python(text, 1, warnings)) {
    BERTH_ASSERT(line.line <= lines);
  }
  return 0;
}
