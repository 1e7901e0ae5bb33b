// The keys of a submission, read one by one by the table of fields (core/text/job_fields.hpp): each
// value is of its kind and within its range.
//
// Pure functions of the text. What the keys say together is checked later (admit.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/job.hpp"
#include "core/text/job_fields.hpp"
#include "daemon/requests/request_json.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// What the keys of a submission say.
struct JobFields {
  live::Submission job = {};
  std::vector<std::string> environment = {};
  std::int32_t warn_signal = 0;
  std::optional<Duration> warn_before = {};
  live::Notice notice = {};
  live::MoreOfProgram program = {};
  std::vector<std::string> parameters = {};
  std::vector<std::vector<std::string>> points = {};  ///< Values of these, for each task.
  std::optional<bool> exclusive = {};
  std::optional<Sharing> sharing = {};  ///< As `share` says.
  std::optional<bool> suspend = {};
  bool says_environment = false;

  Conditions& conditions() { return job.spec.conditions.edit(); }
  Duration warns_before() const { return warn_before.value_or(minutes(1)); }
};

/// `; did you mean gpus?`, of those that may be set then; "" for a key that is near none.
std::string nearest_field(std::string_view key, FieldSet when);

/// Reads a key of a submission. Errors: InvalidArgument naming key, value and limit.
Expected<void> read_field(JobFields& fields, const std::string& key, Json& value);
/// `{socket, terminal, rows, columns, optional}`. Errors: as read_field().
Expected<void> read_attach(Json& value, std::optional<shim::Attach>& target);

}  // namespace berth::daemon
