#include "emu/state/mig.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "emu/state/clock.hpp"
#include "emu/state/identity.hpp"
#include "emu/state/ledger.hpp"

namespace berth::emu {
namespace {

constexpr std::uint32_t kMemorySlices = 8;
constexpr std::array<std::uint8_t, 7> kAnySlice{0, 1, 2, 3, 4, 5, 6};
constexpr std::array<std::uint8_t, 4> kPairs{0, 2, 4, 6};
constexpr std::array<std::uint8_t, 3> kLowPairs{0, 2, 4};
constexpr std::array<std::uint8_t, 2> kHalves{0, 4};
constexpr std::array<std::uint8_t, 1> kFirst{0};

using Table = std::array<MigProfile, 6>;

/// One model's six profiles: their names, multiprocessors of a slice, and memory of 1, 2, 4 and 8
/// slices.
constexpr Table table_of(const std::array<std::string_view, 6>& names, std::uint32_t processors,
                         const std::array<std::uint64_t, 4>& mebibytes) {
  return {{{names[0], 0x0, 19, 1, 1, processors, mebibytes[0], kAnySlice},
           {names[1], 0x9, 15, 1, 2, processors, mebibytes[1], kPairs},
           {names[2], 0x1, 14, 2, 2, 2 * processors, mebibytes[1], kLowPairs},
           {names[3], 0x2, 9, 3, 4, 3 * processors, mebibytes[2], kHalves},
           {names[4], 0x3, 5, 4, 4, 4 * processors, mebibytes[2], kFirst},
           {names[5], 0x4, 0, 7, 8, 7 * processors, mebibytes[3], kFirst}}};
}

struct Model {
  std::string_view name;
  Table profiles;
};

constexpr std::array<Model, 5> kModels{{
    {"a100-40", table_of({"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, 14,
                         {4864, 9856, 19968, 40192})},
    {"a100", table_of({"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}, 14,
                      {9728, 19968, 40192, 80384})},
    {"h100", table_of({"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}, 16,
                      {9984, 20096, 40448, 80896})},
    {"h200", table_of({"1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}, 16,
                      {16384, 33280, 71424, 143104})},
    {"b200", table_of({"1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"}, 18,
                      {21504, 44032, 90112, 180224})},
}};

// The word of an entry: there, claimed, compute, then parent, profile, start, and of a claim the
// process that makes it.
constexpr std::uint64_t kThere = 1ULL << 63;
constexpr std::uint64_t kClaimed = 1ULL << 62;
constexpr std::uint64_t kCompute = 1ULL << 61;
constexpr int kParentShift = 16;
constexpr int kProfileShift = 8;
constexpr std::uint64_t kByte = 0xff;

std::uint64_t pack(std::uint32_t parent, std::size_t profile, std::uint32_t start) {
  return kThere | (std::uint64_t{parent} << kParentShift) |
         (std::uint64_t{profile} << kProfileShift) | start;
}

bool overlap(std::uint32_t start, std::uint32_t size, const MigInstance& other) {
  return start < other.start + other.profile->memory_slices && other.start < start + size;
}

/// Takes a free entry, or one whose maker died.
std::optional<std::uint32_t> claim(Layout& layout) {
  const auto mine = kClaimed | static_cast<std::uint32_t>(::getpid());
  for (auto entry = layout.header.gpu_count; entry < kMaxGpus; ++entry) {
    auto& word = layout.gpus[entry].instance;
    auto seen = word.load();
    const bool is_left = (seen & kClaimed) != 0 && !key_of(static_cast<pid_t>(seen & 0x7fffffff));
    if ((seen == 0 || is_left) && word.compare_exchange_strong(seen, mine)) return entry;
  }
  return std::nullopt;
}

void configure(Layout& layout, std::uint32_t entry, std::uint32_t parent, const MigProfile& profile,
               std::uint32_t start) {
  const auto& whole = layout.gpus[parent].config;
  auto& gpu = layout.gpus[entry];
  gpu.config = whole;
  gpu.config.total_bytes = profile.mebibytes * kMebibyte;
  gpu.config.reserved_bytes = gpu.config.total_bytes / 64;
  gpu.config.compute_slices = profile.compute_slices;
  gpu.config.interference_percent = whole.interference_percent;
  gpu.config.uuid = uuid_of(layout.header.seed, 1000 + 256 * parent + 16 * profile.number + start);
  const auto name = std::string(whole.name.data()) + " MIG " + std::string(profile.name);
  gpu.config.name.fill('\0');
  std::copy_n(name.begin(), std::min(name.size(), gpu.config.name.size() - 1),
              gpu.config.name.begin());
  gpu.lost.store(layout.gpus[parent].lost.load());
  if (gpu.records[0][0].real_nanoseconds.load() == 0) {
    gpu.records[0][0].real_nanoseconds.store(monotonic_nanoseconds());
  }
}

bool place(const std::vector<const MigProfile*>& profiles, std::size_t at, std::uint32_t taken,
           std::vector<std::uint32_t>& starts) {
  if (at == profiles.size()) return true;
  for (const auto start : profiles[at]->starts) {
    const auto mask = ((1U << profiles[at]->memory_slices) - 1) << start;
    if ((taken & mask) != 0) continue;
    starts[at] = start;
    if (place(profiles, at + 1, taken | mask, starts)) return true;
  }
  return false;
}

}  // namespace

std::span<const MigProfile> mig_profiles(std::string_view model) {
  const auto* const found = std::ranges::find(kModels, model, &Model::name);
  if (found == kModels.end()) return {};
  return found->profiles;
}

std::span<const MigProfile> mig_profiles(const Layout& layout) {
  const auto model = layout.header.mig_model;
  if (model == 0 || model > kModels.size()) return {};
  return kModels[model - 1].profiles;
}

std::uint32_t mig_model_number(std::string_view text) {
  const auto name = text.substr(0, text.find(':'));
  const auto* const found = std::ranges::find(kModels, name, &Model::name);
  return found == kModels.end() ? 0 : static_cast<std::uint32_t>(found - kModels.begin()) + 1;
}

Outcome<MigSplit> parse_mig(std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  MigSplit split{.model = text.substr(0, colon), .profiles = {}};
  const auto known = mig_profiles(split.model);
  if (known.empty()) {
    return std::unexpected("'" + std::string(split.model) +
                           "' is no model with MIG; there are a100-40, a100, h100, h200, b200");
  }
  for (auto rest = text.substr(std::min(colon + 1, text.size())); !rest.empty();) {
    const auto end = std::min(rest.find('+'), rest.size());
    const auto name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto found = std::ranges::find(known, name, &MigProfile::name);
    if (found == known.end()) {
      std::string names;
      for (const auto& profile : known) names += " " + std::string(profile.name);
      return std::unexpected("'" + std::string(name) + "' is no profile of " +
                             std::string(split.model) + "; there are" + names);
    }
    split.profiles.push_back(&*found);
  }
  if (!places_for(split.profiles)) {
    return std::unexpected("'" + std::string(text) + "': these instances do not fit together");
  }
  return split;
}

std::optional<std::vector<std::uint32_t>> places_for(
    const std::vector<const MigProfile*>& profiles) {
  std::vector<std::uint32_t> starts(profiles.size());
  if (!place(profiles, 0, 0, starts)) return std::nullopt;
  return starts;
}

std::optional<MigInstance> instance_at(const Layout& layout, std::uint32_t entry) {
  if (entry < layout.header.gpu_count || entry >= kMaxGpus) return std::nullopt;
  const auto word = layout.gpus[entry].instance.load();
  const auto profiles = mig_profiles(layout);
  const auto profile = word >> kProfileShift & kByte;
  if ((word & kThere) == 0 || profile >= profiles.size()) return std::nullopt;
  return MigInstance{.entry = entry,
                     .parent = static_cast<std::uint32_t>(word >> kParentShift & kByte),
                     .profile = &profiles[profile],
                     .start = static_cast<std::uint32_t>(word & kByte),
                     .has_compute = (word & kCompute) != 0};
}

std::vector<MigInstance> instances_of(const Layout& layout, std::uint32_t gpu) {
  std::vector<MigInstance> instances;
  for (auto entry = layout.header.gpu_count; entry < entries_of(layout); ++entry) {
    const auto instance = instance_at(layout, entry);
    if (instance && instance->parent == gpu) instances.push_back(*instance);
  }
  std::ranges::sort(instances, {}, &MigInstance::start);
  return instances;
}

std::string uuid_of_instance(const Layout& layout, std::uint32_t entry) {
  return "MIG" + format_uuid(layout.gpus[entry].config.uuid).substr(3);
}

MigEnd make_instance(Layout& layout, std::uint32_t gpu, const MigProfile& profile,
                     std::uint32_t start, std::uint32_t* entry) {
  if (std::ranges::find(profile.starts, start) == profile.starts.end()) return MigEnd::BadPlace;
  const auto profiles = mig_profiles(layout);
  for (const auto& other : instances_of(layout, gpu)) {
    if (overlap(start, profile.memory_slices, other)) return MigEnd::NoRoom;
  }
  const auto claimed = claim(layout);
  if (!claimed) return MigEnd::NoRoom;
  configure(layout, *claimed, gpu, profile, start);
  const auto number = static_cast<std::size_t>(&profile - profiles.data());
  layout.gpus[*claimed].instance.store(pack(gpu, number, start));
  *entry = *claimed;
  return MigEnd::Done;
}

MigEnd destroy_instance(Layout& layout, std::uint32_t entry) {
  const auto instance = instance_at(layout, entry);
  if (!instance) return MigEnd::BadPlace;
  reap_dead(layout);
  const bool is_used = Ledger(layout, entry).used_granules() != 0;
  if (is_used || instance->has_compute) return MigEnd::InUse;
  layout.gpus[entry].instance.store(0);
  return MigEnd::Done;
}

MigEnd set_compute(Layout& layout, std::uint32_t entry, bool there) {
  const auto instance = instance_at(layout, entry);
  if (!instance) return MigEnd::BadPlace;
  if (there && instance->has_compute) return MigEnd::NoRoom;
  reap_dead(layout);
  if (!there && Ledger(layout, entry).used_granules() != 0) return MigEnd::InUse;
  auto& word = layout.gpus[entry].instance;
  const auto seen = word.load();
  word.store(there ? seen | kCompute : seen & ~kCompute);
  return MigEnd::Done;
}

}  // namespace berth::emu
