#include "live/flood.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "live/queues.hpp"

namespace berth::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uid_t kLister = 65534;  ///< If we are root; else the lists are ours.
constexpr int kNice = 10;
constexpr int kJobs = 1'000;
constexpr int kSubmits = 400;
constexpr int kStarts = 60;
constexpr int kOverruns = 6;
constexpr auto kWarmUp = std::chrono::seconds(1);
constexpr const char* kSettings = "probe = \"100ms\"\n";

/// Processes that list until this goes, or we do.
class Listers {
 public:
  Listers(const std::string& socket, int count)
      : pages_(static_cast<std::atomic<long>*>(mmap(nullptr, sizeof(std::atomic<long>),
                                                    PROT_READ | PROT_WRITE,
                                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = fork();
      if (pid == 0) list(socket);
      if (pid > 0) pids_.push_back(pid);
    }
  }
  ~Listers() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
    munmap(pages_, sizeof(std::atomic<long>));
  }
  Listers(const Listers&) = delete;
  Listers& operator=(const Listers&) = delete;

  long pages() const { return *pages_; }

 private:
  [[noreturn]] void list(const std::string& socket) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, kNice);
    if (geteuid() == 0 && setresuid(kLister, kLister, kLister) != 0) _exit(1);
    auto client = http::Client::open(socket);
    while (client) {
      const auto page = client->request("GET", "/v1/jobs?limit=1000");
      if (!page || page->status != 200) break;
      ++*pages_;
    }
    _exit(1);
  }

  std::atomic<long>* pages_;
  std::vector<pid_t> pids_;
};

void add(Figures& figures, const std::string& name, const std::vector<double>& took) {
  figures.counters[name + "_p50_ms"] = quantile(took, 0.5);
  figures.counters[name + "_p99_ms"] = quantile(took, 0.99);
  figures.counters[name + "_max_ms"] = quantile(took, 1);
}

Expected<void> hold_jobs(Berthd& daemon) {
  for (int i = 0; i < kJobs; ++i) {
    const auto job = daemon.submit({"true"}, usual_environment(), {{"held", true}});
    if (!job) return std::unexpected(job.error());
  }
  return {};
}

Expected<void> measure_submits(Berthd& daemon, Figures& figures) {
  std::vector<double> took;
  std::vector<int> jobs;
  for (int i = 0; i < kSubmits; ++i) {
    const auto from = Clock::now();
    const auto job = daemon.submit({"true"}, usual_environment(), {{"held", true}});
    if (!job) return std::unexpected(job.error());
    took.push_back(milliseconds_since(from));
    jobs.push_back(*job);
  }
  add(figures, "submit", took);
  for (const int job : jobs) {
    auto done = daemon.post("/v1/jobs/" + std::to_string(job) + "/cancel");
    if (!done) return done;
  }
  return {};
}

/// From the request to the job's first instruction.
Expected<void> measure_starts(const Bed& bed, Berthd& daemon, Figures& figures) {
  std::vector<double> took;
  for (int i = 0; i < kStarts; ++i) {
    const std::string file = bed / ("start" + std::to_string(i) + ".stamp");
    const auto from = Clock::now().time_since_epoch();
    const auto job = daemon.submit({built("bench_stamp"), file, "0"}, usual_environment(),
                                   {{"vram_bytes", std::int64_t{1} << 30}});
    if (!job) return std::unexpected(job.error());
    auto ran = eventually("a job ran", [&] { return !slurp(file).empty(); });
    if (!ran) return ran;
    long long start = 0;
    std::istringstream(slurp(file)) >> start;
    const auto began = std::chrono::nanoseconds(start);
    took.push_back(std::chrono::duration<double, std::milli>(began - from).count());
  }
  add(figures, "start", took);
  return {};
}

/// A job takes more than it asked for, and what is granted to another is no longer there: from its
/// request until it has been ended.
Expected<void> measure_overruns(Berthd& daemon, Figures& figures) {
  const auto other = daemon.submit({"sleep", "1000"}, usual_environment(),
                                   {{"vram_bytes", std::int64_t{12} << 30}});
  if (!other) return std::unexpected(other.error());
  std::vector<double> took;
  for (int i = 0; i < kOverruns; ++i) {
    const auto from = Clock::now();
    const auto greedy = daemon.submit({built("berth-load"), "--vram", "16GiB"}, usual_environment(),
                                      {{"vram_bytes", std::int64_t{8} << 30}});
    if (!greedy) return std::unexpected(greedy.error());
    auto ended = eventually("it is ended", [&] {
      const auto now = daemon.get("/v1/jobs/" + std::to_string(*greedy));
      return now && now->at("state") == "oom";
    });
    if (!ended) return ended;
    took.push_back(milliseconds_since(from));
  }
  add(figures, "overrun", took);
  return daemon.post("/v1/jobs/" + std::to_string(*other) + "/cancel");
}

}  // namespace

Expected<Figures> flood(int clients) {
  const Bed bed;
  chmod(bed.path().c_str(), 0755);  // the listers are somebody else
  auto daemon = Berthd::start(bed, "1x24GiB", kSettings);
  if (!daemon) return std::unexpected(daemon.error());
  if (auto done = hold_jobs(*daemon); !done) return std::unexpected(done.error());
  const Listers listers(daemon->socket(), clients);
  std::this_thread::sleep_for(kWarmUp);
  Figures figures;
  const auto from = Clock::now();
  const long pages = listers.pages();
  auto done = measure_submits(*daemon, figures);
  if (done) done = measure_starts(bed, *daemon, figures);
  if (done) done = measure_overruns(*daemon, figures);
  if (!done) return std::unexpected(done.error());
  figures.counters["pages_per_s"] =
      static_cast<double>(listers.pages() - pages) * 1000 / milliseconds_since(from);
  return figures;
}

}  // namespace berth::bench
