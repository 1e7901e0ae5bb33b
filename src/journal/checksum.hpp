// A 64-bit checksum of numbers and bytes: finds equal blobs, and rows that a disk has damaged.
//
// SQLite's own checks see a damaged structure, not a turned bit inside a value. Any change within
// one word of eight bytes changes the sum for certain. It is no defence against malice. The same on
// every machine; part of the file format (doc/journal-format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::journal {

class Checksum {
 public:
  Checksum& add(std::int64_t number) { return add_word(static_cast<std::uint64_t>(number)); }
  /// The length goes in too, so that where one text ends and the next begins counts.
  Checksum& add(std::string_view bytes) {
    add_word(bytes.size());
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) add_word(word_of(bytes.substr(0, 8)));
    return bytes.empty() ? *this : add_word(word_of(bytes));
  }
  std::int64_t value() const { return static_cast<std::int64_t>(sum_); }

 private:
  Checksum& add_word(std::uint64_t word) {
    sum_ = (sum_ ^ word) * 0x9E37'79B9'7F4A'7C15U;
    sum_ ^= sum_ >> 32;
    return *this;
  }
  /// Least significant byte first; at most eight bytes.
  static std::uint64_t word_of(std::string_view bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return word;
  }

  std::uint64_t sum_ = 0;
};

}  // namespace berth::journal
