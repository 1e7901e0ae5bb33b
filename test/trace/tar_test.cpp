// Goal: the only file of an archive is read; archives that leave a choice or are cut are refused.
// Method: archives made here, block by block.
#include "trace/tar.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace berth::trace {
namespace {

std::string tar_member(const std::string& name, const std::string& text, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  char size[13];
  std::snprintf(size, sizeof size, "%011o", static_cast<unsigned>(text.size()));
  header.replace(124, 11, size);
  header[156] = type;
  header.replace(257, 5, "ustar");
  std::string body = text;
  body.resize((text.size() + 511) / 512 * 512);
  return header + body;
}
std::string tar_error(const std::string& archive) {
  const auto text = only_file_of_tar(archive, "t.tar");
  return text ? "none" : text.error().message;
}
const std::string kEnd(1024, '\0');

TEST(Tar, TheOnlyFileIsRead) {
  const std::string rows(700, 'x');
  const std::string archive = tar_member("data/", "", '5') + tar_member("data/._t.csv", "mac") +
                              tar_member("data/t.csv", rows) + kEnd;
  EXPECT_TRUE(is_tar(archive));
  EXPECT_EQ(only_file_of_tar(archive, "t.tar").value_or(""), rows);
  EXPECT_FALSE(is_tar("job,submit_seconds\n"));
}

TEST(Tar, NoneSeveralAndACutOneAreRefused) {
  const std::string two = tar_member("a", "1") + tar_member("b", "2") + kEnd;
  EXPECT_EQ(tar_error(two), "t.tar: has several files, 'a' and 'b'; unpack it");
  EXPECT_EQ(tar_error(kEnd), "t.tar: is an archive without a file");
  EXPECT_EQ(tar_error(tar_member("a", std::string(700, 'x')).substr(0, 900)),
            "t.tar: the archive is damaged or cut short");
  std::string bent = tar_member("a", "1");
  bent[124] = 'x';
  EXPECT_EQ(tar_error(bent), "t.tar: the archive is damaged or cut short");
}

}  // namespace
}  // namespace berth::trace
