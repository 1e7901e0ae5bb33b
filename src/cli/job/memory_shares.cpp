#include "cli/job/memory_shares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "core/base/units.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

/// 0 where none has as much.
std::int64_t smallest_card_with(std::int64_t vram, const Json& gpus) {
  std::int64_t smallest = 0;
  for (const Json& gpu : part_of(gpus, "gpus")) {
    const std::int64_t total = integer_of(gpu, "total_bytes").value_or(0);
    if (total >= vram && (smallest == 0 || total < smallest)) smallest = total;
  }
  return smallest;
}

/// Rounded down, as the request must not be passed.
std::string hundredths_of(std::int64_t vram, std::int64_t card) {
  const std::int64_t hundredths = std::clamp<std::int64_t>(vram / (card / 100), 1, 99);
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "0.%02d", static_cast<int>(hundredths));
  return text.data();
}

}  // namespace

std::vector<std::string> warnings_of_shares(const Submission& submission, const Json& gpus) {
  constexpr std::size_t kMostSaid = 3;
  std::vector<std::string> warnings;
  const auto vram = integer_of(submission.body, "vram_bytes");
  if (!vram || submission.body.contains("exclusive") || !part_of(gpus, "gpus").is_array()) {
    return warnings;
  }
  const std::int64_t card = smallest_card_with(*vram, gpus);
  if (card < 100) return warnings;
  for (const MemoryShare& share : submission.shares) {
    constexpr double kMebibyte = 1 << 20;
    const double mebibytes = share.part * static_cast<double>(card) / kMebibyte;
    const std::int64_t takes = static_cast<std::int64_t>(std::ceil(mebibytes)) << 20;
    if (takes <= *vram || warnings.size() == kMostSaid) continue;
    warnings.push_back(share.where + share.written + " takes " + to_text(Bytes(takes)) +
                       " of a card of " + to_text(Bytes(card)) + ", while the job asks for " +
                       to_text(Bytes(*vram)) + "; write " + hundredths_of(*vram, card));
  }
  return warnings;
}

std::vector<std::string> shares_told_by(Daemon& daemon, const Submission& submission) {
  if (submission.shares.empty()) return {};
  const auto gpus = daemon.get("/v1/gpus");
  return gpus ? warnings_of_shares(submission, *gpus) : std::vector<std::string>();
}

}  // namespace berth::cli
