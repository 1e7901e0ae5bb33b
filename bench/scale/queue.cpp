#include "scale/queue.hpp"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <thread>

namespace berth::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kGpus = "2x24GiB";  ///< The queued jobs ask for 20 GiB of one.
constexpr int kGpuCount = 2;
constexpr auto kSettle = std::chrono::seconds(2);
constexpr int kPages = 50;
constexpr int kLists = 20;
constexpr int kChanges = 200;
constexpr int kRounds = 20;
constexpr int kTogether = 80;  ///< Submits of a round over 32 connections.
constexpr int kAlone = 10;     ///< Submits of a round over one.
/// The rounds end with as many more as they began with less, so that the median is that of 1,000.
constexpr int kSmall = 1'000 - kRounds * (kTogether + kAlone) / 2;

/// Jobs on every GPU that end when the gate opens.
Expected<void> block(Berthd& daemon, const Gate& gate) {
  for (int i = 0; i < kGpuCount; ++i) {
    const auto job = daemon.submit(gate.job(), usual_environment());
    if (!job) return std::unexpected(job.error());
  }
  return {};
}

void append(std::vector<double> from, std::vector<double>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Expected<Figures> GrowingQueue::at(int size) {
  Figures figures;
  if (auto done = open(); !done) return std::unexpected(done.error());
  if (auto done = fill(size, figures); !done) return std::unexpected(done.error());
  std::this_thread::sleep_for(kSettle);
  measure_memory("rss_mib", figures);
  measure_disk(figures);
  Expected<void> done = measure_pages(figures);
  if (done) done = measure_changes(figures);
  if (done) done = measure_submits(figures);
  if (done) done = measure_restart(SIGKILL, "restart", figures);
  if (done) done = measure_restart(SIGTERM, "start", figures);
  if (!done) return std::unexpected(done.error());
  std::this_thread::sleep_for(kSettle);
  measure_memory("rss_restarted_mib", figures);
  figures.counters["peak_mib"] = kib_of(daemon_->pid(), "status", {"VmHWM"}) / 1024;
  return figures;
}

Expected<void> GrowingQueue::open() {
  if (daemon_) return {};
  auto daemon = Berthd::start(bed_, kGpus);
  if (!daemon) return std::unexpected(daemon.error());
  daemon_ = std::move(*daemon);
  gate_ = std::make_unique<Gate>(bed_, "gate");
  return block(*daemon_, *gate_);
}

Expected<void> GrowingQueue::fill(int size, Figures& figures) {
  const int missing = size - queued_;
  if (missing <= 0) return {};
  const auto load = submit_from_many({.socket = daemon_->socket(),
                                      .submits = missing,
                                      .first = serial_ + 1,
                                      .environments = environments_});
  if (!load) return std::unexpected(load.error());
  serial_ += missing;
  queued_ = size;
  figures.time = load->took / missing;
  figures.counters["fill_per_s"] = missing / load->took.count();
  figures.counters["fill_p99_ms"] = quantile(load->latencies_ms, 0.99);
  figures.counters["fill_max_ms"] = quantile(load->latencies_ms, 1);
  figures.counters["fill_peak_mib"] = kib_of(daemon_->pid(), "status", {"VmHWM"}) / 1024;
  return {};
}

void GrowingQueue::measure_memory(const char* when, Figures& figures) const {
  figures.counters[when] = kib_of(daemon_->pid(), "status", {"VmRSS"}) / 1024;
}

void GrowingQueue::measure_disk(Figures& figures) const {
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(daemon_->state())) {
    const bool is_journal = file.path().filename().string().starts_with("journal.db");
    if (is_journal) bytes += file.file_size();
  }
  figures.counters["database_mib"] = static_cast<double>(bytes) / (1 << 20);
}

// ---- Lists -------------------------------------------------------------------------------------

Expected<std::vector<double>> GrowingQueue::time_requests(int times, const std::string& method,
                                                          const std::string& target) {
  auto client = http::Client::open(daemon_->socket());
  if (!client) return std::unexpected(client.error());
  std::vector<double> took;
  for (int i = 0; i < times; ++i) {
    const auto from = Clock::now();
    const auto answer = client->request(method, target);
    if (!answer) return std::unexpected(answer.error());
    if (answer->status != 200) return fail(ErrorCode::Conflict, target + ": " + answer->body);
    took.push_back(milliseconds_since(from));
  }
  return took;
}

