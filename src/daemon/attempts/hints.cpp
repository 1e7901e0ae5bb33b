#include "daemon/attempts/hints.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "core/text/text.hpp"

namespace berth::daemon {

namespace {

bool names(std::span<const std::string> arguments, std::string_view word) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument.find(word) != std::string::npos;
  });
}

/// A program that takes a fraction of the card by default.
struct Taker {
  std::string_view program;  ///< In a word of the command.
  std::string_view shown;
  std::string_view takes;
  std::string_view option;  ///< That says another fraction.
};
constexpr auto kTakers = std::to_array<Taker>({
    {"vllm", "vLLM", "90 %", "gpu-memory-utilization"},
    {"sglang", "SGLang", "nearly all", "mem-fraction-static"},
    {"text-generation-launcher", "TGI", "all", "cuda-memory-fraction"},
});

/// What stands behind the option, with either kind of dash between its words; nothing where it is
/// not there, and -1 where its value is no number.
std::optional<double> figure_of(std::span<const std::string> arguments, std::string_view option) {
  std::string other(option);
  std::ranges::replace(other, '-', '_');
  std::string text;
  for (const std::string& argument : arguments) text += argument + " ";
  for (const std::string& name : {std::string(option), other}) {
    const std::size_t at = text.find(name);
    if (at == text.npos) continue;
    const std::size_t value = text.find_first_not_of("= \"'", at + name.size());
    double figure = -1;
    if (value != text.npos) {
      std::from_chars(text.data() + value, text.data() + text.size(), figure);
    }
    return figure;
  }
  return std::nullopt;
}

/// 0 where none is large enough.
Bytes smallest_card(Bytes vram, std::span<const Device> devices) {
  Bytes smallest{0};
  for (const Device& device : devices) {
    const bool is_less = smallest == Bytes(0) || device.total < smallest;
    if (device.total >= vram && is_less) smallest = device.total;
  }
  return smallest;
}

/// ` 0.42 (10 GiB of 23.6 GiB)`: rounded down, as the request must not be passed.
std::string figure_text(Bytes vram, Bytes card) {
  if (card == Bytes(0)) return "";
  const std::int64_t hundredths = std::max<std::int64_t>(1, vram.raw() / (card.raw() / 100));
  std::array<char, 16> figure{};
  std::snprintf(figure.data(), figure.size(), "%.2f",
                static_cast<double>(std::min<std::int64_t>(hundredths, 99)) / 100);
  return std::string(" ") + figure.data() + " (" + to_text(vram) + " of " + to_text(card) + ")";
}

}  // namespace

Variables memory_hints(Bytes vram, Bytes total) {
  if (vram == Bytes(0) || total <= Bytes(0)) return {};
  const double share = static_cast<double>(vram.raw()) / static_cast<double>(total.raw());
  char fraction[16];
  // Rounded down: the fraction is of the whole card, and the request must not be passed.
  std::snprintf(fraction, sizeof fraction, "%.3f", std::max(0.001, share - 0.0005));
  return {
      {"XLA_PYTHON_CLIENT_MEM_FRACTION", fraction},  // JAX takes 75 % of the card at start
      {"TF_FORCE_GPU_ALLOW_GROWTH", "true"},         // TensorFlow takes all of it
  };
}

std::vector<std::string> memory_warnings(std::span<const std::string> arguments,
                                         const GpuRequest& asked, std::span<const Device> devices) {
  std::vector<std::string> warnings;
  if (asked.vram == Bytes(0) || asked.sharing == Sharing::Alone) return warnings;
  const Bytes card = smallest_card(asked.vram, devices);
  for (const Taker& taker : kTakers) {
    if (!names(arguments, taker.program)) continue;
    const auto figure = figure_of(arguments, taker.option);
    constexpr double kMebibyte = 1 << 20;
    const double mebibytes = figure.value_or(0) * static_cast<double>(card.raw()) / kMebibyte;
    const Bytes takes(static_cast<std::int64_t>(std::ceil(mebibytes)) << 20);
    if (figure && takes <= asked.vram) continue;
    const std::string option = "--" + std::string(taker.option);
    const std::string is_too_much =
        figure ? option + " takes " + to_text(takes) + " of a card of " + to_text(card)
               : std::string(taker.shown) + " takes " + std::string(taker.takes) +
                     " of the card whatever was asked for";
    warnings.push_back(is_too_much + ": give it " + option + figure_text(asked.vram, card));
  }
  return warnings;
}

std::string own_port(JobId job) {
  constexpr std::uint64_t kFirst = 20'000;
  constexpr std::uint64_t kPorts = 9'000;  // 29500 is what frameworks take by default
  return std::to_string(kFirst + job.value() % kPorts);
}

}  // namespace berth::daemon
