// The log of one attempt: the job's output up to a cap and the end of it, and berth's own lines.
//
// A job says last why it failed: what is beyond the cap is not written, but for its end, once there
// is no more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posix/descriptor.hpp"
#include "shim/program/copy.hpp"

namespace berth::shim {

class Log {
 public:
  static constexpr std::size_t kEnd = std::size_t{16} << 10;  ///< Kept beyond the cap.

  Log(Descriptor file, std::uint64_t cap) : file_(std::move(file)), cap_(cap) {}

  /// From now on the job's output, all of it, also goes there.
  void also_to(Copy copy) { copy_ = std::move(copy); }
  /// Null if there is none.
  Copy* copy() { return copy_ ? &*copy_ : nullptr; }
  const Copy* copy() const { return copy_ ? &*copy_ : nullptr; }
  /// Keeps the job's output, as far as the cap and the disk allow; never an error.
  void keep(std::string_view output);
  /// There is no more output: writes the end of what is beyond the cap.
  void finish();
  /// `berth: WORDS` on a line of its own, whatever the cap. Returns: the line.
  std::string say(std::string_view words);
  /// The same, also where the output goes to.
  void say_everywhere(std::string_view words);
  /// As say(), and below it what the job wrote elsewhere.
  void quote(std::string_view words, std::string_view text);
  /// What a reader of the log should know: `log capped at 64 MiB`.
  std::vector<std::string> notes() const;

 private:
  void write_all(std::string_view bytes);
  void cap_now();
  void keep_end(std::string_view output);

  Descriptor file_;
  std::optional<Copy> copy_{};
  std::uint64_t cap_;  ///< 0: none.
  std::uint64_t kept_ = 0;
  bool is_capped_ = false;
  std::uint64_t beyond_ = 0;  ///< Bytes of output that the cap left out.
  std::string end_;           ///< The last of them, kEnd at least where there are so many.
  bool at_line_start_ = true;
  int failed_with_ = 0;  ///< The errno of the first write that failed.
};

}  // namespace berth::shim
