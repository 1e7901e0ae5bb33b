// Goal: a job's note names who used its GPUs without being given them, and stays short however many
// jobs and users that are. Method: one after the other, and what the note says then.
#include "live/intrusions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::live {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr JobId kHonest(1);

Intruder of(const std::string& user, std::uint64_t job) {
  return {.job = JobId(job),
          .user = user,
          .text = "job " + std::to_string(job) + " of " + user + " held 1 GiB on GPU 0"};
}

TEST(Intrusions, AreNamedOneByOneWhileTheyAreFew) {
  Intrusions all;
  std::string note = all.noted(kHonest, "", of("bob", 7));
  EXPECT_EQ(note, "job 7 of bob held 1 GiB on GPU 0, and was ended");
  EXPECT_EQ(all.noted(kHonest, note, of("bob", 7)), note) << "once";
  note = all.noted(kHonest, note, of("eve", 8));
  EXPECT_EQ(note,
            "job 8 of eve held 1 GiB on GPU 0, and was ended; "
            "job 7 of bob held 1 GiB on GPU 0, and was ended");
  EXPECT_EQ(all.noted(JobId(2), "", of("bob", 9)),
            "job 9 of bob held 1 GiB on GPU 0, and was ended")
      << "another job's note is its own";
}

TEST(Intrusions, OfOneUserAreCounted) {
  Intrusions all;
  std::string note = "idle: it has run no kernel";
  for (std::uint64_t job = 1; job <= 4096; ++job) note = all.noted(kHonest, note, of("bob", job));
  EXPECT_EQ(note,
            "idle: it has run no kernel; 4096 jobs of bob used GPUs that they were not given, and "
            "were ended, the latest of them: job 4096 of bob held 1 GiB on GPU 0");
}

TEST(Intrusions, OfManyUsersAreNotAllNamed) {
  Intrusions all;
  std::string note;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    note = all.noted(kHonest, note, of("u" + std::to_string(n % 100), n));
  }
  EXPECT_THAT(note, HasSubstr("3 jobs of u0 used GPUs"));
  EXPECT_THAT(note, HasSubstr("the latest of them: job 298 of u98"));
  EXPECT_THAT(note, testing::EndsWith("; likewise jobs of 97 other users"));
  EXPECT_LE(note.size(), 500U);
}

/// Others write into the note, too.
TEST(Intrusions, GoIntoTheNoteAsItIsNow) {
  Intrusions all;
  std::string note = all.noted(kHonest, "", of("bob", 1)) + "; more";
  note = all.noted(kHonest, note, of("bob", 2));
  EXPECT_THAT(note, testing::StartsWith("more; 2 jobs of bob used"));
  note = all.noted(kHonest, "another", of("bob", 3));
  EXPECT_THAT(note, testing::StartsWith("another; 3 jobs of bob used"));
  all.forget(kHonest);
  EXPECT_THAT(all.noted(kHonest, "", of("bob", 4)), Not(HasSubstr("jobs of")));
}

}  // namespace
}  // namespace berth::live
