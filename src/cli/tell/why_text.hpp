// Why a job waits and when it starts, as text: the pages of `why` and of `submit --dry-run`.
#pragma once

#include <string>

#include "cli/print/json.hpp"
#include "cli/print/output.hpp"

namespace berth::cli {

/// `now` is in seconds since 1970.
std::string why_page(const Json& why, double now, const Look& look);
std::string dry_run_page(const Json& answer, double now, const Look& look);
/// The same of a job that waits in one line: `needs 2.5 GiB more on GPU 0 (job 8), starts by 03:08;
/// with --time 38min now`.
std::string waiting_line(const Json& why, double now);

}  // namespace berth::cli
