#include "shim/program/streams.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace berth::shim {

namespace {

/// A pipe; the shim's end does not block. Returns: false if there is none to be had.
bool make_pipe(Descriptor& reading, Descriptor& writing, const Descriptor& shims) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  reading = Descriptor(ends[0]);
  writing = Descriptor(ends[1]);
  return fcntl(shims.number(), F_SETFL, O_NONBLOCK) == 0;
}

std::unexpected<Failure> stream_failed(Step step) { return std::unexpected(Failure{step, errno}); }

/// A job opens its streams by name too (/dev/stderr, its terminal), so they must be its user's. The
/// two ends of a pipe are one file, but the shim's end can be opened only through a process of the
/// shim's user.
bool give_to_user(const Descriptor& stream, const Order& order) {
  return geteuid() != 0 || fchown(stream.number(), order.user, static_cast<gid_t>(-1)) == 0;
}

Attempted<Streams> for_log_only(const Order& order) {
  Streams streams;
  auto& [job, shim] = streams;
  job.input = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const bool good = job.input.is_open() && make_pipe(shim.output, job.output, shim.output) &&
                    give_to_user(job.output, order);
  if (!good) return stream_failed(Step::Pipes);
  return streams;
}

bool errors_in_a_pipe(Streams& streams, const Order& order) {
  auto& [job, shim] = streams;
  return make_pipe(shim.error, job.error, shim.error) && give_to_user(job.error, order);
}

Attempted<Streams> pipes(const Order& order, Outputs outputs) {
  Streams streams;
  auto& [job, shim] = streams;
  const bool good = make_pipe(job.input, shim.input, shim.input) &&
                    make_pipe(shim.output, job.output, shim.output) &&
                    give_to_user(job.input, order) && give_to_user(job.output, order);
  if (!good) return stream_failed(Step::Pipes);
  if (outputs == Outputs::InOne) return streams;
  if (!errors_in_a_pipe(streams, order)) return stream_failed(Step::Pipes);
  return streams;
}

/// A second descriptor of the same thing.
Descriptor again(const Descriptor& one) {
  return Descriptor(fcntl(one.number(), F_DUPFD_CLOEXEC, 3));
}

Attempted<Streams> pty(const Order& order) {
  Streams streams;
  auto& [job, shim] = streams;
  shim.output = Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  const int main_side = shim.output.number();
  if (main_side < 0 || unlockpt(main_side) != 0) return stream_failed(Step::Terminal);
  job.output = Descriptor(ioctl(main_side, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!job.output.is_open()) return stream_failed(Step::Terminal);
  shim.terminal = again(job.output);
  shim.input = again(shim.output);
  const winsize size{.ws_row = order.attach->rows,
                     .ws_col = order.attach->columns,
                     .ws_xpixel = 0,
                     .ws_ypixel = 0};
  const bool good = shim.terminal.is_open() && shim.input.is_open() &&
                    ioctl(main_side, TIOCSWINSZ, &size) == 0 && give_to_user(job.output, order);
  if (!good) return stream_failed(Step::Terminal);
  if (order.errors_apart && !errors_in_a_pipe(streams, order)) return stream_failed(Step::Pipes);
  return streams;
}

}  // namespace

Attempted<Streams> make_streams(const Order& order, Outputs outputs) {
  if (!order.attach) return for_log_only(order);
  return order.attach->terminal ? pty(order) : pipes(order, outputs);
}

}  // namespace berth::shim
