// The log of one attempt: the job's output up to a cap, and berth's own lines.
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
  Log(Descriptor file, std::uint64_t cap) : file_(std::move(file)), cap_(cap) {}

  /// From now on the job's output, all of it, also goes there.
  void also_to(Copy copy) { copy_ = std::move(copy); }
  /// Null if there is none.
  Copy* copy() { return copy_ ? &*copy_ : nullptr; }
  const Copy* copy() const { return copy_ ? &*copy_ : nullptr; }
  /// Keeps the job's output, as far as the cap and the disk allow; never an error.
  void keep(std::string_view output);
  /// `berth: WORDS` on a line of its own, whatever the cap. Returns: the line.
  std::string say(std::string_view words);
  /// What a reader of the log should know: `log capped at 64 MiB`.
  std::vector<std::string> notes() const;

 private:
  void write_all(std::string_view bytes);
  void cap_now();

  Descriptor file_;
  std::optional<Copy> copy_{};
  std::uint64_t cap_;  ///< 0: none.
  std::uint64_t kept_ = 0;
  bool is_capped_ = false;
  bool at_line_start_ = true;
  int failed_with_ = 0;  ///< The errno of the first write that failed.
};

}  // namespace berth::shim
