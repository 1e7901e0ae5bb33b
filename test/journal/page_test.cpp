// Goal: doc/journal-format.md says the layout and the schema of today.
// Method: the numbers in its sentences, beside those of the code.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/bytes.hpp"
#include "journal/store.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

TEST(JournalPage, HasTheNumbersOfToday) {
  std::string page = read_file(source_dir() / "doc" / "journal-format.md");
  std::ranges::replace(page, '\n', ' ');
  EXPECT_TRUE(page.contains("The present layout is " + std::to_string(kLayout) + ".")) << kLayout;
  EXPECT_TRUE(page.contains("`PRAGMA user_version` is the number of the schema, now " +
                            std::to_string(journal::kSchema) + "."))
      << journal::kSchema;
}

}  // namespace
}  // namespace berth::test
