// Goal: words are found wherever they stand, also in one another and with few letters.
#include "daemon/attempts/word_finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::daemon {
namespace {

TEST(WordFinder, FindsEachWordWhereverItStands) {
  WordFinder finder;
  for (const char* const word : {"out of memory", "memory", "mem", "y", "of"}) finder.add(word);
  std::vector<std::pair<std::string_view, std::size_t>> found;
  finder.find_in("out of memory, mem", [&](WordFinder::Word word, std::size_t at) {
    found.emplace_back(finder.text(word), at);
  });
  std::ranges::sort(found);
  EXPECT_EQ(
      found,
      (decltype(found){
          {"mem", 7}, {"mem", 15}, {"memory", 7}, {"of", 4}, {"out of memory", 0}, {"y", 12}}));
}

TEST(WordFinder, KnowsAWordAgain) {
  WordFinder finder;
  const WordFinder::Word first = finder.add("memory");
  EXPECT_NE(finder.add("memo"), first);
  EXPECT_EQ(finder.add("memory"), first);
}

}  // namespace
}  // namespace berth::daemon
