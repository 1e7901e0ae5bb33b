// What a process outside berth belongs to, by the path of its cgroup: a container, a service, or a
// user's session.
//
// Pure functions of /proc/PID/cgroup. Names in it may be anybody's: what is no id, or no plain
// name, is left out.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace berth::daemon {

struct Surrounding {
  std::string runtime;  ///< `docker`, `podman`, `apptainer`, `kubernetes`, ...; "": no container.
  std::string id;       ///< Of the container, as its runtime's lists show it.
  std::string pod;      ///< Of Kubernetes: the pod's uid.
  std::string service;  ///< Of a process in no container: `ollama.service`; "" for none.
  std::optional<uid_t> login = std::nullopt;  ///< Whose session or user manager it is below.

  bool operator==(const Surrounding&) const = default;
};

/// Of the text of /proc/PID/cgroup, of either version.
Surrounding surrounding_of(std::string_view cgroups);

/// `docker 3f2a1b4c9d0e`, `ollama.service`; "" where nothing is known.
std::string text_of(const Surrounding& where);

}  // namespace berth::daemon
