#include "slurm/site.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "daemon/limits/mps.hpp"
#include "daemon/requests/doctor.hpp"

namespace berth::slurm {

namespace {

constexpr Duration kCheck = seconds(1);
constexpr int kMostLooks = 120;
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);

bool is_complete(const Expected<News>& news) {
  return news && std::ranges::all_of(news->nodes, &NodeRecord::has_reported);
}

nlohmann::json check(const char* name, const char* status, const std::string& detail) {
  return {{"name", name}, {"status", status}, {"detail", detail}};
}

std::string in_millis(Duration time) { return std::to_string((micros(time) + 500) / 1000) + " ms"; }

}  // namespace

// ---- Opening ---------------------------------------------------------------------------------

Expected<std::unique_ptr<SlurmSite>> SlurmSite::open(const std::string& configuration,
                                                     SlurmOptions options, std::uint16_t slots,
                                                     const std::optional<Cluster>& before) {
  Client::open(configuration);
  Client client;
  auto first = Courier::first_look(client);
  // A controller that has just started learns of its nodes' GPUs as they report.
  for (int look = 0; look < kMostLooks && !is_complete(first); ++look) {
    if (look == 0) say("waits until Slurm's controller knows its nodes");
    std::this_thread::sleep_for(kBetweenLooks);
    first = Courier::first_look(client);
  }
  if (!first) return std::unexpected(first.error());
  auto cluster = cluster_of(first->nodes, slots, before);
  if (!cluster) return std::unexpected(cluster.error());
  std::unique_ptr<SlurmSite> site(
      new SlurmSite(std::move(client), std::move(options), std::move(*first), std::move(*cluster)));
  site->version_ = Client::version().value_or("unknown");
  return site;
}

SlurmSite::SlurmSite(Client client, SlurmOptions options, News first, Cluster cluster)
    : client_(std::move(client)),
      first_(std::move(first)),
      common_{.options = std::move(options), .cluster = std::move(cluster)} {
  for (const JobRecord& job : first_.jobs) common_.jobs.put(job);
}

Expected<daemon::Machine> SlurmSite::machine(const daemon::Options&) {
  daemon::Machine machine;
  machine.cluster = common_.cluster;
  machine.devices.list = devices_of(common_.cluster);
  machine.no_driver = "the nodes have the drivers";
  machine.no_suspension = "Slurm keeps the GPU memory of a job that it suspends";
  return machine;
}

Expected<daemon::Site::Attached> SlurmSite::attach(const Surroundings& around) {
  common_.around.emplace(around);
  // Recovery gives orders already; what it tells waits in the loop until that runs.
  common_.courier = std::make_unique<Courier>(
      std::move(client_), first_,
      [this](std::function<void()> task) { common_.around->loop.post(std::move(task)); },
      [this](const News& news) { intake_.on_news(news); });
  return Attached{.executor = executor_, .trespass = live::Trespass::IsForeign};
}

void SlurmSite::begin(live::Conductor& conductor) {
  common_.conductor = &conductor;
  reconciliation_.begin(first_);
  intake_.begin(first_);
  first_ = {};
  patience_ = std::make_unique<daemon::Loop::Alarm>(common_.around->loop, [this] { check_all(); });
  patience_->set(kCheck);
}

void SlurmSite::check_all() {
  reconciliation_.check_runs();
  intake_.let_go_what_is_met();
  reconciliation_.check_nodes();
  patience_->set(kCheck);
}

nlohmann::json SlurmSite::examine(const daemon::Daemon& daemon) const {
  nlohmann::json checks = nlohmann::json::array();
  const std::string trouble = common_.courier->trouble();
  checks.push_back(trouble.empty()
                       ? check("slurm", "ok",
                               "Slurm " + version_ + ", " +
                                   std::to_string(common_.cluster.nodes().size()) + " nodes with " +
                                   std::to_string(common_.cluster.gpus().size()) + " GPUs")
                       : check("slurm", "fail", "the controller does not answer: " + trouble));
  const Courier::Cost cost = common_.courier->cost();
  checks.push_back(check("queue", "ok",
                         "a look at Slurm's " + std::to_string(cost.jobs) + " jobs takes " +
                             in_millis(cost.all) + ", of which " + in_millis(cost.own) +
                             " are berth's own"));
  checks.push_back(figures_.memory_check());
  if (!intake_.new_nodes().empty()) {
    std::string names;
    for (const std::string& name : intake_.new_nodes()) names += (names.empty() ? "" : ", ") + name;
    checks.push_back(check("nodes", "warn",
                           "new in Slurm, and without berths until berth-slurm is restarted, which "
                           "no job notices: " +
                               names));
  }
  checks.push_back(daemon::policy_check(daemon));
  checks.push_back(daemon::disk_check(daemon));
  return checks;
}

// ---- What is asked of it ---------------------------------------------------------------------

std::string SlurmSite::why_no_mps() const { return std::string(daemon::kNoMpsControl); }

std::string SlurmSite::why_fixed(std::string_view field) const {
  if (field == "time_limit_seconds") {
    return "Slurm has it; change it there, by scontrol update jobid=JOB timelimit=MINUTES";
  }
  if (field == "begin_at") {
    return "Slurm has it; change it there, by scontrol update jobid=JOB starttime=TIME";
  }
  if (field == "array_at_once") {
    return "Slurm has it; change it there, by scontrol update jobid=ARRAY arraytaskthrottle=N";
  }
  // Its environment and the limit of an MPS server come from what was asked at submission.
  if (field == "vram_bytes") {
    return "Slurm has given it to the job's environment; cancel the job and submit it again";
  }
  if (field == "gpus" || field == "share" || field == "cpus" || field == "mem_bytes") {
    return "Slurm has given it to the job already; cancel the job and submit it again";
  }
  return "";
}

std::string SlurmSite::why_not_again() const {
  return "Slurm has the job's script and environment; submit it again by sbatch";
}

std::optional<std::string> SlurmSite::output_of(JobId job) const {
  const JobRecord* const record = common_.record_of(job);
  return record == nullptr ? "" : record->output;
}

}  // namespace berth::slurm
