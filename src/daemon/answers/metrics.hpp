// Figures for Prometheus and its like: OpenMetrics text.
//
// Reads the engine and the latest samples; belongs to the engine's thread.
#pragma once

#include <string>

#include "daemon/answers/present.hpp"
#include "daemon/loop/loop.hpp"

namespace berth::daemon {

inline constexpr const char* kOpenMetrics =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct MetricSources {
  const ClusterView& view;
  const Json& gpus;  ///< Presenter::gpus().
  const std::string& policy;
  const Loop::Turns& turns;
  bool is_unwritten = false;  ///< Daemon::unwritten().
};
/// All families of doc/metrics.md, section "Live", with `# EOF` behind.
/// O(GPUs + running jobs + users).
std::string open_metrics(const MetricSources& sources, UserNames& names);

}  // namespace berth::daemon
