#include "fgd/go_random.hpp"

namespace berth::fgd {

namespace {

constexpr std::size_t kLength = 607;
constexpr std::size_t kFirstFeed = kLength - 273;
constexpr std::uint64_t kSteps = 7'800'000'000'000;

using State = std::array<std::uint64_t, kLength>;
/// A polynomial over the integers modulo 2^64.
using Polynomial = std::vector<std::uint64_t>;

/// x -> 48271 x mod 2^31 - 1, the generator that seeds the other.
class Seeder {
 public:
  explicit Seeder(std::int64_t seed) : value_(seed % kModulus) {
    if (value_ < 0) value_ += kModulus;
    if (value_ == 0) value_ = 89'482'311;
    for (int i = 0; i < 20; ++i) next();
  }
  std::uint64_t next() {
    value_ = value_ * 48'271 % kModulus;
    return static_cast<std::uint64_t>(value_);
  }
  /// Three numbers, each shifted less than the one before.
  std::uint64_t word(unsigned shift) {
    std::uint64_t word = next() << 2 * shift;
    word ^= next() << shift;
    return word ^ next();
  }

 private:
  static constexpr std::int64_t kModulus = (std::int64_t{1} << 31) - 1;
  std::int64_t value_;
};

/// Modulo x^607 - x^334 - 1: the n-th number is the sum of those 607 and 273 before it.
Polynomial reduced(Polynomial p) {
  for (std::size_t i = p.size(); i-- > kLength;) {
    p[i - kLength] += p[i];
    p[i - kLength + kFirstFeed] += p[i];
    p[i] = 0;
  }
  p.resize(kLength);
  return p;
}

Polynomial square(const Polynomial& p) {
  Polynomial product(2 * kLength - 1);
  for (std::size_t i = 0; i < kLength; ++i) {
    for (std::size_t j = 0; j < kLength; ++j) product[i + j] += p[i] * p[j];
  }
  return reduced(std::move(product));
}

Polynomial power_of_x(std::uint64_t n) {
  Polynomial power(kLength);
  power[0] = 1;
  for (int bit = 63; bit >= 0; --bit) {
    power = square(power);
    if ((n >> bit & 1) == 0) continue;
    power.insert(power.begin(), 0);
    power = reduced(std::move(power));
  }
  return power;
}

/// Where the number of step n is kept; the first step is 1.
std::size_t place_of(std::int64_t n) {
  const auto length = static_cast<std::int64_t>(kLength);
  const std::int64_t at = (static_cast<std::int64_t>(kFirstFeed) - n) % length;
  return static_cast<std::size_t>(at < 0 ? at + length : at);
}

State table() {
  Seeder seeder(1);
  // The numbers before the first step count as steps -606 to 0.
  constexpr auto kBefore = static_cast<std::int64_t>(kLength) - 1;
  State seeded;
  for (std::uint64_t& word : seeded) word = seeder.word(10);
  std::vector<std::uint64_t> steps;
  for (std::int64_t n = -kBefore; n <= 0; ++n) steps.push_back(seeded[place_of(n)]);
  while (steps.size() < 2 * kLength) {
    const std::size_t n = steps.size();
    steps.push_back(steps[n - kLength] + steps[n - kLength + kFirstFeed]);
  }
  const Polynomial power = power_of_x(kSteps);
  State state{};
  for (std::size_t k = 0; k < kLength; ++k) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kLength; ++i) sum += power[i] * steps[i + k];
    const auto n = static_cast<std::int64_t>(kSteps) - kBefore + static_cast<std::int64_t>(k);
    state[place_of(n)] = sum;
  }
  return state;
}

}  // namespace

GoRandom::GoRandom(std::int64_t seed) {
  static const State kTable = table();
  Seeder seeder(seed);
  for (std::size_t i = 0; i < kLength; ++i) state_[i] = seeder.word(20) ^ kTable[i];
}

std::uint64_t GoRandom::uint64() {
  tap_ = tap_ == 0 ? kLength - 1 : tap_ - 1;
  feed_ = feed_ == 0 ? kLength - 1 : feed_ - 1;
  return state_[feed_] += state_[tap_];
}

std::int32_t GoRandom::below(std::int32_t n) {
  const auto draw = [&] { return static_cast<std::int32_t>(int63() >> 32); };
  if ((n & (n - 1)) == 0) return draw() & (n - 1);
  const auto rest = static_cast<std::int32_t>((std::int64_t{1} << 31) % n);
  std::int32_t drawn = draw();
  while (drawn > 0x7fffffff - rest) drawn = draw();
  return drawn % n;
}

/// Lemire's way, which Go has for shuffling only.
std::uint32_t GoRandom::shuffle_below(std::uint32_t n) {
  const auto draw = [&] { return static_cast<std::uint64_t>(int63()) >> 31; };
  std::uint64_t product = draw() * n;
  if (static_cast<std::uint32_t>(product) < n) {
    const std::uint32_t least = -n % n;
    while (static_cast<std::uint32_t>(product) < least) product = draw() * n;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

std::vector<std::size_t> GoRandom::permutation(std::size_t n) {
  std::vector<std::size_t> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto j = static_cast<std::size_t>(below(static_cast<std::int32_t>(i + 1)));
    all[i] = all[j];
    all[j] = i;
  }
  return all;
}

}  // namespace berth::fgd
