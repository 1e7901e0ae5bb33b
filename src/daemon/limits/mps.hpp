// Servers of NVIDIA's MPS: one for each user and set of GPUs with jobs that asked for it
// (`--share mps`).
//
// A process speaks to one server, so a job's server has all GPUs of the job, and no others: what
// its clients may hold is by their position among them. A server's folder, FOLDER/UID-GPUS (as
// 1000-0+2), is its user's and holds its pipes; beside it, FOLDER/UID-GPUS.jobs has a file for each
// job, with its limit. So the next daemon finds the servers that run and the jobs that are theirs;
// a server goes with its last job. Jobs of two users never share a server: a fatal fault of one
// client ends all clients of its server.
//
// What a server's folder has in it is its user's, and so is the program that runs there. So berthd
// opens nothing in that folder and waits for no such program: each start and end is an errand of a
// process of the user's (mps_errand.hpp) with kPatience to do it in. A job waits for its server,
// and nobody else does. Belongs to the engine's thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "daemon/attempts/hints.hpp"
#include "daemon/limits/mps_errand.hpp"
#include "daemon/loop/helper_runs.hpp"
#include "daemon/loop/loop.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

struct MpsOptions {
  std::string folder;
  std::string control;    ///< Path of nvidia-cuda-mps-control; "": there is none.
  Variables environment;  ///< With which it sees the GPUs.
};

/// A job that is about to run as a client.
struct MpsClient {
  JobId job;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::vector<GpuId> gpus;         ///< Ascending; one at least.
  std::vector<std::string> uuids;  ///< Of those GPUs.
  Bytes most{0};                   ///< What each process may hold of each GPU; 0: all there is.
};

/// Why there is no MPS on a machine without the program of its server.
inline constexpr std::string_view kNoMpsControl =
    "nvidia-cuda-mps-control is in no folder of berthd's PATH";

class Mps {
 public:
  static constexpr Duration kPatience = seconds(10);

  Mps(Loop& loop, MpsOptions options);

  /// Why no job can have it; "" if jobs can.
  const std::string& why_not() const { return why_not_; }
  /// What makes a process a client, once its server runs. Errors: there is no server.
  using Ready = std::function<void(const Expected<Variables>&)>;
  /// Starts the client's server, if it is not there. Calls `ready` from within the call where it
  /// is known to run, later otherwise; not at all for a job that is forgotten before.
  void begin(const MpsClient& client, Ready ready);
  /// True for a job that began as a client.
  bool serves(JobId job) const { return clients_.contains(job); }
  /// What each process of a client may hold of each GPU; 0 for what is none.
  Bytes most_of(JobId job) const;
  /// Why a job that was to be a client runs without; "" for every other.
  std::string why_without(JobId job) const;
  /// Its job is over: the server goes with its last.
  void forget(JobId job);
  /// Forgets those of an earlier daemon that are over, and ends servers without jobs.
  void sweep(const std::function<bool(JobId)>& is_current);

 private:
  struct Client {
    std::string server;  ///< UID-GPUS
    Bytes most{0};
    Ready ready = nullptr;  ///< It waits for its server.
    Variables variables = {};
  };
  struct Server {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups = {};
    std::string visible = {};
    bool is_busy = false;     ///< An errand is under way.
    Descriptor control = {};  ///< A pidfd; none: whether it runs is not known.
  };
  std::string folder_of(const std::string& server) const { return options_.folder + "/" + server; }
  std::string jobs_of(const std::string& server) const { return folder_of(server) + ".jobs"; }
  Expected<void> write_down(const MpsClient& client, const std::string& server) const;
  Expected<void> send(const std::string& name, MpsErrand::What what, HelperRuns::Over over);
  void start(const std::string& name);
  void end_if_idle(const std::string& name);
  void on_begun(const std::string& name, const std::string& said);
  void on_ended(const std::string& name, const std::string& said);
  void tell_waiting(const std::string& name, const Expected<void>& done);
  bool is_used(const std::string& name) const;
  bool is_up(const Server& server) const;

  MpsOptions options_;
  std::string why_not_;
  std::map<JobId, Client> clients_;
  std::map<JobId, std::string> without_;  ///< Whose servers did not come, and why.
  std::map<std::string, Server> servers_;
  HelperRuns runs_;
};

/// The program of this name in the folders of PATH; "" if there is none.
std::string find_program(const std::string& name, const std::string& path);

}  // namespace berth::daemon
