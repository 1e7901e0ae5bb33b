// Goal: a map by ascending ids that keeps memory for the living only.
// Method: random operations against std::map; a value that counts its copies.
#include "core/base/id_map.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/ids.hpp"
#include "core/base/rng.hpp"

namespace berth {
namespace {

using Map = IdMap<JobId, std::int64_t>;

std::map<JobId, std::int64_t> contents(const Map& map) {
  std::map<JobId, std::int64_t> all;
  JobId last;
  map.for_each([&](JobId id, std::int64_t value) {
    EXPECT_TRUE(all.empty() || last < id) << "not ascending";
    last = id;
    all[id] = value;
  });
  return all;
}

TEST(IdMap, AgreesWithAnOrderedMap) {
  Rng rng(1);
  Map map;
  std::map<JobId, std::int64_t> oracle;
  for (int i = 0; i < 20'000; ++i) {
    const JobId id(static_cast<JobId::rep>(rng.between(0, 700)));
    if (oracle.contains(id)) {
      EXPECT_EQ(map.at(id), oracle[id]);
      map.erase(id);
      oracle.erase(id);
    } else {
      EXPECT_EQ(map.find(id), nullptr);
      map.insert(id, i);
      oracle[id] = i;
    }
    EXPECT_EQ(map.size(), oracle.size());
  }
  EXPECT_EQ(contents(map), oracle);
}

TEST(IdMap, FindsNothingBeyondItsPages) {
  Map map;
  EXPECT_EQ(map.find(JobId(0)), nullptr);
  EXPECT_EQ(map.find(JobId(1'000'000)), nullptr);
  map.insert(JobId(64), 1);
  EXPECT_EQ(map.find(JobId(63)), nullptr);
  EXPECT_EQ(map.find(JobId(65)), nullptr);
}

TEST(IdMap, FindsTheNearestKey) {
  Map map;
  EXPECT_EQ(map.at_or_above(JobId(0)), std::nullopt);
  EXPECT_EQ(map.at_or_below(JobId(1'000'000)), std::nullopt);
  // Within a page, in the next one, in the next book of 262,144, and far beyond.
  const std::set<JobId::rep> keys = {0, 3, 63, 64, 200, 262'143, 262'144, 300'000, 2'000'000};
  for (const JobId::rep key : keys) map.insert(JobId(key), 0);
  map.insert(JobId(700'000), 0);  // leaves an empty book behind
  map.erase(JobId(700'000));
  for (const JobId::rep key : keys) {
    for (const JobId::rep from : {key, key + 1, key == 0 ? 0 : key - 1, key + 70, key + 400'000}) {
      const auto above = keys.lower_bound(from);
      EXPECT_EQ(map.at_or_above(JobId(from)),
                above == keys.end() ? std::nullopt : std::optional(JobId(*above)))
          << from;
      EXPECT_EQ(map.at_or_below(JobId(from)), JobId(*std::prev(keys.upper_bound(from)))) << from;
    }
  }
  EXPECT_EQ(map.at_or_below(JobId(~std::uint64_t{0})), JobId(2'000'000));
  EXPECT_EQ(map.at_or_above(JobId(~std::uint64_t{0})), std::nullopt);
}

TEST(IdMap, DestroysWhatIsErased) {
  IdMap<JobId, std::shared_ptr<int>> map;
  const auto value = std::make_shared<int>(1);
  for (JobId::rep id = 0; id < 200; ++id) map.insert(JobId(id), value);
  EXPECT_EQ(value.use_count(), 201);
  for (JobId::rep id = 0; id < 200; ++id) map.erase(JobId(id));
  EXPECT_EQ(value.use_count(), 1);
}

TEST(IdMap, AReusedPageIsEmpty) {
  Map map;
  map.insert(JobId(1), 1);
  map.erase(JobId(1));
  map.insert(JobId(128), 2);
  EXPECT_EQ(map.find(JobId(129)), nullptr);
  EXPECT_EQ(contents(map), (std::map<JobId, std::int64_t>{{JobId(128), 2}}));
}

TEST(IdMap, KeepsToItsContract) {
  Map map;
  map.insert(JobId(5), 1);
  EXPECT_DEATH(map.insert(JobId(5), 2), "broken invariant");
  EXPECT_DEATH((void)map.at(JobId(6)), "broken invariant");
  EXPECT_DEATH(map.erase(JobId(6)), "broken invariant");
}

}  // namespace
}  // namespace berth
