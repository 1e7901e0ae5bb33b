#include "daemon/suspend/suspend_files.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

namespace berth::daemon {

SuspendFiles::SuspendFiles(std::string folder) : folder_(std::move(folder)) {
  ::mkdir(folder_.c_str(), 0700);
}

std::string SuspendFiles::path_of(JobId job) const {
  return folder_ + "/" + std::to_string(job.value());
}

std::vector<Errand> SuspendFiles::load() const {
  std::vector<Errand> errands;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_.c_str()), ::closedir);
  while (const dirent* found = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name(found->d_name);
    if (name.find_first_not_of("0123456789") != std::string_view::npos) continue;
    std::ifstream file(folder_ + "/" + found->d_name, std::ios::binary);
    auto kept = decode_errand(std::string(std::istreambuf_iterator<char>(file), {}));
    if (kept && std::to_string(kept->job.value()) == name) errands.push_back(std::move(*kept));
  }
  return errands;
}

bool SuspendFiles::write(const Errand& errand) const {
  const std::string path = path_of(errand.job);
  const std::string draft = path + ".new";
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file << encode(errand);
  file.close();
  return file.good() && ::rename(draft.c_str(), path.c_str()) == 0;
}

void SuspendFiles::remove(JobId job) const { ::unlink(path_of(job).c_str()); }

}  // namespace berth::daemon
