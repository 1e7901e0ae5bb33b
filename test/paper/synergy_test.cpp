// The rules of Synergy (Mohan et al., OSDI 2022) against its authors' simulator.
//
// Source: oracles/synergy, runs of 300 made-up jobs of measured models on 4 servers of 8 GPUs, 24
// cores and 500 GB, in rounds of 300 s: three packings under six orders, and two with placement.
// Method: our orders and our packing, on a trial of our own books, in a loop like the simulator's,
// which moves jobs at no cost and in which a job does whole iterations in a round. Tolerance: none;
// first round, end and attained time of each job are equal. Skipped without the files.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "policy/registry.hpp"
#include "policy/whole/host_order.hpp"
#include "support/paths.hpp"
#include "trace/csv.hpp"
#include "trace/gzip.hpp"

namespace berth::test {
namespace {

constexpr std::int64_t kSynergyRound = 300;
constexpr std::int64_t kServerCores = 24'000;
constexpr std::int64_t kServerMemory = 500'000'000'000;
constexpr std::int64_t kServerGpus = 8;

struct SynergyModel {
  std::int64_t cores;   ///< On each GPU, in thousandths.
  std::int64_t memory;  ///< On each GPU, in bytes.
  double speedup;       ///< With these, against the proportional amounts.
  double seconds;       ///< An iteration takes with the proportional amounts.
};

/// As the authors measured them (the page of the oracle).
const std::map<std::string, SynergyModel> kSynergyModels = {
    {"alexnet", {12'000, 125'000'000'000, 2.94, .6}},
    {"res18", {9'000, 62'500'000'000, 2.4, .64}},
    {"res50", {4'000, 62'500'000'000, 1.15, .78}},
    {"mobilenet", {6'000, 62'500'000'000, 1.55, .71}},
    {"shufflenet", {12'000, 125'000'000'000, 2.89, .615}},
    {"deepspeech", {3'000, 62'500'000'000, 1, .757}},
    {"transformer", {1'000, 20'000'000'000, 1, .67}},
    {"gnmt", {1'000, 20'000'000'000, 1, .12}},
    {"lstm", {1'000, 20'000'000'000, 1, .011}},
};

struct SynergyJob {
  int id = 0;
  double arrival = 0;
  double seconds = 0;  ///< An iteration with the proportional amounts.
  std::int64_t iterations = 0;
  std::int64_t gpus = 0;
  double speedup = 1;
  HostChoice choice;
  std::int64_t done = 0;
  double speed = 1;  ///< At present.
  std::int64_t first = 0;
  std::int64_t attained = 0;
};

/// Job, first round, end, attained seconds.
using SynergyRow = std::tuple<int, std::int64_t, std::int64_t, std::int64_t>;

std::string synergy_text(const std::string& name) {
  const std::string file = read_file(shared_dir() / "oracles" / "synergy" / name);
  return name.ends_with(".gz") ? *trace::unpacked(file, name) : file;
}

Ask synergy_ask(std::int64_t gpus, std::int64_t cores, std::int64_t memory) {
  Ask ask;
  ask.request.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone};
  ask.request.cpu = CpuMilli(cores);
  ask.request.host = Bytes(memory);
  return ask;
}

/// A demand is cut at a server, and the speed with the cores.
SynergyJob synergy_job(int id, const SynergyModel& model, std::int64_t gpus) {
  const std::int64_t fair_cores = gpus * kServerCores / kServerGpus;
  const std::int64_t cores = std::min(gpus * model.cores, kServerCores);
  const std::int64_t memory = std::min(gpus * model.memory, kServerMemory);
  const bool is_cut = cores < gpus * model.cores || memory < gpus * model.memory;
  double speedup = model.speedup;
  if (is_cut) {
    speedup = 1 + (model.speedup - 1) / static_cast<double>(gpus * model.cores - fair_cores) *
                      static_cast<double>(cores - fair_cores);
  }
  return {.id = id,
          .seconds = model.seconds,
          .gpus = gpus,
          .speedup = speedup,
          .choice = {.job = JobId(static_cast<std::uint32_t>(id) + 1),
                     .wants = synergy_ask(gpus, cores, memory),
                     .fair = synergy_ask(gpus, fair_cores, gpus * kServerMemory / kServerGpus)}};
}

std::vector<SynergyJob> synergy_jobs() {
  const std::string text = synergy_text("jobs_a.csv");
  auto csv = trace::Csv::open(text, "jobs_a.csv");
  std::vector<SynergyJob> jobs;
  const auto field = [&](const char* column) {
    return std::string(csv->field(*csv->column(column)));
  };
  while (csv->next().value_or(false)) {
    jobs.push_back(synergy_job(std::stoi(field("job_id")), kSynergyModels.at(field("model")),
                               std::stoi(field("gpus"))));
    jobs.back().arrival = std::stod(field("arrival"));
    jobs.back().iterations = std::stoll(field("iterations"));
  }
  return jobs;
}

/// As the page of the oracle tells it.
class SynergyRounds {
 public:
  SynergyRounds(HostOrder order, HostPacking how, std::string_view placement)
      : order_(order),
        how_(how),
        placer_((*std::ranges::find(placers(), placement, &PlacerEntry::name)).make()),
        state_(servers(), Settings()) {}

  std::vector<SynergyRow> run(std::vector<SynergyJob> jobs) {
    const double begin = jobs.front().arrival;
    std::size_t next = 0;
    for (now_ = static_cast<std::int64_t>(std::ceil(begin / kSynergyRound)) * kSynergyRound;;
         now_ += kSynergyRound) {
      for (; next < jobs.size() && jobs[next].arrival <= static_cast<double>(now_); ++next) {
        list_.push_back(jobs[next]);
        list_.back().speed = how_ == HostPacking::Fair ? 1 : jobs[next].speedup;
      }
      end_jobs();
      if (list_.empty()) break;
      run_round();
    }
    EXPECT_EQ(next, jobs.size());
    std::ranges::sort(rows_);
    return rows_;
  }

