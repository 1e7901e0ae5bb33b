// Goal: integer decay agrees with the real formula, so that fair shares are right and portable.
// Method: against std::exp2 and against closed forms.
#include "core/account.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/rng.hpp"

namespace berth {
namespace {

constexpr double kOne = 4.611686018427387904e18;  // 2^62

double decay(Duration elapsed, Duration half_life) {
  return static_cast<double>(decay_q62(elapsed, half_life)) / kOne;
}

double exact(Duration elapsed, Duration half_life) {
  return std::exp2(-static_cast<double>(micros(elapsed)) / static_cast<double>(micros(half_life)));
}

TEST(Decay, AgreesWithExp2) {
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const Duration half_life(rng.between(1, micros(hours(24 * 365))));
    const Duration elapsed(rng.between(0, 70 * micros(half_life)));
    EXPECT_NEAR(decay(elapsed, half_life), exact(elapsed, half_life), 1e-9)
        << micros(elapsed) << " / " << micros(half_life);
  }
}

TEST(Decay, IsExactAtWholeHalfLives) {
  for (int n = 0; n < 62; ++n) {
    EXPECT_EQ(decay_q62(hours(7) * n, hours(7)), (std::int64_t{1} << 62) >> n);
  }
  EXPECT_EQ(decay_q62(hours(7) * 62, hours(7)), 0);
  EXPECT_EQ(decay_q62(kForever, Duration(1)), 0);
}

TEST(Decay, NeverGrows) {
  std::int64_t before = decay_q62(Duration::zero(), hours(1));
  for (Duration elapsed(0); elapsed < hours(3); elapsed += seconds(7)) {
    const std::int64_t now = decay_q62(elapsed, hours(1));
    EXPECT_LE(now, before);
    before = now;
  }
}

TEST(Account, IntegratesAConstantShare) {
  const Account account{.share_ppb = 500'000'000};
  // Half the cluster for one half-life: 0.5 * H / ln 2 * (1 - 1/2) share-seconds, in billionths.
  const double expected = 0.5 * 3600.0 / std::log(2.0) * 0.5 * 1e9;
  const auto service = static_cast<double>(account.service_at(kStart + hours(1), hours(1)).raw());
  EXPECT_NEAR(service / expected, 1.0, 1e-9);
}

TEST(Account, HalvesWhatIsOld) {
  const Account account{.service = ShareSeconds(1'000'000), .as_of = kStart};
  EXPECT_EQ(account.service_at(kStart, hours(1)), ShareSeconds(1'000'000));
  EXPECT_EQ(account.service_at(kStart + hours(1), hours(1)), ShareSeconds(500'000));
  EXPECT_EQ(account.service_at(kStart + hours(3), hours(1)), ShareSeconds(125'000));
}

TEST(Account, SettlingOnTheWayChangesAlmostNothing) {
  Account often{.share_ppb = 700'000'000};
  const Account once = often;
  Instant now = kStart;
  Rng rng(5);
  for (int i = 0; i < 1000; ++i) {
    now += Duration(rng.between(0, micros(minutes(30))));
    often.settle(now, hours(24));
  }
  const auto stepwise = static_cast<double>(often.service.raw());
  const auto whole = static_cast<double>(once.service_at(now, hours(24)).raw());
  EXPECT_NEAR(stepwise / whole, 1.0, 1e-6);
}

TEST(Account, ShortIntervalsCount) {
  const Account account{.share_ppb = 1'000'000'000};
  const auto after = [&](Duration time) {
    return static_cast<double>(account.service_at(kStart + time, hours(24 * 7)).raw());
  };
  EXPECT_NEAR(after(seconds(1)), 1e9, 1e9 * 1e-6);
  EXPECT_NEAR(after(Duration(1000)), 1e6, 1e6 * 1e-5);
  EXPECT_NEAR(after(Duration(10)), 1e4, 1e4 * 1e-3);
}

TEST(Account, SettlingAllTheTimeLosesNothing) {
  Account account{.share_ppb = 1'000'000'000};
  for (Instant now = kStart; now < kStart + seconds(1); now += Duration(100)) {
    account.settle(now, hours(24 * 7));
  }
  account.settle(kStart + seconds(1), hours(24 * 7));
  EXPECT_NEAR(static_cast<double>(account.service.raw()), 1e9, 1e9 * 1e-4);
}

}  // namespace
}  // namespace berth
