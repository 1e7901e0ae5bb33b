// A scenario as text: a cluster, a policy, jobs, what happens to them, and the log that must
// follow.
//
//   # Comments start with a hash.
//   cluster 2x4 vram=24GiB slots=4    NODESxGPUS or SWITCHESxNODESxGPUS; context=, cpu=, host=,
//                                     links=0-1x4+2-3 (pairs of a node's GPUs, and their NVLinks),
//                                     type=; a further line adds nodes
//   policy dlas                       as registered
//   place best-fit                    consolidated unless stated
//   service 10 90 3000
//   settings guard=512MiB user-gpus=4 user-jobs=2 half-life=7d admission=declared
//   job a at=0 gpus=2 run=100         vram= processes= alone now user= estimate= limit= class= cpu=
//                                     host= priority= min= max= saves model= deadline= (from 0 on)
//   speed net old 25                  percent, of a model on a type of GPU, beside that of its run
//                                     time
//   beside net big 60 old             percent, of a model beside another on a GPU; where a type is
//                                     named, on that alone
//   scale net 100 180 250             percent, of a model on one GPU, two, three
//   stages net 10 6 2 2               seconds of an iteration of a model, and of its three stages
//   at 50 cancel a                    also: hold a, release a, gpu n0:1 down, gpu n0:1 up,
//                                     reserve n0:1 for 7 from 100 until 200 (for a user),
//                                     foreign n0:1 5GiB, busy n0:1 90 (percent; no foreign use)
//   until 500                         stops the run then
//   ----
//   0 start a n0:0,1
//   100 end a
//
// Times are seconds, or have a unit (5m, 2h, 7d); memory has one (300MiB, 10GiB). A job's estimate
// is its true run time unless stated; `estimate=none` for none. Without vram= a job takes whole
// GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/input.hpp"
#include "core/settings.hpp"

namespace berth::golden {

struct GoldenJob {
  std::string name;
  Instant submit;
  Duration run{0};
  JobSpec spec;
  Fingerprint program;
};

struct Happening {
  Instant at;
  Input input;
};

struct Scenario {
  std::string question;  ///< The text above the line, as it stands in the file.
  std::string expected;  ///< The text below.
  Cluster cluster;
  Settings settings = {.admission = {}, .limits = {}, .own_priority = true};
  std::string policy;
  std::string place = "consolidated";
  std::vector<std::int64_t> service;  ///< Of past jobs, in GPU-seconds.
  Speeds speeds;                      ///< As the policy is told them, and as jobs run.
  std::vector<GoldenJob> jobs;        ///< By submit time; the i-th has JobId i + 1.
  std::vector<Happening> happenings;
  Instant until = kNever;
};

/// Errors: BadData naming file, line and word.
Expected<Scenario> read_scenario(std::string_view text, std::string_view file);

/// Replays it and returns the log. Errors: NotFound for an unknown policy or placement.
Expected<std::string> run_scenario(const Scenario& scenario);

}  // namespace berth::golden