 private:
  static Cluster servers() {
    Cluster cluster;
    cluster.add_switch();
    for (int n = 0; n < 4; ++n) {
      cluster.add_node({.name = "n" + std::to_string(n),
                        .gpus = kServerGpus,
                        .vram = Bytes(std::int64_t{32} << 30),
                        .cpu = CpuMilli(kServerCores),
                        .host = Bytes(kServerMemory)});
    }
    return cluster;
  }

  void end_jobs() {
    std::erase_if(list_, [&](const SynergyJob& job) {
      const bool ends = job.done >= job.iterations;
      if (ends) rows_.emplace_back(job.id, job.first, now_, job.attained);
      return ends;
    });
  }

  static Duration micros_of(double seconds) { return Duration(std::llround(seconds * 1e6)); }

  HostJob for_order(const SynergyJob& job) const {
    const double left = job.seconds * static_cast<double>(job.iterations - job.done) / job.speed;
    return {.choice = job.choice,
            .arrival = kStart + micros_of(job.arrival),
            .left = micros_of(left),
            .whole = micros_of(job.seconds * static_cast<double>(job.iterations)),
            .attained = GpuCount(job.gpus) * seconds(job.attained)};
  }

  void run_round() {
    std::vector<HostJob> jobs;
    for (const SynergyJob& job : list_) jobs.push_back(for_order(job));
    sort_by(order_, jobs, kStart + seconds(now_), totals_of(state_.cluster));
    std::map<JobId, SynergyJob*> by_id;
    for (SynergyJob& job : list_) by_id[job.choice.job] = &job;
    const std::vector<SynergyJob> before = std::exchange(list_, {});
    for (const HostJob& job : jobs) {
      const auto same = [&](const SynergyJob& one) { return one.choice.job == job.choice.job; };
      list_.push_back(*std::ranges::find_if(before, same));  // the list is sorted in place
      list_.back().speed = how_ == HostPacking::Fair ? 1 : list_.back().speedup;
    }
    const ClusterView view(state_, kStart);
    Trial trial = view.trial();
    HostPacker packer(how_, view, *placer_, trial);
    pack(order_, jobs, packer, trial);
    for (const HostSeat& seat : packer.seats()) hold(seat);
  }

  /// A job that was reduced runs at no more than the proportional speed, whatever it has.
  void hold(const HostSeat& seat) {
    const auto same = [&](const SynergyJob& one) { return one.choice.job == seat.choice.job; };
    SynergyJob& job = *std::ranges::find_if(list_, same);
    if (how_ == HostPacking::Tune && seat.ask != seat.choice.wants) job.speed = 1;
    const double seconds = job.seconds / (seat.is_reduced ? 1 : job.speed);
    if (job.attained == 0) job.first = now_;
    job.attained += kSynergyRound;
    job.done += static_cast<std::int64_t>(std::floor(kSynergyRound / seconds));
  }

  HostOrder order_;
  HostPacking how_;
  std::unique_ptr<Placer> placer_;
  State state_;
  std::int64_t now_ = 0;
  std::vector<SynergyJob> list_;
  std::vector<SynergyRow> rows_;
};

std::map<std::string, std::vector<SynergyRow>> synergy_results() {
  std::map<std::string, std::vector<SynergyRow>> results;
  const std::string text = synergy_text("results_a.csv.gz");
  auto csv = trace::Csv::open(text, "results_a.csv.gz");
  const auto whole = [&](const char* column) {
    return std::stoll(std::string(csv->field(*csv->column(column))));
  };
  while (csv->next().value_or(false)) {
    results[std::string(csv->field(*csv->column("run")))].emplace_back(
        static_cast<int>(whole("job_id")), whole("first"), whole("end"), whole("attained"));
  }
  for (auto& [run, rows] : results) std::ranges::sort(rows);
  return results;
}

TEST(SynergyRules, GiveEveryRowOfThePeer) {
  if (const auto absent = absent_shared("oracles/synergy")) GTEST_SKIP() << *absent;
  const std::map<std::string, HostOrder> orders = {
      {"FIFO", HostOrder::Fifo}, {"SRTF", HostOrder::Srtf}, {"LAS", HostOrder::Las},
      {"FTF", HostOrder::Ftf},   {"DRF", HostOrder::Drf},   {"TETRIS", HostOrder::Tetris}};
  const std::map<std::string, HostPacking> packings = {
      {"fair", HostPacking::Fair}, {"greedy", HostPacking::Greedy}, {"tune", HostPacking::Tune}};
  const auto jobs = synergy_jobs();
  ASSERT_EQ(jobs.size(), 300U);
  const auto results = synergy_results();
  ASSERT_EQ(results.size(), 20U);
  for (const auto& [run, theirs] : results) {
    const std::size_t at = run.find('_');
    std::string packing = run.substr(at + 1);
    const bool placed = packing.starts_with("place-");
    if (placed) packing.erase(0, packing.find('-') + 1);
    SynergyRounds ours(orders.at(run.substr(0, at)), packings.at(packing),
                       placed ? "fullest" : "count");
    const auto rows = ours.run(jobs);
    ASSERT_EQ(rows.size(), theirs.size()) << run;
    std::size_t equal = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) equal += rows[i] == theirs[i] ? 1 : 0;
    EXPECT_EQ(equal, 300U) << run << ": rows equal of 300";
  }
}

}  // namespace
}  // namespace berth::test
