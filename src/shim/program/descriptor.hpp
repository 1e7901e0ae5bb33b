// File descriptors that close themselves, and the few calls on them that a shim repeats.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

namespace berth::shim {

using Clock = std::chrono::steady_clock;

/// Owns a descriptor, or none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    other.close();
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

/// Appends a line to an attempt file, whole or not at all, by one write. Returns: 0 or an errno.
int append_line(int file, std::string_view line);

/// What a read or write that never blocks came to.
enum class Flow { Some, Full, Ended };
struct Moved {
  Flow flow = Flow::Ended;  ///< Full: nothing now. Ended: nothing ever again.
  std::size_t bytes = 0;
};
Moved read_some(int file, char* into, std::size_t most);
Moved write_some(int file, std::string_view bytes);

}  // namespace berth::shim
