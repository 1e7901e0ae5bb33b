// What can keep a job from running, step by step.
#pragma once

#include <expected>
#include <string>

#include "shim/order.hpp"

namespace berth::shim {

enum class Step : int {
  None,  ///< Nothing failed.
  Client,
  Stranger,
  Pipes,
  Terminal,
  Fork,
  Record,
  Groups,
  Group,
  User,
  Directory,
  Output,
  Exec,
};

/// Plain, for it crosses from the job's process to the shim in shared memory.
struct Failure {
  Step step = Step::None;
  int number = 0;  ///< An errno.
};

/// Whether it is the machine that lacks something, for now, and nothing is wrong with the order: a
/// process, or a file system that answers. A name that is not there is the order's fault.
bool is_of_machine(const Failure& failure);

template <class T>
using Attempted = std::expected<T, Failure>;

/// A name may be as long as a job's arguments; what is said of it must fit into an event.
std::string shown(const std::string& name);
/// `cannot run 'NAME': No such file or directory`.
std::string describe(const Failure& failure, const Order& order);
/// Now.
Exit exit_of(const Failure& failure);
Instant wall_clock();

}  // namespace berth::shim
