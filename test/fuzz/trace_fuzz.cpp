// Goal: no bytes make the readers of traces, clusters and profiles crash, hang or read outside
// their input, and what is written is read again.
// Method: the first byte chooses the reader; a zero byte ends the file, after it comes its profile,
// and after one more the description of a task.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trace/formats.hpp"
#include "trace/gzip.hpp"
#include "trace/speed_files.hpp"
#include "trace/tar.hpp"
#include "trace/vram.hpp"

namespace {

using namespace berth::trace;

constexpr std::size_t kMostUnpacked = std::size_t{1} << 20;

/// The same text under every name that a reader looks for; a description is in place of a table of
/// tasks.
std::vector<Profile> profiles_of(std::string_view text) {
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view table = text.substr(0, end);
  std::vector<Profile> profiles;
  for (const char* name : {"throughputs.json", "a/validation-1.csv", "a/placements.csv",
                           "a/scalability.csv", "ehsan-summary.csv"}) {
    profiles.push_back({name, std::string(table)});
  }
  profiles.push_back(end == text.size() ? Profile{"task_files.csv", std::string(table)}
                                        : Profile{"x.rad", std::string(text.substr(end + 1))});
  return profiles;
}

void read_trace(const Format& format, std::string_view text) {
  const std::size_t end = std::min(text.find('\0'), text.size());
  const auto profiles = profiles_of(text.substr(std::min(end + 1, text.size())));
  const auto trace = format.read({.text = text.substr(0, end),
                                  .file = "fuzz",
                                  .bad_rows = BadRows::Skip,
                                  .profiles = profiles});
  if (!trace || format.write == nullptr) return;
  const std::string written = format.write(*trace);
  const auto again = format.read({.text = written, .file = "again"});
  if (!again || again->jobs.size() != trace->jobs.size()) std::abort();
}

/// A table with names and times of its own, whose text is written and read again.
void read_own_table(std::string_view text) {
  const std::vector<ColumnName> columns = {{"job", "id"}, {"submit_seconds", "created"}};
  const auto trace = read_native({.text = text,
                                  .file = "fuzz",
                                  .bad_rows = BadRows::Skip,
                                  .columns = columns,
                                  .time_format = "%d.%m.%Y %H:%M"});
  if (!trace) return;
  const std::string written = write_native(*trace);
  const auto again = read_native({.text = written, .file = "again"});
  if (!again || again->jobs.size() != trace->jobs.size()) std::abort();
}

void read_other(std::size_t which, std::string_view text) {
  switch (which) {
    case 0:
      (void)read_tiresias_cluster(text, "fuzz");
      break;
    case 1:
      (void)read_philly_machines(text, "fuzz");
      break;
    case 2:
      (void)read_openb_nodes(text, "fuzz");
      break;
    case 3:
      (void)read_toml_cluster(text, "fuzz");
      break;
    case 4:
      (void)unpacked(std::string(text), "fuzz", kMostUnpacked);
      break;
    case 5:
      (void)VramModel::read(text, "fuzz");
      (void)VramModel::parse(text);
      break;
    case 6:
      (void)guess_format(text, "fuzz");
      (void)read_cluster(text, "fuzz");
      break;
    case 7: {
      berth::Speeds speeds;
      (void)read_speeds(text, "fuzz", "v100", speeds);
      break;
    }
    case 9:
      read_own_table(text);
      break;
    case 10:
      (void)only_file_of_tar(text, "fuzz");
      break;
    default:
      (void)parse_cluster(text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t which = data[0];
  if (which < formats().size()) {
    read_trace(formats()[which], text);
  } else {
    read_other(which - formats().size(), text);
  }
  return 0;
}
