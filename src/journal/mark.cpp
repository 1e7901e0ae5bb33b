#include "journal/mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "journal/checksum.hpp"
#include "posix/error.hpp"

namespace berth::journal {

namespace {

constexpr std::string_view kTitle = "berth-mark 1";
constexpr std::size_t kNumber = 16;  ///< Digits of each of four, to the base 16.
constexpr std::size_t kSize = kTitle.size() + 4 * (1 + kNumber) + 1;

std::uint64_t sum_of(const Mark& mark) {
  const auto changes = std::int64_t{mark.changes};
  const auto last = static_cast<std::int64_t>(mark.last_job.value());
  return static_cast<std::uint64_t>(
      Checksum().add(mark.reach.number()).add(last).add(changes).value());
}

std::string text_of(const Mark& mark) {
  std::string text(kTitle);
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(mark.reach.number()), std::uint64_t{mark.last_job.value()},
        std::uint64_t{mark.changes}, sum_of(mark)}) {
    std::array<char, kNumber + 2> digits{};
    std::snprintf(digits.data(), digits.size(), " %016llx",
                  static_cast<unsigned long long>(number));
    text += digits.data();
  }
  return text + "\n";
}

std::optional<Mark> parse(std::string_view text) {
  if (text.size() != kSize || !text.starts_with(kTitle)) return std::nullopt;
  std::array<std::uint64_t, 4> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view digits = text.substr(kTitle.size() + i * (kNumber + 1) + 1, kNumber);
    std::from_chars(digits.data(), digits.data() + digits.size(), numbers[i], 16);
  }
  const Mark mark{.reach = Reach::of(static_cast<std::int64_t>(numbers[0])),
                  .last_job = JobId(numbers[1]),
                  .changes = static_cast<std::uint32_t>(numbers[2])};
  return text_of(mark) == text ? std::optional(mark) : std::nullopt;
}

}  // namespace

std::string mark_path(const std::string& journal) { return journal + "-mark"; }

Expected<std::optional<Mark>> read_mark(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open()) return io_error(path);
  std::array<char, kSize + 1> bytes{};
  const ssize_t got = ::pread(file.number(), bytes.data(), bytes.size(), 0);
  if (got < 0) return io_error(path);
  if (got == 0) return std::nullopt;  // made, and nothing to be marked yet
  const auto mark = parse({bytes.data(), static_cast<std::size_t>(got)});
  if (!mark) return fail(ErrorCode::BadData, path + ": is damaged");
  return mark;
}

Expected<MarkFile> MarkFile::open(const std::string& path) {
  MarkFile mark;
  mark.file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!mark.file_.is_open()) return io_error(path);
  return mark;
}

void MarkFile::write(const Mark& mark) const {
  const std::string text = text_of(mark);
  if (::pwrite(file_.number(), text.data(), text.size(), 0) != std::ssize(text)) return;
  static_cast<void>(::ftruncate(file_.number(), std::ssize(text)));
}

void MarkFile::settle() const { static_cast<void>(::fdatasync(file_.number())); }

}  // namespace berth::journal
