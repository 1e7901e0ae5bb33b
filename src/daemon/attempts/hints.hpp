// Environment variables for frameworks that take the whole GPU by default.
//
// The job's own settings override them. For a framework without such a variable there is a warning
// instead.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/request.hpp"
#include "gpu/port.hpp"

namespace berth::daemon {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// For a job that asked for `vram` of a GPU of `total`. None for a job that has it alone.
Variables memory_hints(Bytes vram, Bytes total);

/// Warnings about this command for its user, a sentence each, with the figure to give a program
/// that takes a fraction of the card: that of the smallest card here which the job could get.
std::vector<std::string> memory_warnings(std::span<const std::string> arguments,
                                         const GpuRequest& asked, std::span<const Device> devices);

/// A port of the machine for a job's own processes to meet at, other than that of other jobs and
/// the one that frameworks take by default. Below those that the kernel gives away.
std::string own_port(JobId job);

}  // namespace berth::daemon
