#include "emu/state/clock.hpp"

#include <time.h>

#include <algorithm>

#include "emu/state/futex.hpp"
#include "emu/state/ledger.hpp"

namespace berth::emu {
namespace {

// The published word: slot in the lowest 10 bits, which of its two records in the next, and a
// number above that never repeats in practice.
constexpr std::uint64_t kClockSlots = kSlots - 1;
constexpr int kRecordShift = 10;
constexpr int kClockShift = 11;

constexpr std::uint64_t kSampleGap = kSecond / 8;
// How long a waiter sleeps at most: after that it looks for dead neighbours, whose kernels would
// otherwise slow it to their end.
constexpr std::uint64_t kLongestSleep = kSecond / 10;

ClockRecord& record_of(GpuState& gpu, std::uint64_t word) {
  return gpu.records[word & kClockSlots][(word >> kRecordShift) & 1];
}

/// Busy time at `moment` between two points: even in between.
std::uint64_t interpolate(std::uint64_t moment, ClockReading from, ClockReading to) {
  const auto span = to.real_nanoseconds - from.real_nanoseconds;
  if (span == 0) return to.busy_nanoseconds;
  const auto part = static_cast<double>(moment - from.real_nanoseconds) / static_cast<double>(span);
  const auto busy = static_cast<double>(to.busy_nanoseconds - from.busy_nanoseconds) * part;
  return from.busy_nanoseconds + static_cast<std::uint64_t>(busy);
}

}  // namespace

std::uint64_t monotonic_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

ClockReading GpuClock::read() const { return snapshot().at(monotonic_nanoseconds()); }

std::uint64_t GpuClock::enqueue(std::uint32_t slot, std::uint64_t nanoseconds) {
  constexpr std::uint64_t kSlices = 7;
  if (gpu_.config.compute_slices > 0) {
    nanoseconds = nanoseconds * kSlices / gpu_.config.compute_slices;
  }
  Point point;
  do {
    const auto last = snapshot();
    point = last.point;
    // Up to now the others ran without us: that must be fixed before our queue counts.
    point.reading = last.at(monotonic_nanoseconds());
    keep_sample(point);
  } while (!publish(point, slot));
  const auto start = std::max(gpu_.finish[slot].load(), point.reading.virtual_nanoseconds);
  gpu_.submitted[slot].fetch_add(nanoseconds);
  gpu_.finish[slot].store(start + nanoseconds);
  return start + nanoseconds;
}

WaitEnd GpuClock::wait_until(std::uint64_t target) {
  for (;;) {
    const auto signal = gpu_.signal.load();
    if (gpu_.lost.load() != 0) return WaitEnd::Lost;
    const auto now = monotonic_nanoseconds();
    const auto last = snapshot();
    if (last.at(now).virtual_nanoseconds >= target) return WaitEnd::Reached;
    const auto end = last.time_of(target);
    const bool cut_short = end > now + kLongestSleep;
    wait_on(gpu_.signal, signal, cut_short ? now + kLongestSleep : end);
    if (cut_short) patrol(layout_, now + kLongestSleep);
  }
}

std::optional<std::uint64_t> GpuClock::past_time_of(std::uint64_t target) const {
  const auto last = snapshot();
  if (target < last.point.reading.virtual_nanoseconds) return std::nullopt;
  return last.time_of(target);
}

void GpuClock::end_work_of(std::uint32_t slot, ProcessKey owner) {
  auto finish = gpu_.finish[slot].load();
  const auto present = read().virtual_nanoseconds;
  if (finish <= present || layout_.owners[slot].load() != owner) return;
  // To the present, not to zero: until now it did slow the others.
  gpu_.finish[slot].compare_exchange_strong(finish, present);
}

std::uint64_t GpuClock::served_nanoseconds(std::uint32_t slot) const {
  const auto finish = gpu_.finish[slot].load();
  const auto submitted = gpu_.submitted[slot].load();
  const auto present = read().virtual_nanoseconds;
  const auto waiting = finish > present ? finish - present : 0;
  return submitted > waiting ? submitted - waiting : 0;
}

unsigned GpuClock::utilisation_percent() const {
  const auto now = monotonic_nanoseconds();
  const auto last = snapshot();
  const auto busy = busy_at(last, now) - busy_at(last, now - kSecond);
  return static_cast<unsigned>(std::min<std::uint64_t>(100, (busy * 100 + kSecond / 2) / kSecond));
}

/// A queue grows only after its owner has published, so queues read while the point stayed the same
/// hold nothing newer than it: a new kernel must not slow a time before it came.
GpuClock::Snapshot GpuClock::snapshot() const {
  constexpr int kTries =
      100;  // against neighbours that publish without pause; then nearly is enough
  Snapshot snapshot;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    snapshot = {published(),
                finishes(),
                {.interference_percent = gpu_.config.interference_percent,
                 .speed_percent = gpu_.config.speed_percent}};
    if (gpu_.clock.load() == snapshot.point.word) break;
  }
  return snapshot;
}

