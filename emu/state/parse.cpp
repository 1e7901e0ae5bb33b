// Sizes, durations and GPU lists as people write them.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "emu/emulator.hpp"
#include "emu/state/layout.hpp"
#include "emu/state/mig.hpp"

namespace berth::emu {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 5> kSizes{
    {{"t", 1ULL << 40}, {"g", 1ULL << 30}, {"m", 1ULL << 20}, {"k", 1ULL << 10}, {"", 1}}};
constexpr std::array<Unit, 7> kTimes{{{"ns", 1},
                                      {"us", 1000},
                                      {"ms", 1000000},
                                      {"s", 1000000000},
                                      {"", 1000000000},
                                      {"m", 60000000000},
                                      {"h", 3600000000000}}};

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (auto& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

/// Text as number times unit; nullopt-like 0 factor is never in a table.
template <std::size_t N>
Outcome<std::uint64_t> scaled(std::string_view text, const std::array<Unit, N>& units,
                              std::string_view suffix) {
  constexpr double kLargest = 9.0e18;
  double value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const auto quoted = "'" + std::string(text) + "'";
  if (parsed.ec != std::errc{}) return std::unexpected(quoted + " does not begin with a number");
  for (const auto& unit : units) {
    if (suffix != unit.name) continue;
    const auto result = value * static_cast<double>(unit.factor);
    if (!(result >= 0 && result <= kLargest)) return std::unexpected(quoted + " is out of range");
    return static_cast<std::uint64_t>(std::llround(result));
  }
  return std::unexpected(quoted + " has no unit known here");
}

std::string_view unit_of(std::string_view lower) {
  const auto start = lower.find_first_not_of("0123456789.-");
  return start == std::string_view::npos ? std::string_view{} : lower.substr(start);
}

}  // namespace

Outcome<std::uint64_t> parse_bytes(std::string_view text) {
  const auto lower = lowered(text);
  auto unit = unit_of(lower);
  if (unit.ends_with("ib")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with("b")) {
    unit.remove_suffix(1);
  }
  return scaled(text, kSizes, unit);
}

Outcome<std::uint64_t> parse_nanoseconds(std::string_view text) {
  const auto lower = lowered(text);
  return scaled(text, kTimes, unit_of(lower));
}

Outcome<std::vector<std::uint64_t>> parse_gpus(std::string_view text) {
  std::vector<std::uint64_t> gpus;
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = rest.find(',');
    const auto group = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto times = group.find('x');
    std::uint32_t count = 0;
    const auto parsed = std::from_chars(group.data(), group.data() + group.size(), count);
    if (times == std::string_view::npos || parsed.ptr != group.data() + times || count == 0 ||
        count > kMaxGpus) {
      return std::unexpected("'" + std::string(group) + "' is not a number from 1 to " +
                             std::to_string(kMaxGpus) + ", an x and a size, as in 2x24GiB");
    }
    const auto bytes = parse_bytes(group.substr(times + 1));
    if (!bytes) return std::unexpected(bytes.error());
    gpus.insert(gpus.end(), count, *bytes);
  }
  if (gpus.empty()) return std::unexpected("'' names no GPU, as 2x24GiB does");
  return gpus;
}

Outcome<std::uint32_t> parse_percent(std::string_view text) {
  constexpr std::uint32_t kMost = 1000;
  std::uint32_t percent = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error == std::errc{} && std::string_view(stop, end) == "%" && percent <= kMost) {
    return percent;
  }
  return std::unexpected("'" + std::string(text) + "' is not a whole percentage from 0% to " +
                         std::to_string(kMost) + "%");
}

Outcome<std::uint32_t> parse_driver(std::string_view text) {
  constexpr std::uint32_t kLeast = 450;
  constexpr std::uint32_t kMost = 999;
  std::uint32_t release = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, release);
  if (error == std::errc{} && stop == end && release >= kLeast && release <= kMost) return release;
  return std::unexpected("'" + std::string(text) + "' is not a release from " +
                         std::to_string(kLeast) + " to " + std::to_string(kMost));
}

Outcome<bool> parse_yes(std::string_view text) {
  if (text == "yes" || text == "no") return text == "yes";
  return std::unexpected("'" + std::string(text) + "' is not yes or no");
}

Outcome<bool> parse_memory(std::string_view text) {
  if (text == "shown" || text == "hidden") return text == "hidden";
  return std::unexpected("'" + std::string(text) + "' is not shown or hidden");
}

Outcome<std::string> parse_mig_text(std::string_view text) {
  const auto split = parse_mig(text);
  if (!split) return std::unexpected(split.error());
  return std::string(text);
}

namespace {

constexpr std::uint32_t kMostLinks = 18;  // of an H100

/// "0-1x4".
Outcome<GpuLink> parse_link(std::string_view text) {
  GpuLink link;
  const auto end = text.data() + text.size();
  const auto one = std::from_chars(text.data(), end, link.one);
  auto rest = one;
  if (one.ec == std::errc{} && one.ptr != end && *one.ptr == '-') {
    rest = std::from_chars(one.ptr + 1, end, link.other);
    if (rest.ec == std::errc{} && rest.ptr != end && *rest.ptr == 'x') {
      rest = std::from_chars(rest.ptr + 1, end, link.count);
    }
    const bool is_pair = link.one < kMaxGpus && link.other < kMaxGpus && link.one != link.other;
    if (rest.ec == std::errc{} && rest.ptr == end && is_pair && link.count >= 1 &&
        link.count <= kMostLinks) {
      return link;
    }
  }
  return std::unexpected("'" + std::string(text) + "' is not two GPUs and at most " +
                         std::to_string(kMostLinks) + " NVLinks between them, as in 0-1 or 0-1x4");
}

}  // namespace

