// What the folder's disk and SQLite alone can do: the measure of everything durable.
#pragma once

#include "live/bed.hpp"

namespace berth::bench {

/// The median of writing a page in place and waiting for it, microseconds, with so long a pause
/// before each: a disk that was idle takes longer. Errors: Io.
Expected<double> fdatasync_us(const Bed& bed, Seconds pause = Seconds(0));

/// Rows of 250 bytes that SQLite writes in a second, 32 in a commit that is written and not waited
/// for, as the journal does. Errors: Io.
Expected<double> sqlite_rows_per_s(const Bed& bed);

}  // namespace berth::bench
