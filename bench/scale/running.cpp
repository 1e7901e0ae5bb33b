#include "scale/running.hpp"

#include <thread>

#include "live/queues.hpp"

namespace berth::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kSlots = "slots = 16\n";  ///< Tenants of a GPU.
constexpr int kPerGpu = 16;
constexpr int kTimes = 50;
constexpr std::int64_t kVram = std::int64_t{1} << 30;
constexpr auto kRest = std::chrono::seconds(2);
constexpr auto kIdle = std::chrono::seconds(10);

/// How many jobs hold a place; -1 if that cannot be known.
int count_running(Berthd& daemon) {
  const auto page = daemon.get("/v1/jobs?only=running&limit=1000");
  if (!page) return -1;
  int count = 0;
  for (const Json& job : page->at("jobs")) count += job.at("state") == "running" ? 1 : 0;
  return page->at("jobs").empty() ? 0 : count;
}

Expected<void> start_all(Berthd& daemon, int count, Figures& figures) {
  const auto from = Clock::now();
  for (int i = 0; i < count; ++i) {
    const auto job = daemon.submit({"sleep", "1000"}, usual_environment(), {{"vram_bytes", kVram}});
    if (!job) return std::unexpected(job.error());
  }
  auto done = eventually("all run", [&] { return count_running(daemon) == count; });
  figures.counters["start_all_ms"] = milliseconds_since(from);
  return done;
}

Expected<void> measure_answers(Berthd& daemon, Figures& figures) {
  for (const auto& [name, target] :
       {std::pair("list", "/v1/jobs?limit=1000"), std::pair("gpus", "/v1/gpus")}) {
    std::vector<double> took;
    for (int i = 0; i < kTimes; ++i) {
      const auto from = Clock::now();
      const auto answer = daemon.get(target);
      if (!answer) return std::unexpected(answer.error());
      took.push_back(milliseconds_since(from));
    }
    figures.counters[std::string(name) + "_p50_ms"] = quantile(took, 0.5);
    figures.counters[std::string(name) + "_p99_ms"] = quantile(took, 0.99);
  }
  return {};
}

}  // namespace

Expected<Figures> running(int count) {
  const Bed bed;
  auto daemon = Berthd::start(bed, std::to_string(count / kPerGpu) + "x24GiB", kSlots);
  if (!daemon) return std::unexpected(daemon.error());
  Figures figures;
  if (auto done = start_all(*daemon, count, figures); !done) return std::unexpected(done.error());
  std::this_thread::sleep_for(kRest);
  const Seconds before = processor_time(daemon->pid());
  std::this_thread::sleep_for(kIdle);
  const Seconds used = processor_time(daemon->pid()) - before;
  figures.time = used / kIdle.count();
  figures.counters["cpu_percent"] = 100 * used / kIdle;
  figures.counters["rss_mib"] = kib_of(daemon->pid(), "status", {"VmRSS"}) / 1024;
  if (auto done = measure_answers(*daemon, figures); !done) return std::unexpected(done.error());
  const auto from = Clock::now();
  if (auto done = daemon->post("/v1/cancel"); !done) return std::unexpected(done.error());
  auto over = eventually("all have ended", [&] { return count_running(*daemon) == 0; });
  if (!over) return std::unexpected(over.error());
  figures.counters["cancel_all_ms"] = milliseconds_since(from);
  return figures;
}

}  // namespace berth::bench
