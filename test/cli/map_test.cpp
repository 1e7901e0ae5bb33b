// Goal: the map for readers of the surveys shows what the commands on it print.
// Method: every command of the page is run as it stands, in a shell.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

struct Shown {
  std::string command;
  std::string prints;
};

struct Page {
  std::string functions;  ///< That the commands use.
  std::vector<Shown> commands;
};

/// Code of a page is indented; `$ ` begins a command, and what it prints follows.
Page read_page(const std::string& path) {
  constexpr std::string_view kCode = "    ";
  constexpr std::string_view kCommand = "    $ ";
  Page page;
  std::ifstream file(test::source_dir() / path);
  bool is_shown = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kCommand)) {
      const std::string command = line.substr(kCommand.size());
      is_shown = command.find("() {") == std::string::npos;
      if (is_shown) page.commands.push_back({command, ""});
      if (!is_shown) page.functions += command + "\n";
    } else if (!line.starts_with(kCode)) {
      is_shown = false;
    } else if (is_shown) {
      page.commands.back().prints += line.substr(kCode.size()) + "\n";
    }
  }
  return page;
}

/// Without blanks at the ends of lines.
std::string printed(const std::string& script) {
  const std::string path = test::program("berth").parent_path().string() + ":/usr/bin:/bin";
  const std::string whole = "cd '" + test::source_dir().string() + "' && PATH='" + path + "'\n" +
                            script + " | sed 's/ *$//'";
  FILE* const pipe = popen(whole.c_str(), "r");
  std::string text;
  for (int c = 0; (c = fgetc(pipe)) != EOF;) text.push_back(static_cast<char>(c));
  pclose(pipe);
  return text;
}

TEST(Map, ShowsWhatItsCommandsPrint) {
  const Page page = read_page("doc/map.md");
  EXPECT_EQ(page.commands.size(), 8U);
  for (const Shown& shown : page.commands) {
    EXPECT_EQ(printed(page.functions + shown.command), shown.prints) << shown.command;
  }
}

}  // namespace
}  // namespace berth
