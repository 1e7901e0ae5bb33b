#include "emu/load/worker.hpp"

#include <algorithm>
#include <utility>

#include "emu/spin.hpp"

namespace berth::emu {

namespace {

/// Few enough that the emulator keeps them all.
constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kStride = 64 * kMebibyte;

/// Never 0, which is what memory that nobody wrote to reads as.
constexpr unsigned char value_at(std::uint64_t at) {
  return static_cast<unsigned char>(1 + at / kStride % 251);
}

}  // namespace

std::expected<Worker, Failure> Worker::start(const DriverApi& api, int ordinal) {
  Worker worker(api, ordinal);
  int device = 0;
  if (auto got = worker.checked(api.device_get(&device, ordinal), "cuDeviceGet"); !got) {
    return std::unexpected(got.error());
  }
  if (auto made = worker.checked(api.context_create(&worker.context_, 0, device), "cuCtxCreate_v2");
      !made) {
    return std::unexpected(made.error());
  }
  if (auto loaded = worker.load_kernel(); !loaded) return std::unexpected(loaded.error());
  if (auto measured = worker.measure(); !measured) return std::unexpected(measured.error());
  return worker;
}

Done Worker::load_kernel() {
  void* module = nullptr;
  if (auto loaded = checked(api_->module_load_data(&module, kSpinPtx), "cuModuleLoadData");
      !loaded) {
    return loaded;
  }
  if (auto found =
          checked(api_->module_get_function(&trap_, module, kTrapEntry), "cuModuleGetFunction");
      !found) {
    return found;
  }
  return checked(api_->module_get_function(&function_, module, kSpinEntry), "cuModuleGetFunction");
}

/// Finds how many turns of the loop a nanosecond has on this card. The shortest of many short runs
/// counts: the others were interrupted by a neighbour, or ran before the clock had come up. Beside
/// so many turns the time that a launch takes is nothing.
Done Worker::measure() {
  constexpr int kRuns = 24;
  constexpr std::uint64_t kIterations = 64'000;
  void* start = nullptr;
  void* end = nullptr;
  for (auto** event : {&start, &end}) {
    if (auto made = checked(api_->event_create(event, 0), "cuEventCreate"); !made) return made;
  }
  double shortest = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto taken = time_kernel(start, end, kIterations);
    if (!taken) return std::unexpected(taken.error());
    shortest = run == 0 ? *taken : std::min(shortest, *taken);
  }
  if (shortest > 0) iterations_per_nanosecond_ = static_cast<double>(kIterations) / shortest;
  return {};
}

/// Nanoseconds that a kernel of so many turns took.
std::expected<double, Failure> Worker::time_kernel(void* start, void* end,
                                                   std::uint64_t iterations) {
  constexpr std::uint64_t kEmulatedNanoseconds = 1000;
  float milliseconds = 0;
  for (const auto& done :
       {checked(api_->event_record(start, nullptr), "cuEventRecord"),
        run(kEmulatedNanoseconds, iterations),
        checked(api_->event_record(end, nullptr), "cuEventRecord"),
        checked(api_->event_synchronize(end), "cuEventSynchronize"),
        checked(api_->event_elapsed_time(&milliseconds, start, end), "cuEventElapsedTime")}) {
    if (!done) return std::unexpected(done.error());
  }
  return static_cast<double>(milliseconds) * 1e6;
}

Done Worker::hold(std::uint64_t bytes, bool complete) {
  constexpr std::uint64_t kPiece = 16 * kMebibyte;
  constexpr std::uint64_t kGranule = 2 * kMebibyte;
  if (bytes < held_bytes_) {
    if (auto freed = give_back(bytes); !freed) return freed;
    complete = true;  // of the last piece, too much may be gone
  }
  if (bytes == held_bytes_ || (!complete && bytes - held_bytes_ < kPiece)) return {};
  // Cards give whole granules: a ramp of odd pieces would take more than was asked for.
  const auto missing = complete ? bytes - held_bytes_ : (bytes - held_bytes_) / kGranule * kGranule;
  const auto allocated = allocate(missing);
  if (!allocated) return std::unexpected(allocated.error());
  pieces_.push_back({*allocated, missing});
  held_bytes_ += missing;
  return writes_pattern_ ? write(pieces_.back()) : Done();
}