Outcome<Links> parse_links(std::string_view text) {
  Links links;
  if (text == "switch") {
    links.to_switch = kMostLinks;
    return links;
  }
  std::array<std::uint32_t, kMaxGpus> of_gpu{};
  for (std::string_view rest = text;;) {
    const auto plus = rest.find('+');
    const auto link = parse_link(rest.substr(0, plus));
    if (!link) return std::unexpected(link.error());
    for (const auto gpu : {link->one, link->other}) {
      of_gpu[gpu] += link->count;
      if (of_gpu[gpu] <= kMostLinks) continue;
      return std::unexpected("GPU " + std::to_string(gpu) + " has " + std::to_string(of_gpu[gpu]) +
                             " NVLinks, the most is " + std::to_string(kMostLinks));
    }
    links.pairs.push_back(*link);
    if (plus == std::string_view::npos) return links;
    rest = rest.substr(plus + 1);
  }
}

namespace {

/// `2xK80:20%`.
Outcome<void> add_models(std::vector<GpuModel>& models, std::string_view text) {
  std::uint32_t count = 1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_counted =
      end.ec == std::errc{} && end.ptr != text.data() + text.size() && *end.ptr == 'x';
  if (is_counted) {
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()) + 1);
  } else {
    count = 1;
  }
  const auto colon = text.find(':');
  GpuModel model{.name = std::string(text.substr(0, colon))};
  constexpr std::size_t kLongestName = 64;
  if (model.name.empty() || model.name.size() > kLongestName) {
    return std::unexpected("'" + model.name + "' is not a name of 1 to 64 characters");
  }
  if (colon != std::string_view::npos) {
    const auto speed = parse_percent(text.substr(colon + 1));
    if (!speed) return std::unexpected(speed.error());
    if (*speed == 0) return std::unexpected("a speed of 0%, the least is 1%");
    model.speed_percent = *speed;
  }
  if (count == 0 || count > kMaxGpus - models.size()) {
    return std::unexpected(std::to_string(models.size() + count) + " models, the most is " +
                           std::to_string(kMaxGpus));
  }
  models.insert(models.end(), count, model);
  return {};
}

}  // namespace

Outcome<std::vector<GpuModel>> parse_models(std::string_view text) {
  std::vector<GpuModel> models;
  for (std::string_view rest = text;;) {
    const auto plus = rest.find('+');
    if (auto added = add_models(models, rest.substr(0, plus)); !added) {
      return std::unexpected(added.error());
    }
    if (plus == std::string_view::npos) return models;
    rest = rest.substr(plus + 1);
  }
}

namespace {

template <class Value>
Outcome<void> store(auto& target, std::string_view name, const Outcome<Value>& value) {
  if (!value) return std::unexpected(std::string(name) + ": " + value.error());
  target = *value;
  return {};
}

/// `name=value` behind the sizes.
Outcome<void> take_option(Spec& spec, std::string_view option) {
  const auto equals = option.find('=');
  const auto name = option.substr(0, equals);
  const auto value = option.substr(equals + 1);
  if (name == "interference") return store(spec.interference_percent, name, parse_percent(value));
  if (name == "driver") return store(spec.driver, name, parse_driver(value));
  if (name == "memory") return store(spec.hides_memory, name, parse_memory(value));
  if (name == "models") return store(spec.models, name, parse_models(value));
  if (name == "mig") return store(spec.mig, name, parse_mig_text(value));
  if (name == "accounting") return store(spec.keeps_accounts, name, parse_yes(value));
  if (name == "energy") return store(spec.has_energy, name, parse_yes(value));
  if (name == "links") {
    auto links = parse_links(value);
    if (!links) return std::unexpected(std::string(name) + ": " + links.error());
    spec.links = std::move(links->pairs);
    spec.switch_links = links->to_switch;
    return {};
  }
  if (name == "checkpoints") return store(spec.has_checkpoints, name, parse_yes(value));
  return std::unexpected("unknown option '" + std::string(name) +
                         "'; valid options: interference, driver, memory, models, mig, links, "
                         "accounting, energy, checkpoints");
}

/// Where the first option begins, after a comma; the length of the text if there is none.
std::size_t options_of(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return text.size();
  const auto comma = text.rfind(',', equals);
  return comma == std::string_view::npos ? 0 : comma;
}

}  // namespace

Outcome<Spec> parse_machine(std::string_view text) {
  Spec spec;
  const auto at = options_of(text);
  for (auto rest = text.substr(at); !rest.empty();) {
    if (rest.front() == ',') rest.remove_prefix(1);
    const auto end = std::min(rest.find(','), rest.size());
    if (auto taken = take_option(spec, rest.substr(0, end)); !taken) {
      return std::unexpected(taken.error());
    }
    rest.remove_prefix(end);
  }
  auto gpus = parse_gpus(text.substr(0, at));
  if (!gpus) return std::unexpected(gpus.error());
  spec.gpu_bytes = std::move(*gpus);
  return spec;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<Unit, 4> kUnits{
      {{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}}};
  for (const auto& unit : kUnits) {
    if (bytes < unit.factor) continue;
    char text[48];
    const auto value = static_cast<double>(bytes) / static_cast<double>(unit.factor);
    const int decimals = bytes % unit.factor == 0 ? 0 : 2;
    std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit.name.data());
    return text;
  }
  return "0 B";
}

}  // namespace berth::emu
