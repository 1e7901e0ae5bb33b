// Goal: doc/journal-format.md says the layout and the schema of today, and a layout has one form.
// Method: the numbers in its sentences, beside those of the code; what is in the tree in this
// layout, beside what this build writes.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/bytes.hpp"
#include "engine/journal.hpp"
#include "engine/sample.hpp"
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

/// A state that another build of the same layout wrote would be read as what it is not.
TEST(JournalLayout, IsRaisedWhereAMemberChanges) {
  constexpr const char* kHow =
      "raise kLayout with an overload for the members of before (core/base/codec.hpp), then run "
      "fuzz_seeds";
  const auto in_tree = [](const char* name) {
    return read_file(source_dir() / "test/fuzz/corpus/journal" / name).substr(1);
  };
  EXPECT_TRUE(in_tree("inputs") == encode_inputs(one_of_each<Input>())) << kHow;
  EXPECT_TRUE(in_tree("decisions") == encode_decisions(one_of_each<Decision>())) << kHow;
}

}  // namespace
}  // namespace berth::test
