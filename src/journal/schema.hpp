// The tables of a journal, and the upgrade of older files.
//
// A file of schema n + 1 is made of one of schema n by one step, statements of SQL. A change of the
// tables is one more step behind the others, and kSchema counts them; a released step never
// changes.
#pragma once

#include <span>

#include "core/base/error.hpp"
#include "journal/sqlite.hpp"
#include "journal/store.hpp"

namespace berth::journal {

/// Marks a SQLite file as a journal: "brth" as PRAGMA application_id.
inline constexpr int kApplicationId = 0x62727468;

/// From schema 0, a new file, on. The number of the schema is not theirs to change.
using Steps = std::span<const char* const>;
/// Those to kSchema.
Steps schema_steps();

/// Errors: BadData for a file of something else, for one with a schema that is none of these steps,
/// and read-only for an older one or none, which could not be upgraded. Changes nothing.
Expected<void> check_schema(const Connection& db, Access access, Steps steps = schema_steps());

/// Takes the steps that the file has not taken, one transaction each, so that a crash leaves the
/// old file or the new. Requires: check_schema() found nothing.
Expected<void> upgrade(const Connection& db, Steps steps = schema_steps());

}  // namespace berth::journal
