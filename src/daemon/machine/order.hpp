// The order to a shim: the user's command in the environment that a granted job needs.
#pragma once

#include <string>
#include <string_view>

#include "daemon/attempts/hints.hpp"
#include "daemon/machine/machine.hpp"
#include "daemon/settings/options.hpp"
#include "live/ports.hpp"
#include "shim/order.hpp"

namespace berth::daemon {

/// Where jobs report their progress to: the socket that BERTH_REPORT names.
std::string report_path(const Options& options);

/// Makes the attempt's cgroup where `options` names a folder for them. Takes the words of what is
/// assigned.
shim::Order order_of(const live::Assignment& assigned, const Options& options,
                     const Machine& machine);

/// The same for a process that its user started by hand. It has no cgroup: it stays in its own.
shim::Order order_to_adopt(const live::Assignment& assigned, const Options& options);

/// Sets variables of the job's environment, whatever they were. They are berth's: jobs that are
/// submitted from inside this one do not inherit them (shim/inherited.hpp).
void set_variables(shim::Order& order, const Variables& variables);

/// The variable that says how a job shares its GPUs, as its user said it; not there otherwise.
inline constexpr std::string_view kShare = "BERTH_SHARE=";

}  // namespace berth::daemon
