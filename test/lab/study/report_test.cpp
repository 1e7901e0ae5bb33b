// Goal: doc/evaluation.md and its tables are what `berth-eval report` writes from evaluation.json,
// with the public traces or without. Method: in a folder that has the figures alone.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::lab {
namespace {

TEST(EvaluationReport, IsMadeOfItsFiguresAlone) {
  const std::filesystem::path doc = test::source_dir() / "doc";
  const test::ScratchFolder scratch;
  std::filesystem::copy_file(doc / "evaluation.json", scratch / "evaluation.json");
  const auto study = [](const char* name) {
    return (test::source_dir() / "lab/study" / name).string();
  };
  const test::Ran ran =
      test::run_program("berth-eval", {"report", "--folder", scratch.path().string(), "--plan",
                                       study("study.toml"), "--text", study("evaluation.md.in")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* const name : {"evaluation.md", "evaluation/tables.md"}) {
    EXPECT_TRUE(test::read_file(scratch / name) == test::read_file(doc / name)) << name;
  }
}

}  // namespace
}  // namespace berth::lab
