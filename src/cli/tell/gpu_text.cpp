#include "cli/tell/gpu_text.hpp"

#include <algorithm>

#include "cli/tell/job_text.hpp"
#include "cli/tell/own_zone.hpp"
#include "core/text/amounts.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kBarCells = 24;

Memory memory_of(const Json& gpu) {
  const std::int64_t foreign = bytes_of(gpu, "foreign_bytes");
  return {.capacity = bytes_of(gpu, "capacity_bytes"),
          .used = std::max<std::int64_t>(bytes_of(gpu, "used_bytes") - foreign, 0),
          .charged = bytes_of(gpu, "charged_bytes"),
          .foreign = foreign};
}

std::string user_text(const Json& who) { return printable(text_of(who, "user_name")); }

}  // namespace

std::string tenant_handle(const Json& tenant) {
  const std::string handle = printable(text_of(tenant, "handle"));
  return handle.empty() ? std::to_string(integer_of(tenant, "job").value_or(0)) : handle;
}

namespace {

std::string tenant_lines(const Json& tenants) {
  std::string text;
  if (!tenants.is_array()) return text;
  for (const Json& tenant : tenants) {
    const std::string name = printable(text_of(tenant, "name"));
    const Json& used = part_of(tenant, "used_bytes");
    text += "  job " + tenant_handle(tenant);
    if (!name.empty()) text += "  " + name;
    text +=
        "  " + user_text(tenant) + "  " + size_text(part_of(tenant, "charge_bytes")) + " charged";
    if (!used.is_null()) text += ", " + size_text(used) + " used";
    if (const auto busy = integer_of(tenant, "utilisation_percent")) {
      text += ", " + std::to_string(*busy) + " % busy";
    }
    const std::string note = printable(text_of(tenant, "note"));
    if (!note.empty()) text += "; " + note;
    text += "\n";
  }
  return text;
}

std::string foreign_lines(const Json& processes, const Look& look) {
  std::string text;
  if (!processes.is_array()) return text;
  for (const Json& process : processes) {
    const Json& bytes = part_of(process, "bytes");
    const std::string where = printable(text_of(process, "in"));
    const auto pid = integer_of(process, "pid");  // none of what another machine's agent tells
    const std::string name = printable(text_of(process, "name"));
    std::string line = (pid ? "  foreign process " + std::to_string(*pid) + "  " + name + "  " +
                                  user_text(process) + "  "
                            : "  foreign: " + name + "  ") +
                       (bytes.is_null() ? "unknown size" : size_text(bytes)) +
                       (where.empty() ? "" : "  in " + where);
    if (const auto job = integer_of(process, "job")) {
      line += "  of job " + std::to_string(*job) + ", which does not hold this GPU";
    } else if (is_set(process, "yours") && pid) {
      line += "  yours: berth adopt " + std::to_string(*pid) + " makes it a job";
    }
    text += painted(line, Colour::Magenta, look) + "\n";
  }
  return text;
}

std::string amounts_text(const Json& gpu) {
  std::string text = size_text(part_of(gpu, "used_bytes")) + " used of " +
                     size_text(part_of(gpu, "capacity_bytes")) + ", " +
                     size_text(part_of(gpu, "charged_bytes")) + " charged, " +
                     size_text(part_of(gpu, "foreign_bytes")) + " foreign, " +
                     size_text(part_of(gpu, "headroom_bytes")) + " free to charge";
  if (const auto busy = integer_of(gpu, "utilisation_percent")) {
    text += ", " + std::to_string(*busy) + " % busy";
  }
  return text;
}

/// `  nearest: GPU 1, by 4 NVLinks`; "" where all others are equally near.
std::string nearest_line(const Json& gpu) {
  const Json& links = part_of(gpu, "links");
  if (!links.is_array() || links.empty()) return "";
  const auto distance = [](const Json& link) { return integer_of(link, "distance").value_or(0); };
  Json nearest = links.front();
  for (const Json& link : links) {
    if (distance(link) < distance(nearest)) nearest = link;
  }
  std::string gpus;
  std::size_t count = 0;
  for (const Json& link : links) {
    if (distance(link) != distance(nearest)) continue;
    gpus += (gpus.empty() ? "" : ", ") + std::to_string(integer_of(link, "gpu").value_or(0));
    ++count;
  }
  const bool has_nvlinks = integer_of(nearest, "nvlinks").value_or(0) > 0;
  if (count == links.size() && !has_nvlinks) return "";
  return "  nearest: GPU " + gpus + ", by " + printable(text_of(nearest, "path")) + "\n";
}

/// `, reserved for alice from 22:00 until 06:00`; "" for none.
std::string reserved_text(const Json& reservations) {
  std::string text;
  if (!reservations.is_array()) return text;
  for (const Json& one : reservations) {
    text += ", reserved for " + in_own_zone(printable(text_of(one, "text")), wall_now());
  }
  return text;
}

std::string gpu_lines(const Json& gpu, const Look& look) {
  const std::string index = std::to_string(integer_of(gpu, "index").value_or(0));
  std::string line =
      painted("GPU " + index, Colour::Bold, look) + "  " + printable(text_of(gpu, "name")) + "  ";
  if (look.terminal) line += memory_bar(memory_of(gpu), kBarCells, look) + "  ";
  line += amounts_text(gpu);
  const Json& healthy = part_of(gpu, "healthy");
  if (healthy.is_boolean() && !healthy.get<bool>()) {
    const std::string problem = printable(text_of(gpu, "problem"));
    line += painted(", unhealthy" + (problem.empty() ? "" : ": " + problem), Colour::Red, look);
  }
  if (const Json& drain = part_of(gpu, "drained"); drain.is_object()) {
    const std::string reason = printable(text_of(drain, "reason"));
    const std::string text = ", drained by " +
                             in_own_zone(printable(text_of(drain, "text")), wall_now()) +
                             (reason.empty() ? "" : " (" + reason + ")");
    line += painted(text, Colour::Yellow, look);
  }
  if (const std::string by = printable(text_of(gpu, "not_given")); !by.empty()) {
    line += painted(", not given to berthd (" + by + ")", Colour::Yellow, look);
  }
  line += painted(reserved_text(part_of(gpu, "reserved")), Colour::Yellow, look);
  if (is_set(gpu, "pressure")) line += painted(", under pressure", Colour::Red, look);
  return line + "\n" + nearest_line(gpu) + tenant_lines(part_of(gpu, "tenants")) +
         foreign_lines(part_of(gpu, "foreign"), look);
}

}  // namespace

