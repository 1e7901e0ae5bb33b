// Goal: a table of doc/evaluation.json is made again by the commands that it records.
// Method: every run of one scenario, by the commands in the file, with the berth of this build.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/study/plan.hpp"
#include "lab/study/results.hpp"
#include "lab/study/runner.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::lab {
namespace {

/// The one that costs least of those whose traces are drawn.
constexpr const char* kScenario = "light";

TEST(Evaluation, ATableIsMadeAgainByItsCommands) {
  const std::string text = test::read_file(test::source_dir() / "doc/evaluation.json");
  const auto results = results_of(StudyJson::parse(text, nullptr, false));
  ASSERT_TRUE(results.has_value()) << results.error().message;
  const ScenarioResults* const scenario = results->find(kScenario);
  ASSERT_NE(scenario, nullptr);
  const test::ScratchFolder scratch;
  const auto here = [&](const std::string& command) {
    const std::string built =
        filled(command, "build/release/bin/berth", test::program("berth").string());
    return "cd " + test::source_dir().string() + " && " +
           filled(built, "build/eval", scratch.path().string());
  };
  for (const WayResults& way : scenario->ways) {
    ASSERT_FALSE(way.runs.empty());
    for (const StudyRun& recorded : way.runs) {
      ASSERT_TRUE(output_of(here(recorded.make)).has_value()) << recorded.make;
      StudyRun run{.seed = recorded.seed, .command = here(recorded.command)};
      run_one(run);
      ASSERT_EQ(run.error, "") << run.command;
      EXPECT_EQ(run.figures, recorded.figures) << recorded.command;
      EXPECT_EQ(run.waits, recorded.waits) << recorded.command;
    }
  }
}

}  // namespace
}  // namespace berth::lab
