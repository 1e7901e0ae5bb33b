// The limits of what may be asked for: one table for every door (the API, the command line, files,
// Slurm's commands) and for what a snapshot holds. What a door lets in survives a stop and a start,
// because both read the same line here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth::limits {

// ---- Time ------------------------------------------------------------------------------------

/// 2200-01-01 in UTC: of a time that somebody states, and of the clock itself.
inline constexpr Instant kLastInstant = kStart + seconds(7'258'118'400);
/// Of a run, an estimate, a warning before an end: ten years.
inline constexpr Duration kLongestTime = hours(24) * 3650;
/// For a job to save its state.
inline constexpr Duration kLongestGrace = hours(24);

// ---- What a job asks for ---------------------------------------------------------------------

inline constexpr std::int64_t kMostGpus = 4096;
inline constexpr std::int64_t kMostGpuProcesses = 1024;     ///< On each GPU.
inline constexpr Bytes kMostMemory{std::int64_t{1} << 50};  ///< Of a GPU, or of the host.
inline constexpr CpuMilli kMostCores{100'000'000};          ///< A hundred thousand.
inline constexpr std::int64_t kMostProcesses = 1 << 22;     ///< At once; Linux's own most.
inline constexpr std::int64_t kMostRetries = 100;           ///< With more GPU memory.
inline constexpr std::int32_t kMostRequeues = 100;          ///< After exit codes and failures.
inline constexpr std::int64_t kMostPriority = 1'000'000'000;
inline constexpr std::int64_t kMostBatch = 10'000'000;  ///< Samples of a step.
inline constexpr std::size_t kMostCodes = 16;           ///< Causes to run again.
inline constexpr std::int32_t kLastSignal = 64;

/// The largest job number, because tables by number take memory up to the largest.
inline constexpr JobId kLastJob{std::uint64_t{1} << 40};
/// Most jobs that one job may wait for, and most jobs of an array.
inline constexpr std::size_t kMostDependencies = 4096;
inline constexpr std::int32_t kMostTasks = 4096;
inline constexpr std::int64_t kMostTask = 1'000'000'000;  ///< The number of one.
inline constexpr std::size_t kMostParameters = 64;        ///< Of a sweep.
/// Of the jobs of an array together: each of them has its own list.
inline constexpr std::size_t kMostDependenciesOfArray = std::size_t{1} << 14;
/// Of one user's jobs together: when what they wait for ends, each of them is looked at.
inline constexpr std::int64_t kMostDependenciesOfUser = std::int64_t{1} << 17;

// ---- Texts, in bytes -------------------------------------------------------------------------

inline constexpr std::size_t kMostName = 256;  ///< Also of a reason.
inline constexpr std::size_t kMostLabel = 64;  ///< Of a group, of a model.
/// Of one job of a sweep: its parameters with their values, as its name has them.
inline constexpr std::size_t kMostPoint = 4096;
inline constexpr std::size_t kMostUnique = 128;
inline constexpr std::size_t kMostComment = 1024;
/// What tells a program beside its command, each with its NUL.
inline constexpr std::size_t kMostProgramWords = std::size_t{16} << 10;
inline constexpr std::size_t kMostPath = 4095;  ///< PATH_MAX with its NUL.
/// As Linux takes them: each argument or variable; and all together, less what berthd adds to them.
inline constexpr std::size_t kMostWord = (std::size_t{128} << 10) - 1;
inline constexpr std::size_t kMostWords = (std::size_t{2} << 20) - (std::size_t{16} << 10);
/// Of an environment: berthd looks through them when the job starts.
inline constexpr std::size_t kMostVariables = 8192;

// ---- What administrators state ---------------------------------------------------------------

inline constexpr std::size_t kMostUsers = 1000;  ///< Named by one reservation.
/// Of a user, in thousandths.
inline constexpr std::int64_t kMostWeight = 100'000'000;

// ---- Machines --------------------------------------------------------------------------------

inline constexpr std::uint32_t kMostGpusOfNode = 1024;
inline constexpr std::size_t kMostTypes = 64;          ///< Of GPU: one bit each.
inline constexpr std::uint16_t kMostTenants = 65'535;  ///< Of one GPU.

}  // namespace berth::limits
