// Goal: what a shell offers is what berth takes. Method: the real program, with a daemon of canned
// answers and without one; the script of bash in bash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> offered(std::vector<std::string> words,
                                 const std::string& socket = "/no/such/socket") {
  words.insert(words.begin(), "complete");
  const auto ran = test::berth(std::move(words), {.environment = {"BERTH_SOCKET=" + socket}});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  return lines_of(ran.out);
}

TEST(Completion, OffersVerbsAndThoseOfAVerb) {
  EXPECT_THAT(offered({""}), AllOf(Contains("submit"), Contains("why"), Not(Contains("complete"))));
  EXPECT_THAT(offered({"sub"}), ElementsAre("submit"));
  EXPECT_THAT(offered({"trace", "ge"}), ElementsAre("generate"));
  EXPECT_THAT(offered({"frob", "--x"}), IsEmpty());
}

TEST(Completion, OffersOptionsOfTheVerb) {
  EXPECT_THAT(offered({"submit", "--vr"}), Contains("--vram"));
  EXPECT_THAT(offered({"submit", "--vram", "10G", "--cla"}), ElementsAre("--class"));
  EXPECT_THAT(offered({"sim", "--vram-m"}), ElementsAre("--vram-model"));
}

TEST(Completion, OffersNamesOfPoliciesAndPlacements) {
  EXPECT_THAT(offered({"sim", "--policy", "headr"}), Contains("headroom"));
  EXPECT_THAT(offered({"sim", "--policy", "headroom", "--policy"}), ElementsAre("--policy"));
  EXPECT_THAT(offered({"policies", "fifo"}), Contains("fifo-skip"));
}

TEST(Completion, OffersNothingOfACommandOrAFile) {
  EXPECT_THAT(offered({"run", "--vram", "1G", "--", "--he"}), IsEmpty());
  EXPECT_THAT(offered({"sim", "--trace", ""}), IsEmpty());
}

TEST(Completion, OffersTheJobsThatTheDaemonKnows) {
  test::FakeDaemon daemon;
  daemon.answer("GET /v1/jobs", R"({"jobs": [{"id": 17}, {"id": 8}, {"id": 19}]})");
  EXPECT_THAT(offered({"why", "1"}, daemon.socket()), ElementsAre("17", "19"));
  EXPECT_THAT(offered({"why", ""}), IsEmpty()) << "no daemon";
}

TEST(Completion, BashAsksIt) {
  const std::string berth = test::program("berth").string();
  const auto ran = test::run_program("berth", {"completion", "bash"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const test::ScratchFolder scratch;
  const std::string script = scratch.write(
      "try", "PATH=" + berth.substr(0, berth.rfind('/')) + ":$PATH\n" + ran.out +
                 "COMP_WORDS=(berth trace gen) COMP_CWORD=2\n_berth\necho \"${COMPREPLY[*]}\"\n");
  FILE* const bash = ::popen(("bash " + script).c_str(), "r");
  ASSERT_NE(bash, nullptr);
  std::array<char, 100> line{};
  EXPECT_STREQ(std::fgets(line.data(), line.size(), bash), "generate\n");
  EXPECT_EQ(::pclose(bash), 0);
}

TEST(Completion, AnUnknownShellIsRefusedWithThoseThereAre) {
  const auto ran = test::run_program("berth", {"completion", "tcsh"});
  EXPECT_EQ(ran.exit_code, test::kBadUsage);
  EXPECT_EQ(ran.err, "berth: tcsh: no completion; there is one for bash, zsh, fish\n");
}

}  // namespace
}  // namespace berth
