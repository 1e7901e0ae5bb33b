// SQLite behind two small classes: a connection with its prepared statements, and one statement in
// use. Only the .cpp files of this level include it.
//
// Nothing throws. Errors name the file and give SQLite's words: BadData for a damaged file,
// Conflict where another process is in the way, Io for the rest. A connection belongs to one thread
// at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace berth::journal {

/// Bytes to store as a BLOB; a string_view is stored as TEXT.
struct Blob {
  std::string_view bytes;
};

class Connection {
 public:
  /// `flags` are those of sqlite3_open_v2. `path` is a plain file name, whatever it looks like.
  static Expected<Connection> open(const std::string& path, int flags);

  sqlite3* raw() const { return raw_.get(); }
  const std::string& path() const { return path_; }
  /// Inside BEGIN ... COMMIT.
  bool in_transaction() const { return sqlite3_get_autocommit(raw()) == 0; }

  /// The last failure, which returned `code`.
  Error error(int code) const;
  /// Statements without parameters and results.
  Expected<void> run(const char* sql) const;
  /// Prepared when first used, then kept. `sql` must outlive the connection; it is known by its
  /// address. Returns: null after a failure, with the code in `code`.
  sqlite3_stmt* prepared(const char* sql, int& code) const;

  /// Runs one statement that changes rows. Returns: how many it changed.
  template <class... Values>
  Expected<std::int64_t> change(const char* sql, const Values&... values) const;

 private:
  struct Close {
    void operator()(sqlite3* raw) const { sqlite3_close_v2(raw); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* raw) const { sqlite3_finalize(raw); }
  };
  struct Kept {
    const char* sql;
    std::unique_ptr<sqlite3_stmt, Finalize> statement;
  };
  explicit Connection(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> raw_;
  mutable std::vector<Kept> kept_;  // goes before the connection does
};

/// A statement in use: `for (Query q(...); q.next();) ...`, then finish(). After a failure next()
/// is false, columns are zero or empty, and finish() says what it was.
class Query {
 public:
  template <class... Numbers>
  explicit Query(const Connection& connection, const char* sql, Numbers... numbers)
      : Query(connection, sql, Made{}) {
    int at = 0;
    (bind(++at, static_cast<std::int64_t>(numbers)), ...);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  /// To the next row. Returns: whether there is one.
  bool next();
  /// Errors: whatever went wrong since the query was made.
  Expected<void> finish() const;

  // Columns of the current row, from 0. One of another type than asked for is damage.
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t integer(int column);
  std::string_view text(int column);  ///< Until next().
  std::string_view blob(int column);  ///< Until next().

  /// The row breaks the format: `PATH: WHAT`.
  void damaged(const std::string& what);

 private:
  friend class Connection;
  struct Made {};
  Query(const Connection& connection, const char* sql, Made);

  void bind(int at, std::int64_t value);
  void bind(int at, std::string_view value);
  void bind(int at, Blob value);
  template <class T>
  void bind(int at, const std::optional<T>& value) {
    if (value) bind(at, *value);  // every parameter is NULL at first
  }
  void check(int code);
  bool is(int column, int type);

  const Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  std::optional<Error> failed_;
};

/// The one number that a query finds; 0 if it finds none.
Expected<std::int64_t> number_of(const Connection& db, const char* sql);

template <class... Values>
Expected<std::int64_t> Connection::change(const char* sql, const Values&... values) const {
  Query query(*this, sql, Query::Made{});
  int at = 0;
  (query.bind(++at, values), ...);
  query.next();
  if (auto done = query.finish(); !done) return std::unexpected(done.error());
  return sqlite3_changes64(raw());
}

}  // namespace berth::journal