GpuClock::Point GpuClock::published() const {
  for (;;) {
    Point point;
    point.word = gpu_.clock.load();
    const auto& record = record_of(gpu_, point.word);
    point.reading = {.virtual_nanoseconds = record.virtual_nanoseconds.load(),
                     .real_nanoseconds = record.real_nanoseconds.load(),
                     .busy_nanoseconds = record.busy_nanoseconds.load()};
    point.sample_count = record.sample_count.load();
    std::ranges::transform(record.sample_real, point.sample_real.begin(),
                           [](const SharedWord& word) { return word.load(); });
    std::ranges::transform(record.sample_busy, point.sample_busy.begin(),
                           [](const SharedWord& word) { return word.load(); });
    if (gpu_.clock.load() == point.word) return point;
  }
}

bool GpuClock::publish(const Point& point, std::uint32_t slot) {
  auto current = point.word;
  const bool ours = (current & kClockSlots) == slot;
  const std::uint64_t other = ours ? ((current >> kRecordShift) & 1) ^ 1 : 0;
  const auto number = (current >> kClockShift) + 1;
  const auto next = (number << kClockShift) | (other << kRecordShift) | slot;
  auto& record = record_of(gpu_, next);
  record.virtual_nanoseconds.store(point.reading.virtual_nanoseconds);
  record.real_nanoseconds.store(point.reading.real_nanoseconds);
  record.busy_nanoseconds.store(point.reading.busy_nanoseconds);
  record.sample_count.store(point.sample_count);
  for (std::uint32_t index = 0; index < kBusySamples; ++index) {
    record.sample_real[index].store(point.sample_real[index]);
    record.sample_busy[index].store(point.sample_busy[index]);
  }
  return gpu_.clock.compare_exchange_strong(current, next);
}

std::vector<std::uint64_t> GpuClock::finishes() const {
  std::vector<std::uint64_t> finishes;
  const auto high = used_slots(layout_);
  finishes.reserve(high);
  for (std::uint32_t slot = 0; slot < high; ++slot) finishes.push_back(gpu_.finish[slot].load());
  return finishes;
}

void GpuClock::keep_sample(Point& point) {
  const auto last = point.sample_real[(point.sample_count + kBusySamples - 1) % kBusySamples];
  if (point.reading.real_nanoseconds < last + kSampleGap) return;
  const auto index = point.sample_count++ % kBusySamples;
  point.sample_real[index] = point.reading.real_nanoseconds;
  point.sample_busy[index] = point.reading.busy_nanoseconds;
}

std::uint64_t GpuClock::busy_at(const Snapshot& snapshot, std::uint64_t moment) {
  const auto& point = snapshot.point;
  if (moment >= point.reading.real_nanoseconds) return snapshot.at(moment).busy_nanoseconds;
  ClockReading later = point.reading;
  const auto kept = std::min<std::uint64_t>(point.sample_count, kBusySamples);
  for (std::uint64_t back = 1; back <= kept; ++back) {
    const auto index = (point.sample_count - back) % kBusySamples;
    const ClockReading sample{.real_nanoseconds = point.sample_real[index],
                              .busy_nanoseconds = point.sample_busy[index]};
    if (sample.real_nanoseconds <= moment) return interpolate(moment, sample, later);
    later = sample;
  }
  return later.busy_nanoseconds;
}

}  // namespace berth::emu
