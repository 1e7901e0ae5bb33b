// Goal: `berth policies` tells what there is, all of it, and the pages in doc/ say the same.
// Method: the real program, against the registry and against the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "policy/registry.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

nlohmann::json all_policies() {
  const test::Ran ran = test::run_program("berth", {"policies", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return nlohmann::json::parse(ran.out);
}

std::string file_text(const std::string& path) {
  std::ifstream file(test::source_dir() / path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PoliciesVerb, JsonHasEveryRegisteredName) {
  const auto list = all_policies();
  ASSERT_EQ(list.size(),
            policies().size() + backfills().size() + gates().size() + placers().size());
  std::size_t i = 0;
  for (const PolicyEntry& entry : policies()) EXPECT_EQ(list[i++].at("name"), entry.name);
  for (const BackfillEntry& entry : backfills()) EXPECT_EQ(list[i++].at("name"), entry.name);
  for (const GateEntry& entry : gates()) EXPECT_EQ(list[i++].at("name"), entry.name);
  for (const PlacerEntry& entry : placers()) EXPECT_EQ(list[i++].at("name"), entry.name);
  for (const auto& about : list) {
    for (const char* field : {"kind", "title", "rule", "reads", "source", "proof"}) {
      EXPECT_NE(about.at(field), "") << about.at("name") << " " << field;
    }
  }
}

TEST(PoliciesVerb, ProofsNameFilesOfTheTree) {
  const std::regex file("(test|doc|src)/[a-z0-9_./-]+\\.(cpp|md)");
  for (const auto& about : all_policies()) {
    const std::string texts = about.at("proof").get<std::string>() + " " +
                              about.at("differs").get<std::string>() + " " +
                              about.at("rule").get<std::string>();
    for (std::sregex_iterator at(texts.begin(), texts.end(), file), end; at != end; ++at) {
      EXPECT_TRUE(std::filesystem::exists(test::source_dir() / at->str()))
          << about.at("name") << ": " << at->str();
    }
  }
}

TEST(PoliciesVerb, OnlyNamesWithAPeersFileClaimToBeHeldJobByJob) {
  for (const auto& about : all_policies()) {
    const std::string name = about.at("name");
    const std::string proof = about.at("proof");
    if (!name.starts_with("tiresias/")) continue;
    EXPECT_THAT(proof, HasSubstr("test/sim/tiresias_oracle_test.cpp")) << name;
    if (proof.find("Y480") == std::string::npos) continue;
    EXPECT_THAT(proof, HasSubstr("derived from")) << name << ": its authors did not publish it";
  }
}

TEST(PoliciesVerb, TheListHasALinePerName) {
  const std::string list = test::run_program("berth", {"policies"}).out;
  EXPECT_THAT(list, HasSubstr("  tiresias/sjf               Tiresias' simulator: fewest GPUs "
                              "first, not shortest run time; preemptive.\n"));
  EXPECT_THAT(list, HasSubstr("\nPlacements (--place):\n  count "));
}

TEST(PoliciesVerb, OneIsShownInFullAndAnUnknownOneIsNamed) {
  const std::string las = test::run_program("berth", {"policies", "las"}).out;
  EXPECT_THAT(las, HasSubstr("Rule: rank = (GPUs x run time so far, time of submission)"));
  EXPECT_THAT(las, HasSubstr("Needs: preemption\n"));
  EXPECT_THAT(las, HasSubstr("    quantum=5m (duration, 1s to 365d): A job keeps its GPUs"));
  EXPECT_THAT(las, HasSubstr("Proof: None yet.\n"));
  const test::Ran unknown = test::run_program("berth", {"policies", "fastest"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("policy 'fastest' is unknown"));
}

TEST(PoliciesVerb, ThePagesInTheTreeAreWhatItPrints) {
  const test::Ran markdown = test::run_program("berth", {"policies", "--markdown"});
  EXPECT_THAT(markdown.out, Not(IsEmpty()));
  EXPECT_TRUE(markdown.out == file_text("doc/policies.md"))
      << "run: berth policies --markdown >doc/policies.md";
  const test::Ran man = test::run_program("berth", {"policies", "--man"});
  EXPECT_THAT(man.out, Not(IsEmpty()));
  EXPECT_TRUE(man.out == file_text("doc/man/berth-policies.7"))
      << "run: berth policies --man >doc/man/berth-policies.7";
}

}  // namespace
}  // namespace berth
