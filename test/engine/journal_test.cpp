// Goal: what is journaled is read back whole, and nothing else is read.
//
// Method: every structure of members.hpp is filled so that no field has its default, written, read
// and written again; its fields are counted, so that one left out of members.hpp fails here. Then
// damaged bytes: cut short, with a byte too many, with random bits turned.
#include "engine/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <typeinfo>

#include "core/base/rng.hpp"
#include "engine/sample.hpp"

namespace berth::test {
namespace {

// ---- Structures ------------------------------------------------------------------------------

/// One of each.
using Structures =
    std::tuple<GpuRequest, Request, Ask, Placement, Share, Grant, JobSpec, Progress, Job, GpuSpec,
               NodeShape, Admission, UserLimits, PreemptionBounds, Metric, Ended, Settings, Account,
               GpuUse, Hold, Dependency, ArrayPlace, Saving, Conditions, Drain, Reservation,
               Reserved, Unreserved, GpuLost, Link, Wired, Updated, Estimated, Drained, Submitted,
               CancelAsked, HoldAsked, ReleaseAsked, Started, StartFailed, Exited, Released,
               TenantUse, Measured, GpuHealth, NodeHealth, Reported, Configured, Weighed, Bounded,
               Ticked, Answer, Solved, Start, Preempt, Migrate, Reserve, Classify, Reject>;

template <class Check>
void for_each_structure(const Check& check) {
  const auto one = [&]<class T>() {
    SCOPED_TRACE(typeid(T).name());
    check.template operator()<T>();
  };
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    (one.template operator()<T>(), ...);
  }(std::type_identity<Structures>{});
}

/// Members that follow from others and are not written. A GPU's set of itself follows from its
/// number, its gang and its charges from the grants, whether it is drained or reserved from the
/// drains and the calendar, and from that what a job keeps off; to write them would make snapshots
/// of another format.
template <class T>
constexpr std::size_t kDerived = 0;
template <>
constexpr std::size_t kDerived<GpuUse> = 3;
template <>
constexpr std::size_t kDerived<GpuSpec> = 1;
template <>
constexpr std::size_t kDerived<Job> = 1;
template <>
constexpr std::size_t kDerived<Account> = 1;

TEST(Structures, NameEveryMemberOnce) {
  for_each_structure([]<class T> {
    T value{};
    const auto named = members(value);
    EXPECT_EQ(std::tuple_size_v<decltype(named)> + kDerived<T>, kFields<T>);
    std::vector<const void*> places;
    std::apply([&](auto&... field) { (places.push_back(&field), ...); }, named);
    std::ranges::sort(places);
    EXPECT_EQ(std::ranges::adjacent_find(places), places.end());
  });
}

TEST(Structures, AreSampledWithoutDefaults) {
  for_each_structure([]<class T> {
    T sample = Sampler().make<T>();
    T plain{};
    const auto differ = [](auto& a, auto& b) { return encoded(a) != encoded(b); };
    const auto sampled = members(sample);
    const auto plains = members(plain);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      EXPECT_TRUE((differ(std::get<I>(sampled), std::get<I>(plains)) && ...));
    }(std::make_index_sequence<std::tuple_size_v<decltype(sampled)>>{});
  });
}

TEST(Structures, RoundTrip) {
  for_each_structure([]<class T> {
    const T value = Sampler().make<T>();
    const std::string bytes = encoded(value);
    ByteReader in(bytes);
    T read{};
    codec::get(in, read);
    EXPECT_FALSE(in.failed());
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(encoded(read), bytes);
    if constexpr (std::equality_comparable<T>) {
      EXPECT_TRUE(read == value);
    }
  });
}

// ---- Inputs and decisions --------------------------------------------------------------------

TEST(Journal, EveryInputRoundTrips) {
  const std::vector<Input> inputs = one_of_each<Input>();
  const auto read = decode_inputs(encode_inputs(inputs));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), std::variant_size_v<Input>);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ((*read)[i].index(), i);
    EXPECT_EQ(encoded((*read)[i]), encoded(inputs[i])) << i;
  }
}

