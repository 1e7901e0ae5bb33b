// The job's standard input and output: the ends it gets, and the ends the shim keeps.
#pragma once

#include "posix/descriptor.hpp"
#include "shim/order.hpp"
#include "shim/program/failure.hpp"

namespace berth::shim {

/// What the job gets as 0, 1 and 2. An end that is not open is the same as `output`.
struct JobEnds {
  Descriptor input;
  Descriptor output;
  Descriptor error;
};

/// None of them ever blocks.
struct ShimEnds {
  Descriptor output;  ///< Standard output, with standard error in it unless `error` is open.
  Descriptor error;
  Descriptor input;     ///< Not open: the job reads /dev/null.
  Descriptor terminal;  ///< The pty's other side, held so that it never ends before the job's tree.
};

struct Streams {
  JobEnds job;
  ShimEnds shim;
};

/// Standard output and error of an attended job.
enum class Outputs { Apart, InOne };

/// Unattended: one pipe for all output, so that its order is kept. Attended: pipes, or a pty.
Attempted<Streams> make_streams(const Order& order, Outputs outputs);

}  // namespace berth::shim
