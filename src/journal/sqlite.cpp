#include "journal/sqlite.hpp"

#include <algorithm>
#include <system_error>

namespace berth::journal {

namespace {

ErrorCode code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // our statements are constant: a table or column of theirs is missing
    case SQLITE_MISMATCH:
      return ErrorCode::BadData;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CONSTRAINT:
      return ErrorCode::Conflict;
    default:
      return ErrorCode::Io;
  }
}

bool is_of_the_system(int code) {
  const int primary = code & 0xff;
  return primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
}

}  // namespace

Expected<Connection> Connection::open(const std::string& path, int flags) {
  Connection connection(path);
  // Some builds read `file:...` and `:memory:` as something else than a file of that name.
  const std::string plain = path.starts_with('/') ? path : "./" + path;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(plain.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  connection.raw_.reset(raw);
  if (raw == nullptr) return fail(ErrorCode::Io, path + ": out of memory");
  if (code != SQLITE_OK) return std::unexpected(connection.error(code));
  sqlite3_extended_result_codes(raw, 1);
  return connection;
}

Error Connection::error(int code) const {
  const int primary = code & 0xff;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
    return {ErrorCode::Conflict, path_ + ": another process is writing it"};
  }
  std::string message = path_ + ": " + sqlite3_errmsg(raw());
  if (const int number = sqlite3_system_errno(raw()); number != 0 && is_of_the_system(code)) {
    message += " (" + std::generic_category().message(number) + ")";
  }
  return {code_of(code), std::move(message)};
}

Expected<void> Connection::run(const char* sql) const {
  const int code = sqlite3_exec(raw(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(code));
  return {};
}

sqlite3_stmt* Connection::prepared(const char* sql, int& code) const {
  code = SQLITE_OK;
  const auto kept = std::ranges::find(kept_, sql, &Kept::sql);
  if (kept != kept_.end()) return kept->statement.get();
  sqlite3_stmt* made = nullptr;
  code = sqlite3_prepare_v3(raw(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  if (code != SQLITE_OK) return nullptr;
  kept_.push_back({sql, std::unique_ptr<sqlite3_stmt, Finalize>(made)});
  return made;
}

Query::Query(const Connection& connection, const char* sql, Made) : connection_(connection) {
  int code = SQLITE_OK;
  statement_ = connection.prepared(sql, code);
  check(code);
}

Query::~Query() {
  // A reset repeats the error of the last step, which finish() has told already. Values bound are
  // the caller's memory: the statement must not keep them.
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Query::check(int code) {
  if (code != SQLITE_OK && !failed_) failed_ = connection_.error(code);
}

void Query::bind(int at, std::int64_t value) {
  if (!failed_) check(sqlite3_bind_int64(statement_, at, value));
}
void Query::bind(int at, std::string_view value) {
  const char* const bytes = value.empty() ? "" : value.data();  // a null pointer would be NULL
  if (failed_) return;
  check(sqlite3_bind_text64(statement_, at, bytes, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Query::bind(int at, Blob value) {
  const char* const bytes = value.bytes.empty() ? "" : value.bytes.data();
  if (failed_) return;
  check(sqlite3_bind_blob64(statement_, at, bytes, value.bytes.size(), SQLITE_STATIC));
}

bool Query::next() {
  if (failed_) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) check(code);
  return false;
}

Expected<void> Query::finish() const {
  if (failed_) return std::unexpected(*failed_);
  return {};
}

void Query::damaged(const std::string& what) {
  if (!failed_) failed_ = Error{ErrorCode::BadData, connection_.path() + ": " + what};
}

bool Query::is(int column, int type) {
  if (!failed_ && sqlite3_column_type(statement_, column) != type) {
    damaged(std::string("column ") + sqlite3_column_name(statement_, column) +
            " holds a value of another type");
  }
  return !failed_;
}

std::int64_t Query::integer(int column) {
  return is(column, SQLITE_INTEGER) ? sqlite3_column_int64(statement_, column) : 0;
}

std::string_view Query::text(int column) {
  if (!is(column, SQLITE_TEXT)) return {};
  const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) check(SQLITE_NOMEM);
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Query::blob(int column) {
  if (!is(column, SQLITE_BLOB)) return {};
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  if (bytes == nullptr && size > 0) check(SQLITE_NOMEM);
  return {bytes, bytes == nullptr ? 0 : size};
}

Expected<std::int64_t> number_of(const Connection& db, const char* sql) {
  Query query(db, sql);
  const std::int64_t value = query.next() ? query.integer(0) : 0;
  if (auto done = query.finish(); !done) return std::unexpected(done.error());
  return value;
}

}  // namespace berth::journal
