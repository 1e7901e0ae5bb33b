// Figures for Prometheus and its like: OpenMetrics text.
//
// Reads the engine and the latest samples; belongs to the engine's thread.
#pragma once

#include <string>

#include "daemon/present.hpp"

namespace berth::daemon {

inline constexpr const char* kOpenMetrics =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All families of doc/metrics.md, section "Live", with `# EOF` behind. `gpus`: Presenter::gpus().
/// O(GPUs + running jobs + users).
std::string open_metrics(const ClusterView& view, const Json& gpus, const std::string& policy,
                         UserNames& names);

}  // namespace berth::daemon
