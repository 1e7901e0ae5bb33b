// golden [--update] FILE...: replays scenarios and compares their logs; --update rewrites them.
// Exit code: 0 all as expected, 1 not.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "golden/scenario.hpp"

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Prints where two logs part, with the lines before and after.
void print_difference(const std::string& expected, const std::string& actual) {
  const auto wanted = lines_of(expected);
  const auto got = lines_of(actual);
  std::size_t same = 0;
  while (same < wanted.size() && same < got.size() && wanted[same] == got[same]) ++same;
  const std::size_t from = same > 3 ? same - 3 : 0;
  for (std::size_t i = from; i < same; ++i) std::printf("    %s\n", wanted[i].c_str());
  for (std::size_t i = same; i < wanted.size(); ++i) std::printf("  - %s\n", wanted[i].c_str());
  for (std::size_t i = same; i < got.size(); ++i) std::printf("  + %s\n", got[i].c_str());
}

bool report(const char* file, const berth::Error& error) {
  std::printf("%s: %s\n", file, error.message.c_str());
  return false;
}

bool check(const char* file, bool update) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return report(file, {berth::ErrorCode::Io, "cannot be read"});
  const auto scenario = berth::golden::read_scenario(text.str(), file);
  if (!scenario) return report(file, scenario.error());
  const auto log = berth::golden::run_scenario(*scenario);
  if (!log) return report(file, log.error());
  if (*log == scenario->expected) return true;
  if (update) {
    std::ofstream(file, std::ios::binary) << scenario->question << "----\n" << *log;
    std::printf("%s: rewritten\n", file);
    return true;
  }
  std::printf("%s: the log differs (- expected, + actual)\n", file);
  print_difference(scenario->expected, *log);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool update = argc > 1 && std::string(argv[1]) == "--update";
  bool good = true;
  for (int i = update ? 2 : 1; i < argc; ++i) good = check(argv[i], update) && good;
  return good ? 0 : 1;
}
