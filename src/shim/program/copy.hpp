// The copy of a job's output in a file of the user's (`--output`).
//
// A process of the user's opens and writes the file (helper.hpp): it may be a device, or on a file
// system that answers late or never. The shim hands it bytes and never waits, but for a moment
// before the job begins and after it has ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "posix/descriptor.hpp"
#include "shim/order.hpp"
#include "shim/program/failure.hpp"
#include "shim/program/helper.hpp"
#include "shim/program/io.hpp"

namespace berth::shim {

class Copy {
 public:
  /// How long a folder that is not there is waited for: programs that submit jobs make it right
  /// after, and file systems of a network show it late. Then it is made: a job that waited for
  /// hours is not lost for want of it.
  static constexpr std::chrono::seconds kLateFolder{10};
  static constexpr std::chrono::seconds kOpening{20};  ///< For the whole of it.
  static constexpr std::chrono::seconds kTaking{30};   ///< Without a byte taken, while it runs.
  static constexpr std::chrono::seconds kEnding{10};   ///< The same, after its end.

  /// Starts to open the file with the user's rights, relative to the order's directory: a new one
  /// for the first attempt, the end of it for those that follow. Never waits for a reader of a
  /// pipe, and follows no link of /proc to what another process has open.
  static Attempted<Copy> begin(const Order& order);
  /// Waits for that, and asks meanwhile whether the job is still to run.
  Failure wait_open(bool (*is_wanted)());

  /// -1: there is nothing more to wait for.
  int number() const { return socket_.number(); }
  void send(std::string_view bytes);
  bool has_unsent() const { return !unsent_.empty(); }
  /// True while the job should wait for it, as it would if it wrote the file itself.
  bool is_full() const { return unsent_.size() >= kMostUnsent; }
  /// Hands over what is taken and hears what failed. After the first failure nothing more is
  /// written: a hole would be worse than an end.
  void move();
  /// For poll: milliseconds until move() gives it up; -1: it does not.
  int timeout() const;
  /// Waits until the file is whole, or it is given up.
  void finish();
  /// Why it is not whole; "" if it is.
  const std::string& problem() const { return problem_; }

 private:
  static constexpr std::size_t kMostUnsent = std::size_t{1} << 20;

  Copy(Helper helper, Descriptor socket) : helper_(std::move(helper)), socket_(std::move(socket)) {}
  std::optional<int> hear();
  void give_up(std::string problem);

  Helper helper_;
  Descriptor socket_;
  std::string unsent_;
  Clock::time_point taken_at_;  ///< The last byte, or the first that waits.
  std::string problem_;
};

}  // namespace berth::shim
