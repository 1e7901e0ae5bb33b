// Integers and strings as bytes, for snapshots and the journal: little, self-delimiting, the same
// on every machine.
//
// Integers are zigzag base-128 (at most ten bytes), strings a length and the bytes. A reader never
// reads past its end: after a bad byte it is failed() and gives zeros.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

/// The layout that structures are written in, and the oldest that is read (codec.hpp).
inline constexpr int kLayout = 9;
inline constexpr int kOldestLayout = 1;

class ByteWriter {
 public:
  void integer(std::int64_t value) {
    const auto sign = static_cast<std::uint64_t>(value >> 63);
    auto rest = (static_cast<std::uint64_t>(value) << 1) ^ sign;
    for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<char>(rest | 0x80));
    bytes_.push_back(static_cast<char>(rest));
  }
  void text(std::string_view text) {
    integer(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty() || failed_; }
  void fail() { failed_ = true; }
  /// Which layout of structures these bytes have (codec.hpp); today's unless said otherwise.
  int layout() const { return layout_; }
  void set_layout(int layout) { layout_ = layout; }
  /// Bytes left: no honest length in them can be larger.
  std::size_t left() const { return rest_.size(); }

  std::int64_t integer() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_end()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte == 0 && shift > 0) break;  // a writer would have stopped before
      if ((byte & 0x80) == 0) {
        return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
      }
    }
    failed_ = true;
    return 0;
  }
  std::string_view text() {
    const std::int64_t size = integer();
    if (failed_ || size < 0 || static_cast<std::uint64_t>(size) > rest_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view text = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(text.size());
    return text;
  }

 private:
  std::string_view rest_;
  int layout_ = kLayout;
  bool failed_ = false;
};

}  // namespace berth
