#include "journal/frames.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <span>
#include <string_view>
#include <vector>

#include "posix/error.hpp"

namespace berth::journal {

namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  ///< Its last bit: words are most significant first.
constexpr std::uint32_t kFormat = 3'007'000;
constexpr std::size_t kLeastPage = 512;
constexpr std::size_t kLargestPage = 65'536;

using Octets = std::span<const unsigned char>;

/// Most significant byte first, as everything is but the words that are summed.
std::uint32_t number(Octets bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

struct Sum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  bool operator==(const Sum&) const = default;
};

Sum stored(Octets bytes, std::size_t at) { return {number(bytes, at), number(bytes, at + 4)}; }

enum class Order { Least, Most };  ///< Which byte of a word is first.

/// Two sums, each word goes into one and that into the other.
Sum add(Sum sum, Octets bytes, Order order) {
  const auto word = [&](std::size_t at) {
    const std::uint32_t value = number(bytes, at);
    return order == Order::Most ? value : std::byteswap(value);
  };
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += word(at) + sum.second;
    sum.second += word(at + 4) + sum.first;
  }
  return sum;
}

class Reader {
 public:
  Reader(int log, const std::string& path) : log_(log), path_(path) {}

  Expected<LogEnd> find_end();

 private:
  /// Returns: fewer bytes at the end of the file.
  Expected<Octets> read(std::size_t size, std::int64_t at);
  bool is_header(Octets header);
  bool is_of_this_log(Octets frame) const {
    return number(frame, 8) == salts_[0] && number(frame, 12) == salts_[1];
  }
  Expected<void> look_behind(LogEnd& end, std::int64_t frame);

  int log_;
  const std::string& path_;
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(kFrameHeader + kLargestPage);
  std::array<std::uint32_t, 2> salts_{};
  std::size_t page_ = 4096;
  Order order_ = Order::Least;
  Sum sum_;
};

Expected<Octets> Reader::read(std::size_t size, std::int64_t at) {
  const ssize_t got = ::pread(log_, buffer_.data(), size, at);
  if (got >= 0) return Octets(buffer_).first(static_cast<std::size_t>(got));
  return io_error(path_);
}

/// Salts and size of a page are taken from it in any case.
bool Reader::is_header(Octets header) {
  salts_ = {number(header, 16), number(header, 20)};
  order_ = (number(header, 0) & 1) != 0 ? Order::Most : Order::Least;
  const std::size_t page = number(header, 8);
  const bool is_page = std::has_single_bit(page) && page >= kLeastPage && page <= kLargestPage;
  if (is_page) page_ = page;
  sum_ = add({}, header.first(24), order_);
  return is_page && (number(header, 0) & ~1U) == kMagic && number(header, 4) == kFormat &&
         sum_ == stored(header, 24);
}

/// What is behind the last whole frame is an older log's, which has other salts, or this one's.
Expected<void> Reader::look_behind(LogEnd& end, std::int64_t frame) {
  const auto size = static_cast<std::int64_t>(kFrameHeader + page_);
  for (std::int64_t at = frame; at <= end.frames; ++at) {
    const auto header = read(kFrameHeader, static_cast<std::int64_t>(kHeader) + (at - 1) * size);
    if (!header) return std::unexpected(header.error());
    if (header->size() == kFrameHeader && is_of_this_log(*header)) {
      end.damaged = frame;
      break;
    }
  }
  return {};
}

Expected<LogEnd> Reader::find_end() {
  struct stat status{};
  if (::fstat(log_, &status) != 0) {
    return io_error(path_);
  }
  LogEnd end;
  const auto header = read(kHeader, 0);
  if (!header) return std::unexpected(header.error());
  if (header->size() < kHeader) return end;
  const bool is_whole = is_header(*header);
  const auto size = static_cast<std::int64_t>(kFrameHeader + page_);
  end.frames = (status.st_size - static_cast<std::int64_t>(kHeader)) / size;
  if (!is_whole) {
    end.damaged = 0;
    return end;
  }
  for (std::int64_t frame = 1; frame <= end.frames; ++frame) {
    const auto bytes =
        read(kFrameHeader + page_, static_cast<std::int64_t>(kHeader) + (frame - 1) * size);
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->size() < kFrameHeader + page_) break;
    sum_ = add(add(sum_, bytes->first(8), order_), bytes->subspan(kFrameHeader), order_);
    const bool fits =
        is_of_this_log(*bytes) && number(*bytes, 0) != 0 && sum_ == stored(*bytes, 16);
    if (!fits) {
      if (auto looked = look_behind(end, frame); !looked) return std::unexpected(looked.error());
      break;
    }
    if (number(*bytes, 4) != 0) end.whole = frame;
  }
  return end;
}

}  // namespace

Expected<LogEnd> find_end(int log, const std::string& path) { return Reader(log, path).find_end(); }

}  // namespace berth::journal
