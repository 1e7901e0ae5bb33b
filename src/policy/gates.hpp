// Every gate by name: what may be written after a further `+` of a policy.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "policy/about.hpp"
#include "policy/keys.hpp"

namespace berth {

class Gate;

using GateFactory = std::unique_ptr<const Gate>(const Keys&);
GateFactory exclusive, idle, local;
extern const About kExclusiveGate;
extern const About kIdle;
extern const About kLocal;

struct GateEntry {
  std::string_view name;
  const About* about;
  GateFactory* make;
};

std::span<const GateEntry> gates();

}  // namespace berth
