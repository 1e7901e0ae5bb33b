// The words of a command that say which program it runs.
//
// Two commands are runs of one program if these words are the same. Everything counts, because
// `--model llama-7b` and `--model llama-70b` need other memory and other time, but for what is new
// in every run of one and the same thing: seeds, ports, ranks, the numbers, dates and ids in the
// name of a run and of its folder, the checkpoint that a run goes on from, the numbers of runs and
// epochs in paths. A folder for the output whose name says more (`out/llama-7b`) counts. What is
// not known to be so makes another program: its first run is measured, while a figure of another
// program would be wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::live {

/// What the words are to tell.
enum class Telling : std::uint8_t {
  RunTime,
  Memory,  ///< The number of epochs does not count.
};

/// `--name=value` is the same as `--name value`, the folder of the program does not count, and the
/// names of scripts and configurations are relative to `directory`. A word with blanks is taken for
/// a command line of its own (`sh -c`). A pure function of the text: no file is looked at.
std::vector<std::string> telling_words(std::span<const std::string> arguments,
                                       std::string_view directory, Telling telling);

}  // namespace berth::live
