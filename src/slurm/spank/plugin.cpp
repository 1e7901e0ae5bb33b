// The SPANK plugin: sbatch, salloc and srun take --vram and --class for berth, in the command line
// and in #SBATCH lines.
//
// They are checked where they are given, and go to the controller in the job's control environment,
// which job_submit.lua reads (examples/slurm). On the node the job finds BERTH_JOB_ID and
// BERTH_VRAM_BYTES; the script of a job that has shards does not find by which words it asked for
// GPUs, as its steps would ask for them again, and shards are no GPUs. A script that was given none
// is told so, and sees none. With the argument `mps` in plugstack.conf it also finds what an MPS
// server that the administrator runs there holds its clients to: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/job.hpp"
#include "core/text/amounts.hpp"
#include "core/text/words.hpp"
#include "slurm/texts.hpp"

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

std::string variable(spank_t spank, const char* name) {
  char value[4096] = "";
  spank_getenv(spank, name, value, sizeof value);
  return value;
}

/// What a job's environment says of the job. A job that is submitted from within another has it of
/// that one, and would ask for the same.
void forget_outer_job() {
  for (const char* const name :
       {"SLURM_SPANK__SLURM_SPANK_OPTION_berth_vram", "SLURM_SPANK__SLURM_SPANK_OPTION_berth_class",
        "SLURM_SPANK_BERTH_VRAM", "SLURM_SPANK_BERTH_CLASS", "BERTH_VRAM_BYTES", "BERTH_JOB_ID",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "SLURM_SHARDS_ON_NODE", "SLURM_TRES_PER_TASK",
        "SLURM_TRES_BIND"}) {
    unsetenv(name);
  }
}

/// Of each GPU: a job that has shards of several has as many of each. Nothing where it has none.
std::optional<std::uint32_t> shards_of_gpu(spank_t spank) {
  const auto shards =
      berth::slurm::number_of<std::uint32_t>(variable(spank, "SLURM_SHARDS_ON_NODE"));
  const auto gpus = berth::slurm::number_of<std::uint32_t>(variable(spank, "SLURM_GPUS_ON_NODE"));
  if (!shards || !gpus || *gpus == 0) return std::nullopt;
  return *shards / *gpus;
}

/// What a task may use of each GPU. The shards that the job has count, and not a word of the step,
/// nor one from before `scontrol update`; the word has more digits. Nothing where GPUs are whole.
std::optional<Bytes> vram_of_gpu(spank_t spank) {
  std::optional<Bytes> said;
  if (const auto size = berth::parse_size(asked.vram)) said = *size;
  const auto shards = shards_of_gpu(spank);
  if (!shards || (said && berth::shards_of(*said) == *shards)) return said;
  return Bytes(*shards * berth::kShard);
}

bool is_batch_script(spank_t spank) {
  constexpr std::uint32_t kBatchScript = 0xfffffffb;  // SLURM_BATCH_SCRIPT of slurm.h
  std::uint32_t step = 0;
  return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step == kBatchScript;
}

/// Where no script of berth's reads the word Slurm gives the job no GPU. Without the variable it
/// would see those of others.
bool is_without_gpu(spank_t spank) {
  if (asked.vram.empty() || !is_batch_script(spank)) return false;
  if (!variable(spank, "SLURM_GPUS_ON_NODE").empty()) return false;
  slurm_error(
      "berth: --vram=%s: Slurm gave the job no GPU; its controller runs no job_submit.lua of berth",
      asked.vram.c_str());
  set(spank, "CUDA_VISIBLE_DEVICES", "NoDevFiles");  // Slurm's own word for none
  return true;
}

/// Of a batch script. What sbatch's options were, each srun in it takes for its own.
void forget_asked_gpus(spank_t spank) {
  if (!is_batch_script(spank) || variable(spank, "SLURM_SHARDS_ON_NODE").empty()) return;
  for (const char* const name :
       {"SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET",
        "SLURM_CPUS_PER_GPU", "SLURM_MEM_PER_GPU", "SLURM_GPU_BIND"}) {
    spank_unsetenv(spank, name);
  }
  // Of 24.11. They may name shards, which the job has, though since `scontrol update` maybe others.
  const auto each = shards_of_gpu(spank);
  const bool has_shards = variable(spank, "SLURM_TRES_PER_TASK").contains("shard");
  if (has_shards && each) {
    set(spank, "SLURM_TRES_PER_TASK", "gres/shard:" + std::to_string(*each));
  }
  for (const char* const name : {"SLURM_TRES_PER_TASK", "SLURM_TRES_BIND"}) {
    if (variable(spank, name).contains("gpu")) spank_unsetenv(spank, name);
  }
  if (has_shards) spank_unsetenv(spank, "SLURM_TRES_BIND");
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
      option("vram", "SIZE", "GPU memory on each GPU, as 20G; without it GPUs are whole (berth)",
             take_vram),
      option("class", "WORD", "short, medium, long or service (berth)", take_class)};
  if (spank_context() == S_CTX_ALLOCATOR) forget_outer_job();
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
  if (is_without_gpu(spank)) return 0;
  forget_asked_gpus(spank);
  const auto size = vram_of_gpu(spank);
  if (!size) return 0;
  set(spank, "BERTH_VRAM_BYTES", std::to_string(size->raw()));
  for (int i = 0; i < count; ++i) {
    if (std::string_view(arguments[i]) != "mps") continue;
    const std::string gpus = variable(spank, "CUDA_VISIBLE_DEVICES");
    const std::string limits = limits_of_mps(gpus, size->raw() >> 20);
    if (!limits.empty()) set(spank, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits);
  }
  return 0;
}

}  // extern "C"
