#include "policy/backfills.hpp"

#include <algorithm>
#include <array>

namespace berth {

namespace {

constexpr auto kBackfills = std::to_array<BackfillEntry>({
    {"block", BackfillKind::Block, &kBlock, block},
    {"skip", BackfillKind::Skip, &kSkip, skip},
    {"displace", BackfillKind::Displace, &kDisplace, displace},
    {"easy", BackfillKind::Easy, &kEasy, easy},
    {"conservative", BackfillKind::Conservative, &kConservative, conservative},
    {"promise", BackfillKind::Promise, &kPromise, promise},
    {"lend", BackfillKind::Lend, &kLend, lend},
});

}  // namespace

std::span<const BackfillEntry> backfills() { return kBackfills; }

const BackfillEntry& backfill_of(BackfillKind kind) {
  return *std::ranges::find(kBackfills, kind, &BackfillEntry::kind);
}

}  // namespace berth
