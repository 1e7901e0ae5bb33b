// The SPANK plugin: sbatch, salloc and srun take --vram and --class for berth, in the command line
// and in #SBATCH lines.
//
// They are checked where they are given, and go to the controller in the job's control environment,
// which job_submit.lua reads (examples/slurm). On the node the job finds BERTH_JOB_ID and
// BERTH_VRAM_BYTES. With the argument `mps` in plugstack.conf it also finds what an MPS server that
// the administrator runs there holds its clients to: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/job.hpp"
#include "core/text/amounts.hpp"
#include "core/text/words.hpp"

// Slurm's header is C's in all but its functions.
extern "C" {
#include <slurm/spank.h>

extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(berth, 1)
}

namespace {

using berth::Bytes;

// Slurm loads a plugin once for each command.
struct Asked {
  std::string vram;  ///< As given; "" if not.
  std::string duration_class;
} asked;

int refuse(const std::string& option, const std::string& value, const std::string& why) {
  slurm_error("berth: --%s=%s: %s", option.c_str(), value.c_str(), why.c_str());
  return -1;
}

int take_vram(int, const char* value, int) {
  const auto size = berth::parse_size(value);
  if (!size) return refuse("vram", value, size.error().message);
  asked.vram = value;
  return 0;
}

int take_class(int, const char* value, int) {
  if (!berth::from_word<berth::DurationClass>(value)) {
    return refuse("class", value, "is none of " + berth::all_words<berth::DurationClass>());
  }
  asked.duration_class = value;
  return 0;
}

spank_option option(const char* name, const char* argument, const char* usage,
                    spank_opt_cb_f callback) {
  return {.name = const_cast<char*>(name),
          .arginfo = const_cast<char*>(argument),
          .usage = const_cast<char*>(usage),
          .has_arg = 1,
          .val = 0,
          .cb = callback};
}

void set(spank_t spank, const char* name, const std::string& value) {
  if (const spank_err_t done = spank_setenv(spank, name, value.c_str(), 1);
      done != ESPANK_SUCCESS) {
    slurm_error("berth: %s: %s", name, spank_strerror(done));
  }
}

/// As many entries as the job has GPUs: an entry for a GPU that a client does not see would void
/// all of them.
std::string limits_of_mps(std::string_view gpus, std::int64_t mib) {
  std::string limits;
  const auto count = gpus.empty() ? 0 : 1 + std::ranges::count(gpus, ',');
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    limits += (i == 0 ? "" : ",") + std::to_string(i) + "=" + std::to_string(mib) + "M";
  }
  return limits;
}

}  // namespace

extern "C" {

int slurm_spank_init(spank_t spank, int, char**) {
  spank_option options[] = {
      option("vram", "SIZE",
             "GPU memory on each GPU, as 20G; without it a job gets whole GPUs (berth)", take_vram),
      option("class", "WORD", "short, medium, long or service (berth)", take_class)};
  for (spank_option& each : options) {
    if (spank_option_register(spank, &each) != ESPANK_SUCCESS) {
      slurm_error("berth: --%s is an option of another plugin", each.name);
    }
  }
  return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int, char**) {
  const spank_context_t context = spank_context();
  if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR) return 0;
  if (!asked.vram.empty()) spank_job_control_setenv(spank, "BERTH_VRAM", asked.vram.c_str(), 1);
  if (!asked.duration_class.empty()) {
    spank_job_control_setenv(spank, "BERTH_CLASS", asked.duration_class.c_str(), 1);
  }
  return 0;
}

int slurm_spank_task_init(spank_t spank, int count, char** arguments) {
  std::uint32_t job = 0;
  if (spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS) {
    set(spank, "BERTH_JOB_ID", std::to_string(job));
  }
  if (asked.vram.empty()) return 0;
  const auto size = berth::parse_size(asked.vram);
  if (!size) return 0;  // it was checked when it was given
  set(spank, "BERTH_VRAM_BYTES", std::to_string(size->raw()));
  for (int i = 0; i < count; ++i) {
    if (std::string_view(arguments[i]) != "mps") continue;
    char gpus[4096] = "";
    spank_getenv(spank, "CUDA_VISIBLE_DEVICES", gpus, sizeof gpus);
    const std::string limits = limits_of_mps(gpus, size->raw() >> 20);
    if (!limits.empty()) set(spank, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits);
  }
  return 0;
}

}  // extern "C"
