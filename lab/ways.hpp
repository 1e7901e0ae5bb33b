// The settings that are compared: what people do today, and berth.
#pragma once

#include <array>

#include "core/admission.hpp"

namespace berth::lab {

struct Way {
  const char* name;
  const char* words;  ///< For the audience.
  AdmissionMode admission;
  const char* policy;
  const char* called = "";  ///< In a sentence that compares them.
};

inline constexpr Way kNone = {"none", "no scheduler: everybody starts at once", AdmissionMode::None,
                              "fifo-skip", "no scheduler"};
inline constexpr Way kFreeMemory = {"free-memory",
                                    "polling: start where enough memory is free right now",
                                    AdmissionMode::FreeMemory, "fifo-skip", "polling"};
inline constexpr Way kFifo = {"fifo", "memory is promised, strictly first come, first served",
                              AdmissionMode::Guarantee, "fifo"};
inline constexpr Way kExclusive = {"exclusive", "one job per GPU, as most clusters do",
                                   AdmissionMode::Guarantee, "exclusive", "one job per GPU"};
inline constexpr Way kHeadroom = {"headroom", "berth: memory is promised before the start",
                                  AdmissionMode::Guarantee, "headroom", "berth"};

/// What ./demo shows, and what tools/eval measures.
inline constexpr std::array kDemoWays = {kNone, kFreeMemory, kExclusive, kHeadroom};
inline constexpr std::array kAllWays = {kNone, kFreeMemory, kFifo, kExclusive, kHeadroom};

}  // namespace berth::lab