std::string memory_bar(const Memory& memory, std::size_t cells, const Look& look) {
  const std::int64_t capacity = std::max<std::int64_t>(memory.capacity, 1);
  std::size_t left = cells;
  // Rounded up, so that a small tenant is seen; never more than there is.
  const auto part = [&](std::int64_t bytes, char sign, Colour colour) {
    const auto share = (bytes * static_cast<std::int64_t>(cells) + capacity - 1) / capacity;
    const std::size_t width = std::min(left, static_cast<std::size_t>(share));
    left -= width;
    return painted(std::string(width, sign), colour, look);
  };
  std::string bar = part(memory.used, '#', Colour::Green);
  bar += part(std::max<std::int64_t>(memory.charged - memory.used, 0), '=', Colour::Blue);
  bar += part(memory.foreign, 'x', Colour::Magenta);
  return "[" + bar + std::string(left, '.') + "]";
}

Expected<Json> gpus_named(const std::vector<std::string>& typed) {
  Json list = Json::array();
  for (const std::string& text : typed) {
    if (text == "all") return Json("all");
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      const auto index = parse_count(std::string_view(text).substr(at, comma - at), 65535);
      if (!index) {
        return fail(ErrorCode::InvalidArgument,
                    text + ": is not `all` or a GPU's index, as 0 or 0,2");
      }
      list.push_back(*index);
      at = comma + 1;
    }
  }
  if (!list.empty()) return list;
  return fail(ErrorCode::InvalidArgument, "no GPU is named; give `all` or indices, as 0,2");
}

std::string gpu_totals(const Json& answer) {
  const Json& gpus = part_of(answer, "gpus");
  if (!gpus.is_array() || gpus.empty()) return "";
  std::int64_t capacity = 0;
  std::int64_t charged = 0;
  std::int64_t foreign = 0;
  for (const Json& gpu : gpus) {
    capacity += bytes_of(gpu, "capacity_bytes");
    charged += bytes_of(gpu, "charged_bytes");
    foreign += bytes_of(gpu, "foreign_bytes");
  }
  std::string text = std::to_string(gpus.size()) + (gpus.size() == 1 ? " GPU: " : " GPUs: ") +
                     to_text(Bytes(charged)) + " of " + to_text(Bytes(capacity)) + " granted";
  if (foreign > 0) text += ", " + to_text(Bytes(foreign)) + " non-berth";
  return text;
}

std::string gpu_page(const Json& answer, const Look& look) {
  std::string text;
  const Json& gpus = part_of(answer, "gpus");
  if (!gpus.is_array() || gpus.empty()) return "no GPUs; berth doctor says why\n";
  for (const Json& gpu : gpus) text += gpu_lines(gpu, look);
  return folded(text, look);
}

std::int64_t bytes_of(const Json& gpu, const char* key) {
  return std::clamp<std::int64_t>(integer_of(gpu, key).value_or(0), 0, std::int64_t{1} << 52);
}

}  // namespace berth::cli
