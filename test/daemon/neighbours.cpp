#include "daemon/neighbours.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "core/base/rng.hpp"

namespace berth::test {

namespace {

constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kHonestTogether = 20;  ///< GiB; with the liar's and three contexts one GPU.

std::string seconds_of(std::int64_t millis) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(millis) / kMilli);
  return text.data();
}

/// Begins after so many milliseconds; steps of 20 ms that cost the machine nearly nothing.
std::string later(std::int64_t millis, const std::string& arguments) {
  return "sleep " + seconds_of(millis) + "; exec " +
         load(arguments + " --step-ms 20 --duty 0.05 --report 0");
}

std::string honest(Rng& rng, std::int64_t gib) {
  const std::int64_t ramp = rng.between(500, 4000);
  return later(rng.between(0, 1000), "--vram " + std::to_string(gib) + "G --ramp " +
                                         std::to_string(ramp) + "ms --steps 250");
}

std::string liar(Rng& rng, const Growth& growth) {
  const bool at_once = growth.gib_per_second <= 0;
  const auto mebibytes = static_cast<std::int64_t>(growth.gib_per_second * 1024);
  return later(rng.between(200, 2500),
               (at_once ? "--vram 40G" : "--grow " + std::to_string(mebibytes) + "M/s") +
                   " --on-oom keep --steps 200");
}

/// On the GPU with this number, or an instance of it.
Json asks(std::int64_t gib, const Growth& growth, int gpu) {
  Json wish{{"vram_bytes", gib * kGiB}, {"cpus", 0.01}, {"gpus", 1}};
  for (int part = 0; part < growth.parts; ++part) {
    wish["gpu_indices"].push_back(gpu * growth.parts + part);
  }
  if (!growth.share.empty()) wish["share"] = growth.share;
  return wish;
}

}  // namespace

Harm& Harm::operator+=(const Harm& more) {
  honest += more.honest;
  hurt += more.hurt;
  liars += more.liars;
  ended += more.ended;
  if (!more.last_words.empty()) last_words = more.last_words;
  return *this;
}

Harm play_mixes(Rig& rig, int gpus, const Growth& growth, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<int> honest_ones;
  std::vector<int> liars;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::int64_t first = rng.between(4, kHonestTogether - 4);
    const std::int64_t second = kHonestTogether - first;
    honest_ones.push_back(rig.submit(honest(rng, first), asks(first, growth, gpu)));
    honest_ones.push_back(rig.submit(honest(rng, second), asks(second, growth, gpu)));
    liars.push_back(rig.submit(liar(rng, growth), asks(1, growth, gpu)));
  }
  Harm result{.honest = static_cast<int>(honest_ones.size()),
              .liars = static_cast<int>(liars.size())};
  for (const int id : honest_ones) {
    const Json end = rig.wait_end(id);
    if (end["state"] == "oom") {
      ++result.hurt;
      result.last_words = std::string(end["note"]) + "\n" + rig.log(id);
    }
    EXPECT_TRUE(end["state"] == "oom" || end["state"] == "done") << end.dump() << rig.log(id);
  }
  for (const int id : liars) {
    if (rig.wait_end(id)["state"] != "done") ++result.ended;
  }
  return result;
}

RigOptions options_for_mixes(int gpus, const std::string& config, const std::string& emulate,
                             int gib) {
  return {.gpus = std::to_string(gpus) + "x" + std::to_string(gib) + "GiB" + emulate,
          .config =
              "policy = \"fifo\"\nplace = \"first-fit\"\ngrace = \"1s\"\n"
              "again_after_overrun = false\n" +
              config};
}

std::string to_text(const Growth& growth) {
  if (growth.gib_per_second <= 0) return "all at once";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g GiB/s", growth.gib_per_second);
  return text.data();
}

}  // namespace berth::test
