// Every backfill by name, for the part after the `+` of a policy.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "policy/about.hpp"
#include "policy/keys.hpp"

namespace berth {

class Backfill;

using BackfillFactory = std::unique_ptr<Backfill>(const Keys&);
BackfillFactory block, skip, displace, easy, conservative, lend;
extern const About kBlock;
extern const About kSkip;
extern const About kDisplace;
extern const About kEasy;
extern const About kConservative;
extern const About kLend;

struct BackfillEntry {
  std::string_view name;
  const About* about;
  BackfillFactory* make;
};

std::span<const BackfillEntry> backfills();

}  // namespace berth
