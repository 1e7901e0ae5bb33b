// A daemon's history as a trace: requests and true run times.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "trace/trace.hpp"

namespace berth::cli {

/// True for an SQLite file, by its first bytes.
bool is_journal(const std::string& path);

/// Every job that ran and has ended, from the first submission on; a job's run time is that of its
/// last attempt. Those that never ran are left out. Opens the journal read-only, beside a running
/// daemon if there is one. Errors: as journal::Store::open; BadData for a job whose row is damaged.
Expected<trace::Trace> read_history(const std::string& path);

}  // namespace berth::cli
