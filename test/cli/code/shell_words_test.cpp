// Goal: the words of a text are those that a shell would run, with their lines, and no text is too
// odd. Method: texts as people have them, and halves of quotes.
#include "cli/code/shell_words.hpp"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

/// `1:a b|2:c|`: the line of each command's first word, and its words.
std::string told_words(std::string_view text) {
  std::string told;
  for (const ShellCommand& command : shell_commands(text)) {
    if (!command.words.empty()) told += std::to_string(command.words.front().line) + ":";
    for (const ShellWord& word : command.words) told += word.text + " ";
    if (!command.input.empty()) {
      told += "<" + std::to_string(command.input_line) + ":" + command.input + ">";
    }
    told += "|";
  }
  return told;
}

TEST(ShellWords, AreThoseOfEachCommand) {
  EXPECT_EQ(told_words("a 'b c' \"d \\\"e\" f\\ g # h\n"), "1:a b c d \"e f g |");
  EXPECT_EQ(told_words("a && b; c | d & (e)"), "1:a |1:b |1:c |1:d |1:e |");
  EXPECT_EQ(told_words("a \\\n  b\nc"), "1:a b |3:c |");
  EXPECT_EQ(told_words("a > out 2>&1 < in b &> all"), "1:a b |");
  EXPECT_EQ(told_words("x=$(a; b) ${c:-d e} `f; g` $h"), "1:x=$(a; b) ${c:-d e} `f; g` $h |");
  EXPECT_EQ(told_words("a '\n' b\nc"), "1:a \n b |3:c |");
}

TEST(ShellWords, TextsInTheScriptAreNoCommands) {
  EXPECT_EQ(told_words("a <<'EOF' | b\nsudo\nEOF\nc"), "1:a <2:sudo\n>|1:b |4:c |");
  EXPECT_EQ(told_words("a <<-E\n\tx\n\tE\nb"), "1:a <2:x\n>|4:b |");
  EXPECT_EQ(told_words("a <<< text b"), "1:a b |");
}

TEST(ShellWords, AreSomeOfAnyText) {
  for (const char* const text : {"", "'", "\"a", "\\", "$(", "${", "`", "<<", "a <<E", "a <<\nb >",
                                 ">", "&>", "2>&", "a <<E\nx", ")(", "<< > a\nb"}) {
    EXPECT_LE(told_words(text).size(), 32U) << text;
  }
}

}  // namespace
}  // namespace berth::cli
