// Goal: the rules of CONTRIBUTING.md hold for the whole source tree.
// Method: reads every text file and applies every rule of rules.hpp.
#include <gtest/gtest.h>

#include <sstream>

#include "policy/registry.hpp"
#include "support/paths.hpp"
#include "tidy/rules.hpp"

namespace berth::tidy {
namespace {

const std::vector<Source>& tree() {
  static const std::vector<Source> sources = read_tree(test::source_dir());
  return sources;
}

Findings everywhere(Findings rule(const Source&)) {
  Findings all;
  for (const Source& source : tree()) {
    for (Finding& finding : rule(source)) all.push_back(std::move(finding));
  }
  return all;
}

/// One finding per line, as a compiler prints them.
void expect_none(const Findings& findings) {
  std::ostringstream text;
  for (const Finding& finding : findings) text << finding << "\n";
  EXPECT_TRUE(findings.empty()) << text.str();
}

TEST(Tree, IsRead) {
  std::size_t sources = 0;
  for (const Source& source : tree()) sources += is_cpp(source) ? 1 : 0;
  EXPECT_GT(sources, 50U);
}

TEST(Tree, IncludesPointLeft) {
  const Levels all = levels_of(tree());
  EXPECT_GT(all.size(), 10U);
  for (const Source& source : tree()) expect_none(levels(source, all));
}
TEST(Tree, ArchitectureSaysWhatLinksWhat) { expect_none(level_rows(tree(), "ARCHITECTURE.md")); }
TEST(Tree, WingsAreLowAndIncludeWhatIsLeftOfThem) {
  EXPECT_FALSE(wings_of(tree()).empty());
  expect_none(wings(tree()));
}
TEST(Tree, NoBannedCalls) { expect_none(everywhere(banned_calls)); }
TEST(Tree, PolicyHeaders) { expect_none(everywhere(policy_headers)); }
TEST(Tree, PragmaOnce) { expect_none(everywhere(pragma_once)); }
TEST(Tree, LongLines) { expect_none(everywhere(long_lines)); }
TEST(Tree, Macros) { expect_none(everywhere(macros)); }
TEST(Tree, NothingWaitsForAUser) { expect_none(everywhere(waits)); }
TEST(Tree, PermitsToWaitAreNeeded) { expect_none(idle_permits(tree())); }
TEST(Tree, NoThreadReadsTheAnswerOfAnother) { expect_none(everywhere(shared_answers)); }
TEST(Tree, Todos) { expect_none(everywhere(todos)); }
TEST(Tree, MachinePaths) { expect_none(everywhere(machine_paths)); }
TEST(Tree, NamesAreDefinedOnce) { expect_none(names_defined_twice(tree())); }
TEST(Tree, OneVersion) { expect_none(versions(tree())); }
TEST(Tree, DeadFiles) { expect_none(dead_files(tree())); }
TEST(Tree, PartsOfTheKitHaveTwoUsers) { expect_none(lonely_parts(tree())); }
TEST(Tree, Links) { expect_none(broken_links(tree())); }

TEST(Tree, EveryErrorHasATest) { expect_none(untested_rows(tree(), "doc/errors.md")); }
TEST(Tree, EveryAttackHasATest) { expect_none(untested_rows(tree(), "doc/security.md")); }
TEST(Tree, EveryFeatureHasATest) { expect_none(untested_rows(tree(), "doc/peers.md")); }

TEST(Tree, EveryPolicyHasAGolden) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) names.emplace_back(entry.name);
  expect_none(missing_goldens(tree(), "policy", names));
}

TEST(Tree, EveryPolicyHasItsCostOfADecision) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) names.emplace_back(entry.name);
  const std::string file = "bench/decide.growth";
  expect_none(missing_rows({file, test::read_file(test::source_dir() / file)}, names));
}

TEST(Tree, EveryPlacementHasAGolden) {
  std::vector<std::string> names;
  for (const PlacerEntry& entry : placers()) names.emplace_back(entry.name);
  expect_none(missing_goldens(tree(), "place", names));
}

}  // namespace
}  // namespace berth::tidy
