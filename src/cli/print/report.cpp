#include "cli/print/report.hpp"

#include "cli/print/verbs.hpp"

namespace berth::cli {

int report(const Error& error) {
  const bool is_typed =
      error.code == ErrorCode::InvalidArgument || error.code == ErrorCode::NotFound;
  return is_typed ? report_usage(error.message) : report_failure(error.message);
}

}  // namespace berth::cli
