#include "policy/backfills.hpp"

#include <array>

namespace berth {

namespace {

constexpr auto kBackfills = std::to_array<BackfillEntry>({
    {"block", &kBlock, block},
    {"skip", &kSkip, skip},
    {"displace", &kDisplace, displace},
    {"easy", &kEasy, easy},
    {"conservative", &kConservative, conservative},
    {"lend", &kLend, lend},
});

}  // namespace

std::span<const BackfillEntry> backfills() { return kBackfills; }

}  // namespace berth
