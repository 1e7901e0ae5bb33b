// Every gate by name: what may be written after a further `+` of a policy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "policy/about.hpp"
#include "policy/keys.hpp"
#include "policy/kit/classes.hpp"

namespace berth {

class Gate;

using GateFactory = std::unique_ptr<const Gate>(const Keys&);
GateFactory exclusive, idle, local, mps, yield;

/// The gate idle for policies whose keys are others.
struct IdleRule {
  std::int64_t below_percent;
  Duration after;                    ///< A job that has waited this long may share any GPU,
  Duration unknown = minutes(5);     ///< one whose run time is not known (classes.hpp) this long,
  std::int64_t patience_milli = -1;  ///< or so many thousandths of its run time; -1: no less.
  ClassBounds classes = {};          ///< Of jobs whose run time is not known.
};
std::unique_ptr<const Gate> idle_by(const IdleRule& rule);
extern const About kExclusiveGate;
extern const About kIdle;
extern const About kLocal;
extern const About kMps;
extern const About kYield;

struct GateEntry {
  std::string_view name;
  const About* about;
  GateFactory* make;
};

std::span<const GateEntry> gates();

}  // namespace berth
