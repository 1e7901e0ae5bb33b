// Goal: `berth sim --verify` says what it decided again, or what differs, and leaves a journal that
// is being written as it is.
//
// Method: runs the real program on journals of an engine with a random past, one of them open for
// writing in this process meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "cli/program.hpp"
#include "journal/support.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class SimVerify : public testing::Test {
 protected:
  Ran verify() { return run_program("berth", {"sim", "--verify", path_}); }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
};

TEST_F(SimVerify, SaysWhatItDecidedAgain) {
  Journaled(path_, "fifo-skip", 1).go_on(30);
  const Ran ran = verify();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, MatchesRegex(path_ + ": 1 segment, 30 entries, [0-9]+ inputs, [0-9]+ "
                                            "decisions: all decided again the same\n"));
  EXPECT_EQ(ran.err, "");
}

TEST_F(SimVerify, WritesWhenEachJobHadItsBerth) {
  Journaled journaled(path_, "fifo-skip", 1);
  journaled.go_on(30);
  const std::string jobs = scratch_ / "jobs.csv";
  const Ran ran = run_program("berth", {"sim", "--verify", path_, "--jobs", jobs});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const std::string text = read_file(jobs);
  EXPECT_THAT(text, StartsWith("job_id,submit,start,end\n1,"));
  std::size_t starts = 0;
  std::size_t ends = 0;
  const std::regex line("([0-9]+),([0-9.]*),([0-9.]*),([0-9.]*)\n");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const auto time = [&](std::size_t column) { return std::stod((*at)[column].str()); };
    if ((*at)[3].length() == 0) continue;
    ++starts;
    EXPECT_LE(time(2), time(3)) << at->str();
    if ((*at)[4].length() == 0) continue;
    ++ends;
    EXPECT_LE(time(3), time(4)) << at->str();
  }
  EXPECT_GT(starts, ends) << "some still have their berths";
  EXPECT_GT(ends, 0U);
  for (const std::string other : {"--summary", "--timeline", "--report"}) {
    const Ran both = run_program("berth", {"sim", "--verify", path_, other, scratch_ / "x"});
    EXPECT_EQ(both.exit_code, kBadUsage) << other;
  }
}

TEST_F(SimVerify, BesideTheWriter) {
  Journaled journaled(path_, "dlas", 1);
  for (int part = 0; part < 3; ++part) {
    journaled.go_on(20);
    const Ran ran = verify();
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_TRUE(std::filesystem::exists(path_ + "-wal"));
    need(journaled.store().sync());
    journaled.snapshot();
  }
}

TEST_F(SimVerify, ADifferenceIsAFailure) {
  Journaled(path_, "fifo-skip", 1).go_on(30);
  Sql(path_).run("DELETE FROM entries WHERE number = 12");
  const Ran ran = verify();
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "berth: " + path_ + ": entry 12: missing (recorded by berth 0.1.0)\n");
}

TEST_F(SimVerify, AFileThatIsNoJournal) {
  scratch_.write("journal.db", "job_id,num_gpu\n");
  const Ran ran = verify();
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: " + path_ + ": file is not a database\n");
}

TEST_F(SimVerify, NeedsNoTraceAndTakesNone) {
  const Ran both = run_program("berth", {"sim", "--verify", path_, "--trace", "t.csv"});
  EXPECT_EQ(both.exit_code, kBadUsage);
  EXPECT_THAT(both.err, HasSubstr("--trace"));
  const Ran none = run_program("berth", {"sim", "--cluster", "1x4"});
  EXPECT_EQ(none.exit_code, kBadUsage);
  EXPECT_THAT(none.err, HasSubstr("--trace is required"));
  const Ran half = run_program("berth", {"sim", "--trace", "t.csv"});
  EXPECT_EQ(half.exit_code, kBadUsage);
  EXPECT_THAT(half.err, HasSubstr("--cluster is required"));
}

}  // namespace
}  // namespace berth::test
