// The GPUs of the latest start, in a file: by it a berthd knows them again, whatever number the
// driver gives them now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cluster.hpp"
#include "gpu/port.hpp"

namespace berth::daemon {

/// A text that says which they are.
std::string text_of_gpus(const std::vector<Device>& devices);
/// Returns: nothing for a text that says none.
std::optional<std::vector<Device>> read_gpus(const std::string& text);

/// Writes it. A file that cannot be written is removed: numbers stand for the GPUs then.
void remember_gpus(const std::string& path, const std::vector<Device>& devices);

/// True if the GPUs of a cluster are such: as many, as large, of the same names.
bool are_of(const std::vector<Device>& devices, const Cluster& cluster);
/// What a cluster says of its GPUs; no UUIDs.
std::vector<Device> gpus_as_of(const Cluster& cluster);

}  // namespace berth::daemon
