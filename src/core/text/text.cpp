#include "core/text/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>

#include "core/cluster.hpp"

namespace berth {

namespace {

/// `value` thousandths with up to `digits` decimals, trailing zeros dropped.
std::string fixed_point(std::int64_t whole, std::int64_t fraction, int digits) {
  std::string text = std::to_string(whole);
  if (fraction == 0) return text;
  std::string decimals = std::to_string(fraction);
  decimals.insert(0, static_cast<std::size_t>(digits) - decimals.size(), '0');
  while (decimals.back() == '0') decimals.pop_back();
  return text + "." + decimals;
}

/// `GPUs 0, 2`.
std::string set_text(GpuSet set) {
  std::string list;
  for (const GpuId gpu : gpus_in(set)) {
    list += (list.empty() ? "" : ", ") + std::to_string(gpu.value());
  }
  return (std::has_single_bit(set) ? "GPU " : "GPUs ") + list;
}

std::string micros_text(std::int64_t micros) {
  const std::string sign = micros < 0 ? "-" : "";
  const std::int64_t size = std::abs(micros);
  return sign + fixed_point(size / 1'000'000, size % 1'000'000, 6);
}

bool is_plain_for_shell(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("_-./=:,@%+").contains(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain_for_shell)) return std::string(word);
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

std::string to_text(Bytes bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < Bytes(0)) {  // the most negative has no positive twin
    return "-" + to_text(Bytes(-std::max(bytes.raw(), -std::numeric_limits<std::int64_t>::max())));
  }
  std::size_t unit = 0;
  std::int64_t scale = 1;
  while (unit + 1 < units.size() && bytes.raw() / scale >= 1024) scale *= 1024, ++unit;
  const std::int64_t whole = bytes.raw() / scale;
  const int digits = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
  const std::int64_t parts = digits == 0 ? 1 : digits == 1 ? 10 : 100;
  const std::int64_t fraction = scale == 1 ? 0 : (bytes.raw() % scale) * parts / scale;
  return fixed_point(whole, fraction, digits) + " " + units[unit];
}

std::string cores_text(CpuMilli cpu) { return fixed_point(cpu.raw() / 1000, cpu.raw() % 1000, 3); }

std::string to_text(const Request& request) {
  const GpuRequest& gpu = request.gpu;
  if (gpu.count == GpuCount(0)) return "no GPU";
  const std::string plural = gpu.count == GpuCount(1) ? "" : "s";
  const bool whole = gpu.vram == Bytes(0) || gpu.sharing == Sharing::Alone;
  std::string text = std::to_string(gpu.count.raw()) + (whole ? " whole GPU" : " GPU") + plural;
  if (gpu.vram > Bytes(0)) text += " of " + to_text(gpu.vram);
  if (gpu.only != 0)
    text +=
        (GpuCount(std::popcount(gpu.only)) == gpu.count ? ", " : " among ") + set_text(gpu.only);
  return text;
}

std::string seconds_text(Duration duration) { return micros_text(micros(duration)); }
std::string seconds_text(Instant instant) { return micros_text(micros(instant)); }

std::string duration_text(Duration duration) {
  std::string text;
  std::int64_t left = micros(duration);
  for (const auto& [unit, name] :
       {std::pair(micros(hours(24)), "d"), {micros(hours(1)), "h"}, {micros(minutes(1)), "min"}}) {
    if (const std::int64_t count = left / unit; count > 0) text += std::to_string(count) + name;
    left %= unit;
  }
  return left == 0 && !text.empty() ? text : text + micros_text(left) + "s";
}

}  // namespace berth
