#include "daemon/settings/given_gpus.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace berth::daemon {

namespace {

std::vector<std::string_view> entries_of(std::string_view list) {
  std::vector<std::string_view> entries;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    std::string_view entry = list.substr(at, end - at);
    const std::size_t first = entry.find_first_not_of(' ');
    entry = first == std::string_view::npos ? std::string_view() : entry.substr(first);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    entries.push_back(entry);
    at = end + 1;
  }
  return entries;
}

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

bool begins_with(std::string_view text, std::string_view start) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= start.size() &&
         std::ranges::equal(text.substr(0, start.size()), start, {}, lower, lower);
}

/// `3`: a GPU, with all its instances. `0:1`: an instance of one, as containers name it. A UUID, or
/// as much of it as is needed. Returns: nothing if it names none.
std::set<GpuId> named_by(std::string_view entry, const std::vector<Device>& devices) {
  std::set<GpuId> found;
  const std::size_t colon = entry.find(':');
  const auto board = number_in(entry.substr(0, colon));
  std::optional<std::uint32_t> place;
  if (colon != std::string_view::npos) place = number_in(entry.substr(colon + 1));
  if (colon != std::string_view::npos && !place) return found;
  std::uint32_t seen = 0;
  for (const Device& device : devices) {
    const bool is_named = board ? device.board == *board && (!place || seen++ == *place)
                                : entry.size() > 4 && begins_with(device.uuid, entry);
    if (is_named) found.insert(GpuId(device.index));
  }
  return found;
}

/// By one of the variables; nothing if it gives all.
struct Given {
  std::optional<std::set<GpuId>> gpus;
  std::vector<std::string> notes;
};

Given by_cuda(const std::string& list, const std::vector<Device>& devices) {
  Given given{.gpus = std::set<GpuId>(), .notes = {}};
  for (const std::string_view entry : entries_of(list)) {
    const auto named = named_by(entry, devices);
    given.gpus->insert(named.begin(), named.end());
    if (!named.empty()) continue;
    if (!entry.empty() && entry != "-1") {
      given.notes.push_back("CUDA_VISIBLE_DEVICES=" + list + ": there is no GPU " +
                            std::string(entry) + "; as for CUDA, the list ends there");
    }
    break;
  }
  return given;
}

Given by_container(const std::string& list, const std::vector<Device>& devices) {
  if (list.empty() || list == "void" || list == "all") return {};
  Given given{.gpus = std::set<GpuId>(), .notes = {}};
  if (list == "none") return given;
  const auto entries = entries_of(list);
  if (devices.size() <= entries.size()) return {};  // its runtime has seen to it
  for (const std::string_view entry : entries) {
    const auto named = named_by(entry, devices);
    given.gpus->insert(named.begin(), named.end());
    if (!named.empty()) continue;
    given.notes.push_back("NVIDIA_VISIBLE_DEVICES=" + list + ": there is no GPU " +
                          std::string(entry));
  }
  return given;
}

std::string numbers_of(const std::vector<Device>& devices, const std::set<GpuId>& but) {
  std::string text;
  for (const Device& device : devices) {
    if (but.contains(GpuId(device.index))) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(device.index);
  }
  return text;
}

}  // namespace

GivenGpus given_of(const GpuVariables& variables, const std::vector<Device>& devices) {
  GivenGpus all;
  const auto take = [&](const char* name, const std::string& value, Given given) {
    std::ranges::move(given.notes, std::back_inserter(all.notes));
    if (!given.gpus) return;
    std::set<GpuId> others;
    for (const Device& device : devices) {
      if (!given.gpus->contains(GpuId(device.index))) others.insert(GpuId(device.index));
    }
    if (others.empty()) return;
    all.others.merge(others);
    all.by += (all.by.empty() ? "" : " and ") + std::string(name) + "=" + value;
  };
  if (variables.nvidia) {
    take("NVIDIA_VISIBLE_DEVICES", *variables.nvidia, by_container(*variables.nvidia, devices));
  }
  if (variables.cuda) {
    take("CUDA_VISIBLE_DEVICES", *variables.cuda, by_cuda(*variables.cuda, devices));
  }
  if (all.others.empty()) return all;
  const std::size_t given = devices.size() - all.others.size();
  all.notes.push_back("jobs get " + std::to_string(given) + " of " +
                      std::to_string(devices.size()) + " GPUs" +
                      (given == 0 ? "" : " (" + numbers_of(devices, all.others) + ")") + ", as " +
                      all.by + " says; unset it to give out all");
  const bool is_mixed = std::ranges::any_of(
      devices, [&](const Device& device) { return device.name != devices.front().name; });
  const bool has_numbers = variables.cuda && variables.cuda->find("GPU-") == std::string::npos;
  if (is_mixed && has_numbers && variables.order != "PCI_BUS_ID") {
    all.notes.push_back(
        "the numbers in CUDA_VISIBLE_DEVICES are taken for those of nvidia-smi, as with "
        "CUDA_DEVICE_ORDER=PCI_BUS_ID; CUDA itself puts the fastest GPU first");
  }
  return all;
}

}  // namespace berth::daemon
