#include "shim/program/failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>

namespace berth::shim {

std::string shown(const std::string& name) {
  constexpr std::size_t kMost = 400;
  return name.size() <= kMost ? name : name.substr(0, kMost) + "...";
}

namespace {

std::string subject(Step step, const Order& order) {
  switch (step) {
    case Step::None:
      break;
    case Step::Client:
      return "its `berth run` is gone";
    case Step::Stranger:
      return "the listener at " + shown(order.attach->socket) + " is not user " +
             std::to_string(order.user);
    case Step::Pipes:
      return "cannot make pipes";
    case Step::Terminal:
      return "cannot make a terminal";
    case Step::Fork:
      return "cannot make a process";
    case Step::Record:
      return "cannot write the attempt file";
    case Step::Groups:
      return "cannot take " + std::to_string(order.groups.size()) + " groups";
    case Step::Group:
      return "cannot become group " + std::to_string(order.group);
    case Step::User:
      return "cannot become user " + std::to_string(order.user);
    case Step::Directory:
      return "directory '" + shown(order.directory) + "'";
    case Step::Output:
      return "output file '" +
             shown(order.output.starts_with('/') ? order.output
                                                 : order.directory + "/" + order.output) +
             "'";
    case Step::Exec:
      return "cannot run '" + shown(order.arguments.front()) + "'";
  }
  return "it";
}

/// Of an output file, what an errno alone would not tell.
std::string_view words_of_output(int number) {
  switch (number) {
    case ENOENT:
      return "its folder was not there, nor within 10 s, and could not be made";
    case ELOOP:
      return "is a link of /proc, or leads through one or through too many";
    case ENXIO:
      return "is a pipe that nobody reads, or a device that is not there";
    case ETIMEDOUT:
      return "its file system did not open it within 20 s";
    case ECANCELED:
      return "was not open yet when the job was ended";
    default:
      return "";
  }
}

/// Of a file system that is away, as NFS and FUSE are now and then; of want of memory and of
/// processes; of a program that is being written.
bool may_pass(int number) {
  constexpr std::array kPassing = {EIO,          ESTALE,    ENOTCONN,     EREMOTEIO, ECONNABORTED,
                                   ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENETDOWN,  ENETUNREACH,
                                   ENOMEM,       ENFILE,    EAGAIN,       ETXTBSY};
  return std::ranges::find(kPassing, number) != kPassing.end();
}

}  // namespace

bool is_of_machine(const Failure& failure) {
  switch (failure.step) {
    case Step::Pipes:
    case Step::Terminal:
    case Step::Fork:
    case Step::Record:
      return true;
    case Step::Directory:
    case Step::Output:
    case Step::Exec:
      return may_pass(failure.number);
    case Step::None:
    case Step::Client:
    case Step::Stranger:
    case Step::Groups:
    case Step::Group:
    case Step::User:
      return false;
  }
  return false;
}

std::string describe(const Failure& failure, const Order& order) {
  if (failure.step == Step::Output) {
    const std::string_view more = words_of_output(failure.number);
    if (!more.empty()) return subject(failure.step, order) + ": " + std::string(more);
  }
  // strerror would bring locales in.
  const char* const words = strerrordesc_np(failure.number);
  return subject(failure.step, order) + ": " + (words == nullptr ? "unknown error" : words);
}

Exit exit_of(const Failure& failure) {
  return {.kind = failure.step == Step::Exec ? Exit::Kind::Exec : Exit::Kind::Setup,
          .number = failure.number,
          .at = wall_clock()};
}

Instant wall_clock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return instant_from_micros(now.tv_sec * 1'000'000 + now.tv_nsec / 1'000);
}

}  // namespace berth::shim
