#include "emu/state/identity.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "emu/state/mig.hpp"

namespace berth::emu {
namespace {

/// A well-mixed 64-bit number from a counter (the finaliser known as splitmix64).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::string fault_of_gpu(const Spec& spec, std::uint32_t index) {
  constexpr std::uint64_t kSmallest = 64 * kMebibyte;
  constexpr std::uint64_t kLargest = 1024 * kGibibyte;
  const auto bytes = spec.gpu_bytes[index];
  const auto name = "GPU " + std::to_string(index) + ": memory " + format_bytes(bytes);
  if (bytes < kSmallest) return name + ", smallest is " + format_bytes(kSmallest);
  if (bytes > kLargest) return name + ", largest is " + format_bytes(kLargest);
  if (reserved_bytes_of(spec, index) >= bytes) {
    return name + ", of which " + format_bytes(reserved_bytes_of(spec, index)) + " reserved";
  }
  return {};
}

std::string fault_of_mig(const Spec& spec) {
  if (spec.mig.empty()) return {};
  const auto split = parse_mig(spec.mig);
  if (!split) return "mig: " + split.error();
  if (spec.mig.size() >= sizeof(Header::mig)) {
    return "mig: " + std::to_string(spec.mig.size()) + " characters, " +
           std::to_string(sizeof(Header::mig) - 1) + " are possible";
  }
  const auto entries = spec.gpu_bytes.size() * (1 + split->profiles.size());
  if (entries > kMaxGpus) {
    return "mig: " + std::to_string(entries) + " GPUs and instances together, largest number is " +
           std::to_string(kMaxGpus);
  }
  const auto whole = mig_profiles(split->model).back().mebibytes * kMebibyte;
  for (std::size_t index = 0; index < spec.gpu_bytes.size(); ++index) {
    if (spec.gpu_bytes[index] >= whole) continue;
    return "GPU " + std::to_string(index) + ": memory " + format_bytes(spec.gpu_bytes[index]) +
           ", " + std::string(split->model) + " has " + format_bytes(whole);
  }
  return {};
}

}  // namespace

std::array<std::uint8_t, 16> uuid_of(std::uint64_t seed, std::uint32_t index) {
  std::array<std::uint8_t, 16> uuid{};
  const auto base = mixed(seed) + index;
  for (std::uint32_t byte = 0; byte < uuid.size(); ++byte) {
    const auto word = mixed(base + (byte / 8) * 0x100);
    uuid[byte] = static_cast<std::uint8_t>(word >> (8 * (byte % 8)));
  }
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40);  // a version 4, variant 1 UUID
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::string format_uuid(const std::array<std::uint8_t, 16>& uuid) {
  std::string text = "GPU-";
  for (std::size_t byte = 0; byte < uuid.size(); ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", uuid[byte]);
    text += digits;
  }
  return text;
}

std::uint32_t pci_bus_of(std::uint32_t index) { return 0x0b + 4 * index; }

std::string format_bus_id(std::uint32_t bus, int domain_digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*X:%02X:00.0", domain_digits, 0U, bus);
  return text;
}

std::uint32_t parse_bus_id(std::string_view text) {
  const auto device = text.rfind(':');
  if (device == std::string_view::npos) return kNoBus;
  const auto rest = text.substr(device);
  if (rest != ":00.0" && rest != ":00") return kNoBus;
  auto bus_text = text.substr(0, device);
  if (const auto domain = bus_text.rfind(':'); domain != std::string_view::npos) {
    if (bus_text.substr(0, domain).find_first_not_of('0') != std::string_view::npos) return kNoBus;
    bus_text = bus_text.substr(domain + 1);
  }
  std::uint32_t bus = 0;
  const auto end = bus_text.data() + bus_text.size();
  const auto parsed = std::from_chars(bus_text.data(), end, bus, 16);
  return parsed.ec == std::errc{} && parsed.ptr == end ? bus : kNoBus;
}

std::uint64_t reserved_bytes_of(const Spec& spec, std::uint32_t index) {
  if (spec.reserved_bytes != Spec::kReservedByDefault) return spec.reserved_bytes;
  return spec.gpu_bytes[index] / 64;
}

std::array<std::array<std::uint8_t, kMaxGpus>, kMaxGpus> link_counts_of(const Spec& spec) {
  std::array<std::array<std::uint8_t, kMaxGpus>, kMaxGpus> counts{};
  for (const auto& link : spec.links) {
    for (const auto& [from, to] :
         {std::pair(link.one, link.other), std::pair(link.other, link.one)}) {
      counts[from][to] = static_cast<std::uint8_t>(counts[from][to] + link.count);
    }
  }
  return counts;
}

std::string fault_of(const Spec& spec) {
  if (spec.gpu_bytes.empty()) return "gpus: none given, smallest number is 1";
  if (spec.gpu_bytes.size() > kMaxGpus) {
    return "gpus: " + std::to_string(spec.gpu_bytes.size()) + ", largest number is " +
           std::to_string(kMaxGpus);
  }
  if (!spec.models.empty() && spec.models.size() != spec.gpu_bytes.size()) {
    return "models: of " + std::to_string(spec.models.size()) + " GPUs, there are " +
           std::to_string(spec.gpu_bytes.size());
  }
  if (auto fault = fault_of_mig(spec); !fault.empty()) return fault;
  for (const auto& link : spec.links) {
    const auto last = std::max(link.one, link.other);
    if (last < spec.gpu_bytes.size()) continue;
    return "links: GPU " + std::to_string(last) + ", the last is " +
           std::to_string(spec.gpu_bytes.size() - 1);
  }
  for (std::uint32_t index = 0; index < spec.gpu_bytes.size(); ++index) {
    if (auto fault = fault_of_gpu(spec, index); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace berth::emu
