// Goal: whatever happens to a snapshot's bytes, the memory of the policy that wrote it among them,
// a restore refuses it or gives a sound engine that can go on. Every seed of the fuzzer is one.
//
// Method: each registered policy is saved in the middle of a random past. Half of the damage is
// done to the policy's memory in a snapshot that is whole otherwise: bytes are turned, lost, added
// and moved, or it is the memory of another moment or of another policy. The other half is done to
// any bytes. What happens is drawn from the policy's name, so that one more changes nothing.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/codec.hpp"
#include "engine/frame.hpp"
#include "engine/history.hpp"
#include "engine/restored.hpp"
#include "fuzz/snapshot_seed.hpp"
#include "property/registered.hpp"
#include "support/paths.hpp"

namespace berth::test {
namespace {

constexpr int kRounds = 100;
constexpr int kSteps = 60;

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : rng_(seed) {}

  std::string done_to(std::string bytes) {
    for (std::int64_t left = rng_.between(1, 3); left > 0; --left) harm(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t end) {
    return static_cast<std::size_t>(rng_.between(0, static_cast<std::int64_t>(end) - 1));
  }

  void harm(std::string& bytes) {
    if (bytes.empty()) return bytes.push_back(static_cast<char>(rng_.between(0, 127)));
    const std::size_t at = below(bytes.size());
    switch (rng_.between(0, 6)) {
      case 0:
        bytes[at] = static_cast<char>(rng_.between(-128, 127));
        break;
      case 1:
        bytes[at] = static_cast<char>(rng_.between(0, 12));  // a small number
        break;
      case 2:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng_.between(0, 7)));
        break;
      case 3:
        bytes.erase(at, below(8) + 1);
        break;
      case 4:
        bytes.insert(at, 1, static_cast<char>(rng_.between(0, 127)));
        break;
      case 5:
        bytes.replace(at, 9, "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f");  // one of the largest numbers
        break;
      default:
        bytes.insert(below(bytes.size()), bytes.substr(at, below(24)));
        break;
    }
  }

  Rng rng_;
};

Frame frame_of(const std::string& bytes) {
  ByteReader in(bytes);
  in.integer();
  Frame frame;
  codec::get(in, frame);
  EXPECT_TRUE(in.at_end() && !in.failed());
  return frame;
}

std::string bytes_of(const Frame& frame) {
  ByteWriter out;
  out.integer(kLayout);
  codec::put(out, frame);
  return out.take();
}

class DamagedSnapshots : public testing::TestWithParam<std::string> {
 protected:
  /// Returns: whether it was sound.
  bool check(const std::string& bytes, const std::string& what) {
    const auto restored = restore_and_go_on(bytes, GetParam());
    EXPECT_TRUE(restored.has_value())
        << GetParam() << ", " << what << ": " << restored.error().message;
    return restored.has_value() && *restored == Restored::Sound;
  }
};

TEST_P(DamagedSnapshots, AreRefusedOrSound) {
  const std::uint64_t seed = hash_of(GetParam());
  History history(GetParam(), seed);
  history.go_on(kSteps);
  const std::string whole = history.engine().save();
  const Frame frame = frame_of(whole);
  ASSERT_EQ(bytes_of(frame), whole);
  ASSERT_TRUE(check(whole, "undamaged"));
  Damage damage(seed);
  for (int round = 0; round < kRounds / 2; ++round) {
    Frame forgetful = frame;
    forgetful.policy = damage.done_to(frame.policy);
    check(bytes_of(forgetful), "memory, round " + std::to_string(round));
    check(damage.done_to(whole), "round " + std::to_string(round));
  }
}

TEST_P(DamagedSnapshots, WithTheMemoryOfAnotherMomentAreRefusedOrSound) {
  History history(GetParam(), hash_of(GetParam()));
  std::vector<Frame> frames;
  for (int moment = 0; moment < 6; ++moment) {
    frames.push_back(frame_of(history.engine().save()));
    history.go_on(kSteps / 4);
  }
  for (const Frame& now : frames) {
    for (const Frame& then : frames) {
      Frame mixed = now;
      mixed.policy = then.policy;
      check(bytes_of(mixed), "memory of another moment");
    }
  }
}

TEST_P(DamagedSnapshots, WithTheMemoryOfAnotherPolicyAreRefusedOrSound) {
  History own(GetParam(), 1);
  own.go_on(kSteps);
  Frame frame = frame_of(own.engine().save());
  for (const PolicyEntry& other : policies()) {
    History history(other.name, 1);
    history.go_on(kSteps);
    frame.policy = frame_of(history.engine().save()).policy;
    check(bytes_of(frame), "memory of " + std::string(other.name));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, DamagedSnapshots, testing::ValuesIn(registered_policies()),
                         policy_test_name);

/// What is kept by number takes memory up to the largest.
TEST(DamagedMemory, WithANumberThatNoJobHasIsRefused) {
  for (const std::uint64_t number : {std::uint64_t{0}, kLastJob.value() + 1, ~std::uint64_t{0}}) {
    ByteWriter out;
    out.integer(2);
    out.integer(static_cast<std::int64_t>(number));
    out.integer(7);
    const auto restored = (*make_policy("tiresias/sjf", "yarn"))->restore(out.take());
    ASSERT_FALSE(restored.has_value()) << number;
    EXPECT_EQ(restored.error().message, "policy memory: not that of a list of jobs");
  }
}

TEST(SnapshotSeeds, AreOneOfEachPolicyAndSound) {
  const std::filesystem::path folder = source_dir() / "test/fuzz/corpus/snapshot";
  for (const PolicyEntry& entry : policies()) {
    const std::filesystem::path path = folder / seed_file(entry.name);
    ASSERT_TRUE(std::filesystem::exists(path)) << path << ": fuzz_seeds writes it";
    const std::string seed = read_file(path);
    ASSERT_EQ(policy_of_seed(seed), entry.name) << path << ": fuzz_seeds writes it anew";
    const auto restored = restore_and_go_on(std::string_view(seed).substr(2), entry.name);
    ASSERT_TRUE(restored.has_value()) << path << ": " << restored.error().message;
    EXPECT_EQ(*restored, Restored::Sound) << path;
  }
}

}  // namespace
}  // namespace berth::test
