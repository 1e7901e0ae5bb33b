#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace berth::test {

std::filesystem::path source_dir() { return BERTH_SOURCE_DIR; }

std::filesystem::path program(const std::string& name) {
  return std::filesystem::path(BERTH_PROGRAMS) / name;
}

std::filesystem::path shared_dir() {
  const char* const told = std::getenv("BERTH_SHARED");
  return told != nullptr ? told : BERTH_SHARED_DIR;
}

std::optional<std::string> absent_shared(const std::filesystem::path& file) {
  const std::filesystem::path path = shared_dir() / file;
  if (std::filesystem::exists(path)) return std::nullopt;
  return path.string() + " is not there; BERTH_SHARED names the folder";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) ADD_FAILURE() << path << " cannot be read";
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace berth::test
