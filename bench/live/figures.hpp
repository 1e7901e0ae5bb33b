// What a live benchmark found, and how it is told.
#pragma once

#include <benchmark/benchmark.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "live/bed.hpp"

namespace berth::bench {

struct Figures {
  Seconds time{0};  ///< What the row is about, where it is a time.
  std::map<std::string, double> counters;
};

inline double milliseconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
}

/// The value below which this part of them lies; 0 of none.
double quantile(std::vector<double> values, double part);

/// Of all threads of a process, from what the scheduler has counted.
Seconds processor_time(pid_t pid);

/// The sum of some lines of a file of /proc/PID that have their value in kB.
double kib_of(pid_t pid, const std::string& file, const std::vector<std::string>& names);

/// The body of a row: measures once, or says why it cannot.
void report(benchmark::State& state, const std::function<Expected<Figures>()>& measure);

/// A row that is measured once and says itself how long it took.
void as_row(benchmark::internal::Benchmark* row);

}  // namespace berth::bench
