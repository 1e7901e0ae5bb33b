// Goal: a map by ascending ids that keeps memory for the living only.
// Method: random operations against std::map; a value that counts its copies.
#include "core/id_map.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "core/ids.hpp"
#include "core/rng.hpp"

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