TEST(Journal, EveryDecisionRoundTrips) {
  const std::vector<Decision> decisions = one_of_each<Decision>();
  const auto read = decode_decisions(encode_decisions(decisions));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), std::variant_size_v<Decision>);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    EXPECT_EQ((*read)[i].index(), i);
    EXPECT_EQ(encoded((*read)[i]), encoded(decisions[i])) << i;
  }
}

JournalEntry full_entry() {
  return {.now = kStart + hours(1),
          .inputs = one_of_each<Input>(),
          .decisions = one_of_each<Decision>()};
}

TEST(Journal, AnEntryRoundTrips) {
  const std::string bytes = encode(full_entry());
  const auto read = decode_entry(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->now, kStart + hours(1));
  EXPECT_EQ(read->inputs.size(), std::variant_size_v<Input>);
  EXPECT_EQ(read->decisions.size(), std::variant_size_v<Decision>);
  EXPECT_EQ(encode(*read), bytes);
}

TEST(Journal, TheEmptyEntryRoundTrips) {
  EXPECT_EQ(encode(*decode_entry(encode(JournalEntry{}))), encode(JournalEntry{}));
}

TEST(Journal, ExtremesRoundTrip) {
  const std::vector<Input> inputs = {
      Submitted{.job = JobId(~std::uint64_t{0}), .spec = {.time_limit = kForever}},
      Measured{GpuId(~0U), {}, {}, {}},
      Reported{JobId(1), std::string("\0\xff", 2), std::numeric_limits<std::int64_t>::min()}};
  const std::string bytes = encode_inputs(inputs);
  ASSERT_TRUE(decode_inputs(bytes).has_value());
  EXPECT_EQ(encode_inputs(*decode_inputs(bytes)), bytes);
}

// ---- Layouts ---------------------------------------------------------------------------------

/// A structure that gets a second member with the layout after today's.
struct Growing {
  std::int64_t first = 0;
  std::int64_t second = 7;
};
auto members(Growing& v) { return std::tie(v.first, v.second); }
auto members(Growing& v, codec::Before<kLayout + 1>) { return std::tie(v.first); }

TEST(Layout, OneBeforeAChangeIsReadWithTheMembersOfThen) {
  const std::string bytes = codec::kept(std::vector<std::int64_t>{4, 5});
  std::vector<Growing> read;
  ASSERT_TRUE(codec::get_kept(bytes, read));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].first, 5);
  EXPECT_EQ(read[1].second, 7) << "the default";
}

TEST(Layout, TheOneOfTheChangeIsReadWithTodaysMembers) {
  const std::string bytes = encoded(Growing{.first = 4, .second = 5});
  ByteReader in(bytes);
  in.set_layout(kLayout + 1);
  Growing read;
  codec::get(in, read);
  EXPECT_TRUE(in.at_end() && !in.failed());
  EXPECT_EQ(read.first, 4);
  EXPECT_EQ(read.second, 5);
}

TEST(Layout, AnUnknownOneIsRefused) {
  for (const int layout : {-kLayout, kOldestLayout - 1, kLayout + 1}) {
    const std::string empty = encoded(std::int64_t{layout}) + encoded(std::int64_t{0});
    EXPECT_FALSE(decode_inputs(empty).has_value()) << layout;
  }
  EXPECT_TRUE(decode_inputs(encode_inputs({})).has_value());
}

// ---- Damage ----------------------------------------------------------------------------------

/// Reads `bytes` as an entry; if that works, writing it again must give the same bytes. An older
/// layout is written as today's.
void expect_refused_or_same(const std::string& bytes) {
  const bool is_of_today = bytes.starts_with(encoded(std::int64_t{kLayout}));
  if (const auto entry = decode_entry(bytes); entry && is_of_today) {
    EXPECT_TRUE(encode(*entry) == bytes) << bytes.size() << " bytes";
  }
}

TEST(JournalDamage, EveryPrefixIsRefused) {
  const std::string bytes = encode(full_entry());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_entry(std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
}

TEST(JournalDamage, EveryPrefixOfOneInputOrDecisionIsRefused) {
  for (const Input& input : one_of_each<Input>()) {
    const std::string bytes = encode_inputs(std::span(&input, 1));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_inputs(std::string_view(bytes).substr(0, size)).has_value());
    }
  }
  for (const Decision& decision : one_of_each<Decision>()) {
    const std::string bytes = encode_decisions(std::span(&decision, 1));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_decisions(std::string_view(bytes).substr(0, size)).has_value());
    }
  }
}

