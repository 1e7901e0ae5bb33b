// What a job is told of others that used its GPUs without being given them: a sentence for each
// user, with how many jobs of that user were ended for it, and of a few users at most. So the note
// stays short, be it an array of thousands that names a GPU in its code.
//
// Pure. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/ids.hpp"

namespace berth::live {

/// A job that was ended for it.
struct Intruder {
  JobId job;
  std::string user;
  std::string text;  ///< `job 27_24 of bob held 10 GiB on GPU 0, which it was not given`.
};

class Intrusions {
 public:
  /// The note of the job, with this one in it. `note`: as it is until now.
  std::string noted(JobId job, std::string note, Intruder by);
  /// Of a job that has ended.
  void forget(JobId job) { of_.erase(job); }

 private:
  struct Culprit {
    Intruder latest;
    std::int64_t jobs = 0;
  };
  struct Told {
    std::vector<Culprit> users;  ///< That of the latest is the last.
    std::string text;            ///< In the job's note.
  };
  static std::string text_of(const std::vector<Culprit>& users);

  std::map<JobId, Told> of_;
};

}  // namespace berth::live
