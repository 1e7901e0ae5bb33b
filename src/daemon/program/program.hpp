// A daemon as a program: flags and configuration, one daemon per state folder, signals, the API.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "daemon/settings/options.hpp"
#include "daemon/site/site.hpp"

namespace CLI {
class App;
}

namespace berth::daemon {

struct Program {
  std::string name;         ///< With which its messages begin.
  std::string about;        ///< First line of its help.
  std::string state = {};   ///< Unless flags or the file say another; "": berthd's.
  std::string socket = {};  ///< Likewise.
  std::function<void(CLI::App&)> add_flags = {};  ///< Its own, beside those of every daemon.
  /// Completes what flags and file say by what it finds on this machine, if there is anything.
  std::function<Expected<void>(Options&)> complete = {};
  /// Opens the site that runs the jobs. May change options. Errors end the program.
  std::function<Expected<std::unique_ptr<Site>>(Options&)> open_site = {};
  /// Does what its flags asked for in place of serving; nothing if they did not.
  std::function<std::optional<Expected<void>>(const Options&)> instead = {};
};

/// Serves until SIGTERM or SIGINT. Returns: the exit status.
int run_program(int argc, char** argv, const Program& program);

}  // namespace berth::daemon
