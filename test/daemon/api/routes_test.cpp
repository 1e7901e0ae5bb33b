// Goal: the table of routes is what doc/openapi.yaml says, and each request finds its route, or
// which methods its path has. Method: the table beside the page; paths in, routes out.
#include "daemon/api/routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string>

#include "support/paths.hpp"

namespace berth::daemon {
namespace {

using testing::Contains;

/// `GET /v1/jobs` of each path and method of the page.
std::set<std::string> routes_of_page() {
  std::istringstream page(test::read_file(test::source_dir() / "doc/openapi.yaml"));
  std::set<std::string> routes;
  std::string path;
  bool is_there = false;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(' ')) is_there = line == "paths:";
    if (!is_there) continue;
    if (line.starts_with("  /")) path = line.substr(2, line.find(':') - 2);
    const bool is_method = line.starts_with("    ") && std::isalpha(line[4]) != 0;
    if (!is_method) continue;
    std::string method = line.substr(4, line.find(':') - 4);
    std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::toupper(c); });
    routes.insert(method + " " + path);
  }
  return routes;
}

std::set<std::string> routes_of_table() {
  std::set<std::string> all;
  for (const Route& route : routes()) {
    const std::string text = std::string(route.method) + " " + std::string(route.path);
    EXPECT_TRUE(all.insert(text).second) << text << " is there twice";
  }
  return all;
}

TEST(Routes, AreThoseOfThePage) {
  const std::set<std::string> page = routes_of_page();
  const std::set<std::string> table = routes_of_table();
  EXPECT_GT(page.size(), 30U);
  for (const std::string& route : page) EXPECT_THAT(table, Contains(route)) << "not in the table";
  for (const std::string& route : table) EXPECT_THAT(page, Contains(route)) << "not on the page";
}

TEST(Routes, AreFoundByMethodAndPath) {
  for (const Route& route : routes()) {
    std::string path(route.path);
    const bool has_id = path.contains("{id}");
    if (has_id) path.replace(path.find("{id}"), 4, "643_[1,3-5]");
    const RouteFound found = find_route(route.method, path);
    EXPECT_EQ(found.route, &route) << path;
    EXPECT_EQ(found.id, has_id ? std::optional<std::string>("643_[1,3-5]") : std::nullopt) << path;
  }
  EXPECT_EQ(find_route("HEAD", "/v1/gpus").route, find_route("GET", "/v1/gpus").route);
  EXPECT_EQ(find_route("GET", "/v1/jobs/7/").route, find_route("GET", "/v1/jobs/7").route);
}

TEST(Routes, OfAnotherMethodSayWhichThereAre) {
  const auto allowed = [](const char* method, const char* path) {
    const RouteFound found = find_route(method, path);
    EXPECT_EQ(found.route, nullptr) << path;
    return found.allow;
  };
  EXPECT_EQ(allowed("PUT", "/v1/jobs"), "POST, GET, HEAD");
  EXPECT_EQ(allowed("POST", "/v1/jobs/7/log"), "GET, HEAD");
  EXPECT_EQ(allowed("HEAD", "/v1/drain"), "POST");
  EXPECT_EQ(allowed("get", "/v1/gpus"), "GET, HEAD");
  for (const char* const path : {"", "/", "/v1/", "/v1/jobs/1/logs", "/v1/jobs/1/log/", "/v1/gpus/",
                                 "/v1/jobs/1/{id}", "//v1/jobs"}) {
    EXPECT_EQ(allowed("GET", path), "") << path;
  }
}

}  // namespace
}  // namespace berth::daemon