Expected<void> GrowingQueue::measure_pages(Figures& figures) {
  for (const char* limit : {"100", "1000"}) {
    const auto took = time_requests(kPages, "GET", std::string("/v1/jobs?limit=") + limit);
    if (!took) return std::unexpected(took.error());
    figures.counters[std::string("page_") + limit + "_p50_ms"] = quantile(*took, 0.5);
    figures.counters[std::string("page_") + limit + "_p99_ms"] = quantile(*took, 0.99);
  }
  std::vector<double> lists;
  for (int i = 0; i < kLists; ++i) {
    const auto took = bed_.time_to_output(berth_ls(bed_));
    if (!took) return std::unexpected(took.error());
    lists.push_back(took->count() * 1000);
  }
  figures.counters["ls_p50_ms"] = quantile(lists, 0.5);
  figures.counters["ls_p99_ms"] = quantile(lists, 0.99);
  return {};
}

// ---- Changes -----------------------------------------------------------------------------------

/// A job in the middle of the queue is held and released: two passes and two waits for the disk.
Expected<void> GrowingQueue::measure_changes(Figures& figures) {
  const std::string job = "/v1/jobs/" + std::to_string(kGpuCount + queued_ / 2);
  std::vector<double> all;
  for (int i = 0; i < kChanges; ++i) {
    for (const char* what : {"/hold", "/release"}) {
      const auto took = time_requests(1, "POST", job + what);
      if (!took) return std::unexpected(took.error());
      append(*took, all);
    }
  }
  figures.counters["change_p50_ms"] = quantile(all, 0.5);
  figures.counters["change_p99_ms"] = quantile(all, 0.99);
  return {};
}

Expected<std::vector<double>> GrowingQueue::submit(const Berthd& to, int connections, int submits) {
  const auto load = submit_from_many({.socket = to.socket(),
                                      .connections = connections,
                                      .submits = submits,
                                      .first = serial_ + 1,
                                      .environments = environments_});
  if (!load) return std::unexpected(load.error());
  serial_ += submits;
  return load->latencies_ms;
}

Expected<void> GrowingQueue::measure_submits(Figures& figures) {
  const Bed bed;
  auto small = Berthd::start(bed, kGpus);
  if (!small) return std::unexpected(small.error());
  const Gate gate(bed, "gate");
  if (auto done = block(*small, gate); !done) return done;
  if (auto filled = submit(*small, 32, kSmall); !filled) return std::unexpected(filled.error());
  for (const int connections : {1, 32}) {
    if (auto done = compare_submits(*small, connections, figures); !done) return done;
  }
  return {};
}

/// Round by round, and in turns who goes first.
Expected<void> GrowingQueue::compare_submits(const Berthd& small, int connections,
                                             Figures& figures) {
  std::vector<double> here;
  std::vector<double> there;
  const int submits = connections == 1 ? kAlone : kTogether;
  for (int i = 0; i < 2 * kRounds; ++i) {
    const bool is_here = (i % 2 == 0) == (i % 4 < 2);
    const auto took = submit(is_here ? *daemon_ : small, connections, submits);
    if (!took) return std::unexpected(took.error());
    append(*took, is_here ? here : there);
  }
  queued_ += kRounds * submits;
  const std::string name = "submit_" + std::to_string(connections);
  figures.counters[name + "_p50_ms"] = quantile(here, 0.5);
  figures.counters[name + "_p99_ms"] = quantile(here, 0.99);
  figures.counters[name + "_ratio_p50"] = quantile(here, 0.5) / quantile(there, 0.5);
  figures.counters[name + "_ratio_p99"] = quantile(here, 0.99) / quantile(there, 0.99);
  return {};
}

// ---- Restart -----------------------------------------------------------------------------------

Expected<void> GrowingQueue::measure_restart(int signal, const char* name, Figures& figures) {
  const auto stopping = Clock::now();
  if (auto done = daemon_->end(signal); !done) return done;
  if (signal == SIGTERM) figures.counters["stop_ms"] = milliseconds_since(stopping);
  const auto from = Clock::now();
  auto again = Berthd::start(bed_, kGpus);
  if (!again) return std::unexpected(again.error());
  figures.counters[std::string(name) + "_ms"] = milliseconds_since(from);
  daemon_ = std::move(*again);
  const auto job = daemon_->submit({"true"}, usual_environment());
  if (!job) return std::unexpected(job.error());
  ++queued_;
  figures.counters[std::string(name) + "_submit_ms"] = milliseconds_since(from);
  return {};
}

}  // namespace berth::bench