TEST(JournalDamage, AByteTooManyIsRefused) {
  const auto read = decode_entry(encode(full_entry()) + '\0');
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::BadData);
}

TEST(JournalDamage, TheMessageSaysWhatItIsNot) {
  EXPECT_EQ(decode_entry("abc").error().message, "journal: not an entry (3 bytes)");
  EXPECT_EQ(decode_inputs("").error().message, "journal: not a list of inputs (0 bytes)");
  EXPECT_EQ(decode_decisions("\x02").error().message, "journal: not a list of decisions (1 bytes)");
}

TEST(JournalDamage, EveryTurnedBitIsRefusedOrKept) {
  const std::string whole = encode(full_entry());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    expect_refused_or_same(bytes);
  }
}

TEST(JournalDamage, ManyTurnedBytesAreRefusedOrKept) {
  const std::string whole = encode(full_entry());
  Rng rng(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (std::int64_t left = rng.between(1, 4); left > 0; --left) {
      const auto at = static_cast<std::size_t>(rng.between(0, std::ssize(bytes) - 1));
      bytes[at] = static_cast<char>(rng.between(0, 255));
    }
    expect_refused_or_same(bytes);
  }
}

TEST(JournalDamage, RandomBytesAreRefusedOrKept) {
  Rng rng(2);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(static_cast<std::size_t>(rng.between(0, 24)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.between(0, 30));
    expect_refused_or_same(bytes);
  }
}

/// The bytes of a list of one input, by hand.
template <class... Number>
std::string input_of(Number... numbers) {
  ByteWriter out;
  for (const std::int64_t number :
       {std::int64_t{kLayout}, std::int64_t{1}, static_cast<std::int64_t>(numbers)...}) {
    out.integer(number);
  }
  return out.take();
}
constexpr int kGpuHealth = 10;

TEST(JournalDamage, WhatIsOutOfRangeIsRefused) {
  static_assert(std::same_as<std::variant_alternative_t<kGpuHealth, Input>, GpuHealth>);
  EXPECT_TRUE(decode_inputs(input_of(kGpuHealth, 3, 1)).has_value());
  EXPECT_FALSE(decode_inputs(input_of(kGpuHealth, 3, 2)).has_value()) << "truth value";
  EXPECT_FALSE(decode_inputs(input_of(kGpuHealth, std::int64_t{1} << 32, 1)).has_value()) << "id";
  EXPECT_FALSE(decode_inputs(input_of(kGpuHealth, -1, 1)).has_value()) << "id";
  EXPECT_FALSE(decode_inputs(input_of(-1)).has_value()) << "alternative";
  EXPECT_FALSE(decode_inputs(input_of(std::variant_size_v<Input>)).has_value()) << "alternative";
  constexpr int kExited = 6;
  static_assert(std::same_as<std::variant_alternative_t<kExited, Input>, Exited>);
  const auto last = static_cast<int>(last_of(Outcome{}));
  EXPECT_TRUE(decode_inputs(input_of(kExited, 3, 1, last, 0)).has_value());
  EXPECT_FALSE(decode_inputs(input_of(kExited, 3, 1, last + 1, 0)).has_value()) << "outcome";
  EXPECT_FALSE(decode_inputs(input_of(kExited, 3, 1, 0, std::int64_t{1} << 31)).has_value());
}

TEST(JournalDamage, ALengthThatLiesIsNotTrusted) {
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{1} << 40, kForever.count()}) {
    ByteWriter out;
    out.integer(kLayout);
    out.integer(size);
    EXPECT_FALSE(decode_inputs(out.bytes()).has_value());
    EXPECT_FALSE(decode_inputs(out.bytes() + std::string(100, '\0')).has_value());
  }
}

TEST(JournalDamage, ANumberIsWrittenInOneWay) {
  const std::string layout = encoded(std::int64_t{kLayout});
  EXPECT_TRUE(decode_inputs(layout + std::string("\0", 1)).has_value());
  EXPECT_FALSE(decode_inputs(layout + std::string("\x80\0", 2)).has_value());
}

}  // namespace
}  // namespace berth::test
