// The speed of jobs that take turns between the GPU and the host, beside each other on one GPU.
//
// A step of a job is a kernel and then work on the host. Alone, the job has a kernel on the GPU for
// its duty, a part of its time. Kernels that are there together share the GPU equally, and the GPU
// is never idle while one is there; work on the host slows nobody. With interference e, k kernels
// together get 1 / (1 + (k - 1) e) of the GPU's work done.
//
// This is a closed network of one processor-sharing station and a delay, with one customer of each
// class. Its stationary distribution is known (Baskett, Chandy, Muntz, Palacios, JACM 1975) and
// depends on nothing but the duties: not on how long steps are, nor on how their lengths vary. With
// K the number of jobs with a kernel if each had one independently for its duty, and
// w(k) = k! (1 + e) (1 + 2 e) ... (1 + (k - 1) e), a job runs at
//
//     E[w(K) of the other jobs] / E[w(K) of all jobs] of its speed alone.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/rate.hpp"

namespace berth::sim {

/// Of a job with this duty beside others with theirs, all in parts per million; so is
/// `interference`, at most a million. Rounded down. Requires: at most 10,000 others. O(others^2).
Rate rate_beside(std::int64_t duty, std::span<const std::int64_t> others,
                 std::int64_t interference);

/// The GPU time that a kernel beside these others takes, over that of one alone: 1 + e times the
/// mean number of other kernels beside it. So the parts of the time in which the GPU has a kernel
/// that a job makes up for, duty x speed x this, add up. In parts per million; rounded down.
std::int64_t kernel_cost_beside(std::span<const std::int64_t> others, std::int64_t interference);

}  // namespace berth::sim
