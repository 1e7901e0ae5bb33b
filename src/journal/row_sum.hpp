// The checksum of a row that users see, as SQL: made by whatever writes the row, checked by
// whatever reads it.
//
// A row's sum is made of parts, and a statement that changes some columns takes their old part out
// and puts the new one in. It does not sum unchanged columns again, so a column that a disk has
// damaged stays damaged after an update of another. doc/journal-format.md.
#pragma once

#include "journal/sqlite.hpp"

namespace berth::journal {

/// Over all columns of a row but its sum.
inline constexpr char kJobSum[] =
    "row_mix(row_part('request', id, user, submitted, name, command, spec),"
    " row_part('started', id, started), row_part('gpus', id, gpus),"
    " row_part('end', id, ended, outcome, code, note))";
inline constexpr char kAttemptSum[] =
    "row_mix(row_part('grant', job, attempt, granted, gpus),"
    " row_part('started', job, attempt, started),"
    " row_part('end', job, attempt, ended, outcome, code, note))";
inline constexpr char kPeakSum[] = "row_part('peak', job, attempt, user, what, bytes, whole)";
inline constexpr char kEnergySum[] = "row_part('energy', job, attempt, millijoules)";
inline constexpr char kReportSum[] = "row_part('report', job, key, value, at)";

/// Gives statements of this connection `row_part(value, ...)`, the checksum of these values in this
/// order, and `row_mix(sum, ...)`, which puts parts in or takes them out.
Expected<void> add_row_sums(const Connection& db);

}  // namespace berth::journal
