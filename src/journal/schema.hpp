// The tables of a journal, and the upgrade of older files.
#pragma once

#include "core/error.hpp"
#include "journal/sqlite.hpp"
#include "journal/store.hpp"

namespace berth::journal {

/// Marks a SQLite file as a journal: "brth" as PRAGMA application_id.
inline constexpr int kApplicationId = 0x62727468;

/// Errors: BadData for a file of something else, one with a schema newer than kSchema, and
/// read-only for an older one or none, which could not be upgraded. Changes nothing.
Expected<void> check_schema(const Connection& db, Access access);

/// Brings the file to kSchema, one transaction per step, so that a crash leaves the old file or the
/// new. Requires: check_schema() found nothing.
Expected<void> upgrade(const Connection& db);

}  // namespace berth::journal
