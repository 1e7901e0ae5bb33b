#include "daemon/answers/queries.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>

#include "engine/engine.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostRows = 1000;

/// `all`, or one kind by `only`.
Expected<Page::Which> which_jobs(const http::Request& request) {
  using Which = Page::Which;
  const auto all = query_flag(request, "all");
  if (!all) return std::unexpected(all.error());
  const auto only = request.parameter("only");
  if (!only) return *all ? Which::All : Which::Live;
  if (*all) return fail(ErrorCode::InvalidArgument, "only: given with all; give one of them");
  if (*only == "running") return Which::Running;
  if (*only == "ended") return Which::Ended;
  return fail(ErrorCode::InvalidArgument,
              "only: '" + only->substr(0, 40) + "', must be running or ended");
}

Expected<std::uint64_t> number_of_query(const char* key, const std::string& text,
                                        std::uint64_t most) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value > most) {
    return fail(ErrorCode::InvalidArgument, std::string(key) + ": '" + text.substr(0, 40) +
                                                "', must be a number up to " +
                                                std::to_string(most));
  }
  return value;
}

}  // namespace

Expected<bool> query_flag(const http::Request& request, const char* key) {
  const auto text = request.parameter(key);
  if (!text || *text == "false" || *text == "0") return false;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  return fail(ErrorCode::InvalidArgument,
              std::string(key) + ": '" + text->substr(0, 40) + "', must be true or false");
}

Expected<std::optional<std::uint64_t>> query_number(const http::Request& request, const char* key,
                                                    std::uint64_t most) {
  const auto text = request.parameter(key);
  if (!text) return std::nullopt;
  const auto value = number_of_query(key, *text, most);
  return value ? Expected<std::optional<std::uint64_t>>(*value) : std::unexpected(value.error());
}

Expected<Page> parse_page(const http::Request& request) {
  const auto which = which_jobs(request);
  if (!which) return std::unexpected(which.error());
  const auto user = query_number(request, "user", 0xFFFFFFFF);
  const auto before = query_number(request, "before", kLastJob.value() + 1);
  const auto after = query_number(request, "after", kLastJob.value());
  const auto limit = query_number(request, "limit", kMostRows);
  for (const auto* read : {&user, &before, &after, &limit}) {
    if (!*read) return std::unexpected(read->error());
  }
  if (*before && *after) {
    return fail(ErrorCode::InvalidArgument, "after: given with before; give one of them");
  }
  const auto whole = query_flag(request, "whole_arrays");
  if (!whole) return std::unexpected(whole.error());
  const auto brief = query_flag(request, "brief");
  if (!brief) return std::unexpected(brief.error());
  Page page{.which = *which};
  if (*brief) page.form = RowForm::Brief;
  if (*whole) page.arrays = Page::Arrays::Whole;
  if (*user) page.user = UserId(static_cast<std::uint32_t>(**user));
  if (*before) page.beyond = JobId(**before);
  if (*after) page.beyond = JobId(**after), page.order = Page::Order::OldestFirst;
  if (*limit) page.most = std::max<std::size_t>(1, **limit);
  return page;
}

Expected<Wanted> parse_wanted(const http::Request& request) {
  const auto all = query_flag(request, "all");
  if (!all) return std::unexpected(all.error());
  Wanted wanted{.own = UserId(request.peer.user), .among = *all ? Among::Batch : Among::Live};
  for (const auto& [key, value] : request.query) {
    if (key == "jobs") {
      auto handles = parse_handles(value);
      if (!handles) return std::unexpected(handles.error());
      std::ranges::move(*handles, std::back_inserter(wanted.handles));
    } else if (key == "user") {
      const auto user = number_of_query("user", value, 0xFFFFFFFF);
      if (!user) return std::unexpected(user.error());
      wanted.users.insert(UserId(static_cast<std::uint32_t>(*user)));
    }
  }
  return wanted;
}

}  // namespace berth::daemon
