// Goal: every verb has a manual page that says all that its --help does. Method: the real program;
// it refuses to print a page with an example that it would not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using testing::HasSubstr;

std::vector<std::string> verbs() {
  std::istringstream in(test::berth({"man"}).out);
  std::vector<std::string> names;
  for (std::string name; std::getline(in, name);) names.push_back(name);
  return names;
}

/// The options that a help text lists: `  -n,     --number N` and the like.
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> options;
  std::istringstream in(help);
  for (std::string line; std::getline(in, line);) {
    const std::size_t dashes = line.find("--");
    const bool is_option = line.starts_with("  -") && dashes < 20;
    if (is_option)
      options.push_back(line.substr(dashes, line.find_first_of(" ,=[", dashes) - dashes));
  }
  return options;
}

std::string plain(std::string page) {
  for (std::size_t at = 0; (at = page.find("\\-", at)) != std::string::npos;) page.erase(at, 1);
  return page;
}

TEST(Manual, HasAPageForEveryVerbWithAllItsOptions) {
  const auto names = verbs();
  EXPECT_GE(names.size(), 30U);
  for (const std::string& verb : names) {
    const auto man = test::berth({"man", verb});
    ASSERT_EQ(man.exit_code, 0) << man.err;
    const std::string page = plain(man.out);
    for (const char* section :
         {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"}) {
      EXPECT_THAT(page, HasSubstr(".Sh " + std::string(section) + "\n")) << verb;
    }
    const auto options = options_in(test::berth({verb, "--help"}).out);
    EXPECT_TRUE(!options.empty() || verb == "compat") << verb;
    for (const std::string& option : options) {
      if (option == "--help") continue;
      EXPECT_THAT(page, HasSubstr(option)) << verb;
    }
  }
}

TEST(Manual, IsPrintedWithoutAnError) {
  if (test::run_program("/bin/sh", {"-c", "command -v mandoc"}).exit_code != 0) {
    GTEST_SKIP() << "needs mandoc";
  }
  for (const std::string& verb : verbs()) {
    const auto lint = test::run_program(
        "/bin/sh",
        {"-c", test::program("berth").string() + " man " + verb + " | mandoc -T lint -W error"});
    EXPECT_EQ(lint.out, "") << verb;
  }
}

TEST(Manual, OfNoVerbIsRefused) {
  const auto ran = test::berth({"man", "frob"});
  EXPECT_EQ(ran.exit_code, test::kBadUsage);
  EXPECT_THAT(ran.err, HasSubstr("frob: no such verb"));
}

}  // namespace
}  // namespace berth
