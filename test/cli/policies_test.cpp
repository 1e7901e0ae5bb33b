// Goal: `berth policies` tells what there is, all of it, with rule and proof.
// Method: the real program, against the registry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "policy/registry.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using testing::HasSubstr;

TEST(Policies, JsonHasEveryRegisteredNameWithRuleAndProof) {
  const test::Ran ran = test::run_program("berth", {"policies", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto list = nlohmann::json::parse(ran.out);
  ASSERT_EQ(list.size(), policies().size() + placers().size());
  std::size_t i = 0;
  for (const PolicyEntry& entry : policies()) EXPECT_EQ(list[i++].at("name"), entry.name);
  for (const PlacerEntry& entry : placers()) EXPECT_EQ(list[i++].at("name"), entry.name);
  for (const auto& about : list) {
    for (const char* field : {"kind", "about", "title", "rule", "reads", "proof"}) {
      EXPECT_NE(about.at(field), "") << about.at("name") << " " << field;
    }
  }
}

TEST(Policies, EveryNameHasALineOfItsOwn) {
  const test::Ran ran = test::run_program("berth", {"policies", "--json"});
  std::set<std::string> lines;
  for (const auto& about : nlohmann::json::parse(ran.out)) {
    EXPECT_TRUE(lines.insert(about.at("about")).second) << about.at("name");
  }
  const std::string list = test::run_program("berth", {"policies"}).out;
  EXPECT_THAT(list, HasSubstr("fewest GPUs first, not shortest run time"));
  EXPECT_THAT(list, HasSubstr("  helios/sjf                 Shortest job first by estimate; a job "
                              "that does not fit holds up all behind it.\n"));
}

TEST(Policies, ProofsAreFilesOfTheTree) {
  const test::Ran ran = test::run_program("berth", {"policies", "--json"});
  for (const auto& about : nlohmann::json::parse(ran.out)) {
    std::istringstream proofs(about.at("proof").get<std::string>());
    for (std::string file; proofs >> file;) {
      if (file.ends_with(',')) file.pop_back();
      EXPECT_TRUE(std::filesystem::exists(test::source_dir() / file)) << file;
    }
  }
}

TEST(Policies, OneIsShownInFullAndAnUnknownOneIsNamed) {
  EXPECT_THAT(test::run_program("berth", {"policies", "gittins"}).out,
              HasSubstr("rule: largest Gittins index"));
  const test::Ran unknown = test::run_program("berth", {"policies", "fastest"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("policy 'fastest' is not known"));
}

}  // namespace
}  // namespace berth
