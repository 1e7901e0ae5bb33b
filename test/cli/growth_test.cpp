// Goal: bench/growth says which decisions came to cost more, and nothing of others.
// Method: it compares a table that is made up with another, in a small tree; nothing is measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTable =
    "# policy gpus users waiting steps instructions\n"
    "fifo@count 1000 20 1000 40 1000\n"
    "fifo@count 1000 20 10000 40 1000\n"
    "fifo@count 1000 20 all exponent 0.00\n"
    "sjf@count 1000 20 1000 40 5000\n";

class Growth : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3";
    std::filesystem::create_directory(tree_.path() / "bench");
    std::filesystem::copy(source_dir() / "bench/growth", tree_.path() / "bench");
    tree_.write("bench/decide.growth", kTable);
  }

  Ran compare(const std::string& table) {
    tree_.write("now", table);
    return run_program(tree_ / "bench/growth", {"--compare", tree_ / "now"});
  }

  ScratchFolder tree_;
};

TEST_F(Growth, TheSameTableIsGreen) {
  const Ran ran = compare(kTable);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("3 rows compared, 0 worse"));
}

TEST_F(Growth, ARowThatTakesAFifthMoreIsNamed) {
  EXPECT_EQ(compare("sjf@count 1000 20 1000 40 6000\n").exit_code, 0);
  const Ran ran = compare("sjf@count 1000 20 1000 40 6001\n");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("sjf@count on 1000 GPUs, 20 users, 1000 waiting: 6001"));
}

TEST_F(Growth, AnExponentThatRoseIsNamedThoughNoRowIs) {
  const Ran ran = compare(
      "fifo@count 1000 20 1000 40 700\n"
      "fifo@count 1000 20 10000 40 1190\n");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("fifo@count on 1000 GPUs, 20 users: exponent 0.23, was 0.00"));
  EXPECT_THAT(ran.err, Not(HasSubstr("waiting:")));
}

TEST_F(Growth, RefusesWhatIsNoTable) {
  const Ran ran = compare("fifo@count 1000\n");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("now:1: has 2 words, a row has 6"));
}

}  // namespace
}  // namespace berth::test
