// Goal: a job's key names the job, stays the same after a restart, and cannot be made without the
// secret. Method: keys of two secrets, files that are whole, torn and not there.
#include "daemon/attempts/job_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "posix/small_file.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

using test::ScratchFolder;

TEST(JobKeys, NameTheirJob) {
  const JobKeys keys("secret");
  for (const std::uint64_t number : {1ULL, 42ULL, 4'000'000'001ULL}) {
    EXPECT_EQ(keys.job_of(keys.key_of(JobId(number))), JobId(number));
  }
  EXPECT_EQ(keys.key_of(JobId(42)).size(), 3 + 32U);
}

TEST(JobKeys, AreNeitherGuessedNorChanged) {
  const JobKeys keys("secret");
  const std::string key = keys.key_of(JobId(42));
  EXPECT_EQ(JobKeys("another").job_of(key), std::nullopt);
  EXPECT_EQ(keys.job_of("43" + key.substr(2)), std::nullopt);
  EXPECT_EQ(keys.job_of("042" + key.substr(2)), std::nullopt);
  EXPECT_EQ(keys.job_of(key + "0"), std::nullopt);
  EXPECT_EQ(keys.job_of(key.substr(0, key.size() - 1)), std::nullopt);
  EXPECT_EQ(keys.job_of("42"), std::nullopt);
  EXPECT_EQ(keys.job_of("42-"), std::nullopt);
  EXPECT_EQ(keys.job_of(""), std::nullopt);
  EXPECT_EQ(keys.job_of("-" + key), std::nullopt);
}

TEST(JobKeys, AreTheSameAfterARestartAndOfNobodyElse) {
  const ScratchFolder folder;
  const auto first = JobKeys::open(folder / "job-key");
  ASSERT_TRUE(first) << first.error().message;
  struct stat status{};
  ASSERT_EQ(::stat((folder / "job-key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const auto again = JobKeys::open(folder / "job-key");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->key_of(JobId(7)), first->key_of(JobId(7)));
  const auto other = JobKeys::open(folder / "other");
  ASSERT_TRUE(other);
  EXPECT_NE(other->key_of(JobId(7)), first->key_of(JobId(7)));
}

TEST(JobKeys, ASecretThatIsTornIsMadeAgain) {
  const ScratchFolder folder;
  folder.write("job-key", "0123");
  const auto made = JobKeys::open(folder / "job-key");
  ASSERT_TRUE(made);
  EXPECT_EQ(read_small_file(folder / "job-key").size(), 64U);
  EXPECT_NE(made->key_of(JobId(7)), JobKeys("0123").key_of(JobId(7)));
}

TEST(JobKeys, AFolderThatCannotBeWrittenIsNamed) {
  const auto made = JobKeys::open("/nowhere/job-key");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("/nowhere/job-key"));
}

}  // namespace
}  // namespace berth::daemon
