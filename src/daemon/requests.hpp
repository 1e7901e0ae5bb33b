// What users send, checked: a request that is taken in can be run, or the answer says why not.
//
// Pure functions of the text and of who sent it; the engine's own gate (why_impossible) comes
// after.
#pragma once

#include <string_view>

#include "core/error.hpp"
#include "core/job.hpp"
#include "http/server.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// POST /v1/jobs. Errors: InvalidArgument naming key, value and limit (`vram_bytes: 0, the least is
/// 1`); BadData for what is no JSON object of at most a few levels.
Expected<live::Submission> parse_submission(std::string_view body, const http::Peer& peer,
                                            CpuMilli default_cpu = CpuMilli(0));

/// Decimal digits of an id. Errors: InvalidArgument naming the text.
Expected<JobId> parse_job_id(std::string_view text);

std::string_view to_text(DurationClass duration_class);
std::string_view to_text(JobKind kind);

}  // namespace berth::daemon
