// Goal: a pattern's name is the one that Slurm would give a file. Method: patterns.
#include "core/text/file_pattern.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::string filled(std::string_view pattern) {
  return fill_pattern(pattern,
                      [](char letter, std::string_view width) -> std::optional<std::string> {
                        if (letter == 'j') return zero_padded(42, width);
                        return letter == '%' ? std::optional<std::string>("%") : std::nullopt;
                      });
}

TEST(FilePattern, HasWhatItsLettersStandFor) {
  EXPECT_EQ(filled("a-%j.out"), "a-42.out");
  EXPECT_EQ(filled("%j%j"), "4242");
  EXPECT_EQ(filled("%%j"), "%j") << "what is filled in is no pattern";
  EXPECT_EQ(filled(""), "");
}

TEST(FilePattern, PadsToTenDigitsAtMost) {
  EXPECT_EQ(filled("%4j %1j %0j %04j"), "0042 42 42 0042");
  EXPECT_EQ(filled("%11j %99999999999999999999j"), "0000000042 0000000042");
}

TEST(FilePattern, LeavesWhatStandsForNothing) {
  EXPECT_EQ(filled("%q %7q %7 %"), "%q %7q %7 %");
  EXPECT_EQ(filled("%é"), "%é");
}

}  // namespace
}  // namespace berth
