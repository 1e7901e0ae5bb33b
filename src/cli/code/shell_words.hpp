// The commands of a text for a shell, as words: quotes are gone, comments and redirections too.
// Nothing is expanded: `$X` stays as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

struct ShellWord {
  std::string text;
  std::size_t line = 1;  ///< Where it begins.
};

struct ShellCommand {
  std::vector<ShellWord> words;
  std::string input;           ///< What `<<EOF` gives it.
  std::size_t input_line = 0;  ///< Its first line.
};

/// In order, what separates them is left out: `a && b | c` are three. Any text gives some.
std::vector<ShellCommand> shell_commands(std::string_view text);

}  // namespace berth::cli
