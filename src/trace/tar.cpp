#include "trace/tar.hpp"

#include <algorithm>
#include <optional>

#include "trace/csv.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::size_t kBlock = 512;

std::string_view tar_text(std::string_view header, std::size_t from, std::size_t size) {
  const std::string_view field = header.substr(from, size);
  return field.substr(0, field.find('\0'));
}

/// The size of a member, in octal digits.
std::optional<std::size_t> member_size(std::string_view header) {
  std::size_t size = 0;
  for (const char c : tar_text(header, 124, 12)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') return std::nullopt;
    size = size * 8 + static_cast<std::size_t>(c - '0');
  }
  return size;
}

bool is_plain_member(std::string_view header) {
  const char type = header[156];
  return (type == '0' || type == '\0') &&
         !without_folders(tar_text(header, 0, 100)).starts_with("._");
}

}  // namespace

bool is_tar(std::string_view text) {
  return text.size() >= kBlock && text.substr(257, 5) == "ustar";
}

Expected<std::string> only_file_of_tar(std::string_view archive, std::string_view file) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::BadData, std::string(file) + ": " + why);
  };
  std::optional<std::string_view> found;
  std::string first;
  while (archive.size() >= kBlock && archive.front() != '\0') {
    const std::string_view header = archive.substr(0, kBlock);
    const auto size = member_size(header);
    archive.remove_prefix(kBlock);
    if (!size || *size > archive.size()) return refuse("the archive is damaged or cut short");
    if (is_plain_member(header)) {
      const std::string name = shown(tar_text(header, 0, 100));
      if (found) return refuse("has several files, '" + first + "' and '" + name + "'; unpack it");
      found = archive.substr(0, *size);
      first = name;
    }
    archive.remove_prefix(std::min((*size + kBlock - 1) / kBlock * kBlock, archive.size()));
  }
  if (!found) return refuse("is an archive without a file");
  return std::string(*found);
}

}  // namespace berth::trace
