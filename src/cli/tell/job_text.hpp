// Jobs as text: the lines of `ls`, the page of `show`, the outcome of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/print/json.hpp"
#include "cli/print/output.hpp"

namespace berth::cli {

/// Running jobs first, then waiting ones, then ended ones; each by number.
void sort_for_reading(std::vector<Json>& jobs);

/// Wide tables have what keeps each job to its memory, too.
enum class Width { Usual, Wide };

/// The table of `ls`, to which rows are added; `now` is in seconds since 1970.
Table job_table(Width width = Width::Usual, Table::Rest rest = Table::Rest::Wrapped);
void add_row(Table& table, const Json& job, double now, Width width = Width::Usual);

/// True for the row of an array, whose jobs it counts.
bool is_array_row(const Json& job);

/// True for a job that is queued, held or suspended.
bool waits(const Json& job);

/// The moment by which it starts with 50 %, or with 90 % too.
enum class StartForm : std::uint8_t { Moment, Interval };
/// When it starts, as `~17:43` or `~17:43, by 19:40`; `by 17:43` where limits that are enforced
/// bound it; "" where that is not known.
std::string start_text(const Json& job, double now, StartForm form);

/// An instant near `now` in local time: `17:43`, `Tue 17:43`, `12 Dec`.
std::string clock_text(double instant, double now);
/// The same for a bound, which is not before the instant: rounded up to the minute.
std::string by_clock_text(double instant, double now);

/// Its user's name, or the number.
std::string user_of(const Json& job);

std::string job_page(const Json& job, double now, const Look& look);

/// `GPU 0`, `GPUs 0, 1`, or "" for none.
std::string gpu_list(const Json& gpus);

/// The signal of a code by which shells tell of one, as `SIGSEGV` of 139; "" of any other code.
std::string signal_of_code(std::int64_t code);
/// `exit 3`, `exit 139 (SIGSEGV)`.
std::string exit_text(std::int64_t code);

/// Why an ended job ended where its exit code does not say it: `out of GPU memory`; else "".
std::string ending(const Json& job);

/// How a job ended, in full: `done`, `failed: exit 3`, `reached its time limit of 1s`.
std::string outcome_text(const Json& job);

/// What to ask for next time, where a job held much less than it asked for, or asked for none:
/// `12.5 Wh`, `1.25 kWh`; "" for none.
std::string energy_text(std::optional<double> joules);

/// `asked 40 GiB, peak 11 GiB: next time --vram 13G`; "" otherwise.
std::string memory_advice(const Json& job);

/// `10 GiB`; "-" for what is not a size.
std::string size_text(const Json& bytes);

/// `2026-11-20 10:14:41` in local time; "-" for what is no instant.
std::string instant_text(std::optional<double> instant);

/// Seconds since 1970, from the wall clock.
double wall_now();

}  // namespace berth::cli
