// From the job's process to the job's program.
#pragma once

#include <vector>

#include "shim/order.hpp"

namespace berth::shim {

/// Arguments and environment as execve wants them, without BERTH_ULIMIT (ulimits.hpp). Made before
/// the fork; the order must outlive it.
struct Vectors {
  std::vector<char*> arguments;
  std::vector<char*> environment;
};
Vectors vectors_of(const Order& order);

/// execve of arguments[0]; a name without a slash is looked up in the PATH of the order's
/// environment, as execvpe(3) does; a text that names no interpreter is given to /bin/sh, machine
/// code that cannot run here is not. Returns only what failed: an errno.
int exec_program(const Order& order, const Vectors& vectors);

}  // namespace berth::shim