Done Worker::write(const Piece& piece) const {
  for (std::uint64_t at = 0; at + kBlock <= piece.bytes; at += kStride) {
    const auto done =
        checked(api_->memory_set(piece.address + at, value_at(at), kBlock), "cuMemsetD8_v2");
    if (!done) return done;
  }
  return {};
}

std::expected<std::uint64_t, Failure> Worker::check_pattern() const {
  if (auto selected = checked(api_->context_set_current(context_), "cuCtxSetCurrent"); !selected) {
    return std::unexpected(selected.error());
  }
  std::uint64_t blocks = 0;
  std::vector<unsigned char> block(kBlock);
  for (const Piece& piece : pieces_) {
    for (std::uint64_t at = 0; at + kBlock <= piece.bytes; at += kStride, ++blocks) {
      const auto read =
          checked(api_->memory_read(block.data(), piece.address + at, kBlock), "cuMemcpyDtoH_v2");
      if (!read) return std::unexpected(read.error());
      const bool same =
          std::ranges::all_of(block, [&](unsigned char byte) { return byte == value_at(at); });
      if (!same) {
        return std::unexpected(
            Failure{kDriverSuccess, "GPU " + std::to_string(ordinal_) + ": the memory at byte " +
                                        std::to_string(at) + " of an allocation of " +
                                        format_bytes(piece.bytes) + " has changed"});
      }
    }
  }
  return blocks;
}

/// The latest pieces, until no more than `bytes` are left.
Done Worker::give_back(std::uint64_t bytes) {
  if (auto selected = select(); !selected) return selected;
  while (held_bytes_ > bytes) {
    const Piece piece = pieces_.back();
    pieces_.pop_back();
    held_bytes_ -= piece.bytes;
    if (auto freed = checked(api_->memory_free(piece.address), "cuMemFree_v2"); !freed)
      return freed;
  }
  return {};
}

Done Worker::spike(std::uint64_t bytes) {
  if (bytes == spike_bytes_) return {};
  if (bytes == 0) {
    if (auto selected = select(); !selected) return selected;
    spike_bytes_ = 0;
    return checked(api_->memory_free(std::exchange(spike_address_, 0)), "cuMemFree_v2");
  }
  const auto allocated = allocate(bytes);
  if (!allocated) return std::unexpected(allocated.error());
  spike_address_ = *allocated;
  spike_bytes_ = bytes;
  return {};
}

Done Worker::launch(std::uint64_t nanoseconds) {
  if (nanoseconds == 0) return {};
  if (auto selected = select(); !selected) return selected;
  const auto turns = static_cast<double>(nanoseconds) * iterations_per_nanosecond_;
  return run(nanoseconds, static_cast<std::uint64_t>(turns));
}

Done Worker::run(std::uint64_t nanoseconds, std::uint64_t iterations) {
  void* parameters[] = {&nanoseconds, &iterations};
  return checked(api_->launch_kernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
                 "cuLaunchKernel");
}

Done Worker::trap() {
  if (auto selected = select(); !selected) return selected;
  return checked(api_->launch_kernel(trap_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                 "cuLaunchKernel");
}

Done Worker::synchronise() {
  if (auto selected = select(); !selected) return selected;
  return checked(api_->context_synchronize(), "cuCtxSynchronize");
}

std::expected<std::uint64_t, Failure> Worker::allocate(std::uint64_t bytes) {
  if (auto selected = select(); !selected) return std::unexpected(selected.error());
  std::uint64_t address = 0;
  const auto result = api_->memory_allocate(&address, bytes);
  auto call = "cuMemAlloc_v2 of " + format_bytes(bytes);
  std::size_t free = 0;
  std::size_t total = 0;
  if (result != kDriverSuccess && api_->memory_get_info(&free, &total) == kDriverSuccess) {
    call += " (held " + format_bytes(held_bytes()) + ", free " + format_bytes(free) + " of " +
            format_bytes(total) + ")";
  }
  if (auto allocated = checked(result, call); !allocated) {
    return std::unexpected(allocated.error());
  }
  return address;
}

Done Worker::select() { return checked(api_->context_set_current(context_), "cuCtxSetCurrent"); }

Done Worker::checked(int result, const std::string& call) const {
  if (result == kDriverSuccess) return {};
  return std::unexpected(Failure{
      result, "GPU " + std::to_string(ordinal_) + ": " + call + ": " + describe(*api_, result)});
}

}  // namespace berth::emu
