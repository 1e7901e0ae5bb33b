// berth-load's share of one GPU: a context, the memory it holds, the kernel it runs.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "emu/load/driver_api.hpp"

namespace berth::emu {

/// A call of the driver that failed.
struct Failure {
  int result = 0;
  std::string what;  // names GPU, call and size
};

using Done = std::expected<void, Failure>;

class Worker {
 public:
  /// Makes a context on GPU `ordinal` and measures the kernel there.
  static std::expected<Worker, Failure> start(const DriverApi& api, int ordinal);

  /// From here on a pattern is written to what hold() takes: a block of each 64 MiB.
  void write_pattern() { writes_pattern_ = true; }
  /// Reads the pattern back. Returns: how many blocks had it; a failure if one had not.
  std::expected<std::uint64_t, Failure> check_pattern() const;

  /// Holds `bytes`: allocates what is missing once that is worth an allocation, frees what is too
  /// much.
  Done hold(std::uint64_t bytes, bool complete);
  /// Holds the spike, or not.
  Done spike(std::uint64_t bytes);
  /// Starts a kernel that takes this long on a GPU of its own.
  Done launch(std::uint64_t nanoseconds);
  /// Starts a kernel that traps.
  Done trap();
  Done synchronise();

  /// Without the spike.
  std::uint64_t steady_bytes() const { return held_bytes_; }
  std::uint64_t held_bytes() const { return held_bytes_ + spike_bytes_; }

 private:
  struct Piece {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };

  Worker(const DriverApi& api, int ordinal) : api_(&api), ordinal_(ordinal) {}

  Done load_kernel();
  Done measure();
  std::expected<double, Failure> time_kernel(void* start, void* end, std::uint64_t iterations);
  Done run(std::uint64_t nanoseconds, std::uint64_t iterations);
  Done write(const Piece& piece) const;
  Done give_back(std::uint64_t bytes);
  std::expected<std::uint64_t, Failure> allocate(std::uint64_t bytes);
  Done select();
  Done checked(int result, const std::string& call) const;

  const DriverApi* api_;
  int ordinal_;
  void* context_ = nullptr;
  void* function_ = nullptr;
  void* trap_ = nullptr;
  double iterations_per_nanosecond_ = 1;
  std::vector<Piece> pieces_;  // what is held but for the spike
  bool writes_pattern_ = false;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t spike_bytes_ = 0;
  std::uint64_t spike_address_ = 0;
};

}  // namespace berth::emu
