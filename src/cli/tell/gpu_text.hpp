// GPUs as text: used, charged, foreign and free memory, and the jobs that hold it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/print/json.hpp"
#include "cli/print/output.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

std::string gpu_page(const Json& answer, const Look& look);

/// A member in bytes, within what can be added up; 0 for what is none.
std::int64_t bytes_of(const Json& gpu, const char* key);

/// What a job on a GPU is called in lists: `643_5`, `7`.
std::string tenant_handle(const Json& tenant);

/// `all`, `0`, `0,2` and words of these, as requests take them. Errors: InvalidArgument.
Expected<Json> gpus_named(const std::vector<std::string>& typed);

/// All of them in one line: `2 GPUs: 25.6 of 47.2 GiB granted, 8.39 GiB non-berth`; "" for none.
std::string gpu_totals(const Json& answer);

/// A GPU's memory; what is charged but not used is not free for others.
struct Memory {
  std::int64_t capacity = 0;
  std::int64_t used = 0;     ///< By jobs.
  std::int64_t charged = 0;  ///< To jobs.
  std::int64_t foreign = 0;
};

/// `[######===xx....]`, `cells` wide: used by jobs, charged beyond that, foreign, free.
std::string memory_bar(const Memory& memory, std::size_t cells, const Look& look);

}  // namespace berth::cli
