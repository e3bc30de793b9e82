// SPDX-License-Identifier: Apache-2.0
#include "report/database.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <unistd.h>

#include "core/new_file.h"
#include "report/answer.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;

constexpr int kLongestWaitMs = 60'000;      // for another process that writes
constexpr int kApplicationId = 0x6d737072;  // "mspr", in the header of the file
constexpr int kSchemaVersion = 2;

constexpr const char* kSchema = R"(
CREATE TABLE runs (id INTEGER PRIMARY KEY, details TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL,
                   dump TEXT, added TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')));
CREATE TABLE facts (run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, key TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE calls (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, name TEXT NOT NULL,
                    api TEXT NOT NULL, forward TEXT, backward TEXT, strict TEXT, module TEXT, line TEXT, message TEXT,
                    verdict TEXT);
CREATE TABLE outputs (id INTEGER PRIMARY KEY, call INTEGER NOT NULL REFERENCES calls ON DELETE CASCADE, part TEXT NOT NULL,
                      status TEXT NOT NULL, strict TEXT, bench_dtype TEXT, device_dtype TEXT, shape TEXT, algorithm TEXT,
                      strict_reason TEXT, likely_cause TEXT, message TEXT);
CREATE INDEX calls_of_run ON calls (run, strict);
CREATE INDEX calls_of_api ON calls (api);
CREATE INDEX outputs_of_call ON outputs (call);
)";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

std::unexpected<Error> failed(sqlite3* database, const fs::path& path) {
  return fail(ErrorKind::kIo, fmt::format("{}: {}", path.string(), sqlite3_errmsg(database)));
}

// One INSERT, bound and run again and again. The first error is kept.
class Insert {
 public:
  Insert(sqlite3* database, const std::string& sql) : database_(database) {
    sqlite3_stmt* statement = nullptr;
    good_ = sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK;
    statement_.reset(statement);
  }

  Insert& text(std::string_view value) {
    if (value.empty()) return null();
    return count(sqlite3_bind_text64(statement_.get(), ++next_, value.data(), value.size(),
                                     SQLITE_STATIC, SQLITE_UTF8));
  }
  Insert& verdict(const std::optional<Verdict>& value) {
    return value ? text(name(*value)) : null();
  }
  Insert& integer(std::int64_t value) {
    return count(sqlite3_bind_int64(statement_.get(), ++next_, value));
  }
  // SQLite keeps NaN as NULL; it gets the text "nan" instead.
  Insert& number(double value) {
    if (value == kNoNumber) return null();
    if (std::isnan(value)) return text("nan");
    return count(sqlite3_bind_double(statement_.get(), ++next_, value));
  }
  Insert& null() { return count(sqlite3_bind_null(statement_.get(), ++next_)); }

  // The id of the row.
  std::int64_t run() {
    if (good_) good_ = sqlite3_step(statement_.get()) == SQLITE_DONE;
    if (good_) sqlite3_reset(statement_.get());
    next_ = 0;
    return sqlite3_last_insert_rowid(database_);
  }
  bool good() const { return good_; }

 private:
  Insert& count(int code) {
    good_ = good_ && code == SQLITE_OK;
    return *this;
  }

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 0;
  bool good_ = true;
};

bool execute(sqlite3* database, const std::string& sql) {
  return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::int64_t pragma(sqlite3* database, std::string_view key) {
  sqlite3_stmt* statement = nullptr;
  const std::string sql = fmt::format("PRAGMA {}", key);
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return -1;
  const std::unique_ptr<sqlite3_stmt, Finalize> kept(statement);
  return sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
}

// "Maximum relative error" of the side "device" -> device_maximum_relative_error
std::string column_name(const Metric& metric) {
  std::string out;
  const std::string text =
      fmt::format("{}{}{}", metric.side, metric.side.empty() ? "" : " ", metric.title);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (out.ends_with('_')) out.pop_back();
  return out;
}

// Every metric is a column of outputs; a run may bring further ones.
bool add_columns(sqlite3* database, const std::vector<std::string>& columns) {
  std::vector<std::string> there;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, "SELECT name FROM pragma_table_info('outputs')", -1, &statement,
                         nullptr) != SQLITE_OK) {
    return false;
  }
  const std::unique_ptr<sqlite3_stmt, Finalize> kept(statement);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    there.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
  }
  return std::ranges::all_of(columns, [&](const std::string& column) {
    return std::ranges::find(there, column) != there.end() ||
           execute(database, fmt::format("ALTER TABLE outputs ADD COLUMN \"{}\" REAL", column));
  });
}

// A database of ours, new or old.
Result<void> prepare(sqlite3* database, const fs::path& path) {
  if (!execute(database, "PRAGMA foreign_keys = ON; BEGIN IMMEDIATE"))
    return failed(database, path);
  const std::int64_t id = pragma(database, "application_id");
  const std::int64_t tables = pragma(database, "schema_version");  // 0: nothing was ever made in it
  if (id == 0 && tables == 0) {
    const std::string mark = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                         kApplicationId, kSchemaVersion);
    if (!execute(database, mark + kSchema)) return failed(database, path);
    return {};
  }
  if (id != kApplicationId) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: not a database of msprobe; name another file", path.string()));
  }
  std::int64_t version = pragma(database, "user_version");
  if (version == 1) {
    const std::string mark = fmt::format("; PRAGMA user_version = {}", kSchemaVersion);
    if (!execute(database, "ALTER TABLE calls ADD COLUMN verdict TEXT" + mark)) {
      return failed(database, path);
    }
    version = kSchemaVersion;
  }
  if (version != kSchemaVersion) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("{}: the tables are of version {}, this msprobe writes version {}; name "
                    "another file",
                    path.string(), version, kSchemaVersion));
  }
  return {};
}

std::string details_of(const ReportRun& run) {
  if (run.origin.empty()) return run.title;
  std::error_code error;
  const fs::path absolute = fs::absolute(run.origin.front().second, error);
  return error ? run.origin.front().second : absolute.lexically_normal().string();
}

bool add_run(sqlite3* database, const ReportRun& run) {
  std::vector<std::string> columns;
  for (const Metric& metric : run.metrics) columns.push_back(column_name(metric));
  if (!add_columns(database, columns)) return false;

  const std::string details = details_of(run);
  Insert replace(database, "DELETE FROM runs WHERE details = ?");
  replace.text(details).run();
  Insert into_runs(database, "INSERT INTO runs (details, kind, title, dump) VALUES (?, ?, ?, ?)");
  const std::int64_t id =
      into_runs.text(details).text(run.kind).text(run.title).text(run.dump).run();
  Insert into_facts(database, "INSERT INTO facts VALUES (?, ?, ?)");
  for (const auto& [key, value] : run.origin) {
    if (!value.empty()) into_facts.integer(id).text(key).text(value).run();
  }

  Insert into_calls(database,
                    "INSERT INTO calls (run, name, api, forward, backward, strict, module, line, "
                    "message, verdict) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  std::string names;
  std::string places;
  for (const std::string& column : columns) {
    names += fmt::format(", \"{}\"", column);
    places += ", ?";
  }
  Insert into_outputs(
      database, fmt::format("INSERT INTO outputs (call, part, status, strict, bench_dtype, "
                            "device_dtype, shape, algorithm, strict_reason, likely_cause, message"
                            "{}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?{})",
                            names, places));
  for (const ReportCall& call : run.calls) {
    into_calls.integer(id).text(call.name).text(call.api).verdict(call.forward);
    into_calls.verdict(call.backward).verdict(call.strict).text(call.site.module);
    const std::string_view line = call.site.user_line.empty()
                                      ? std::string_view(call.site.line)
                                      : std::string_view(call.site.user_line);
    into_calls.text(line).text(call.message).text(name(standing(call)));
    const std::int64_t call_id = into_calls.run();
    for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
      const ReportRow& row = run.rows[i];
      into_outputs.integer(call_id).text(row.part).verdict(row.status).verdict(row.strict);
      into_outputs.text(row.bench_dtype).text(row.device_dtype).text(row.shape);
      into_outputs.text(row.algorithm).text(row.strict_reason).text(row.likely_cause);
      into_outputs.text(row.message);
      for (std::size_t column = 0; column < columns.size(); ++column) {
        into_outputs.number(column < row.numbers.size() ? row.numbers[column] : kNoNumber);
      }
      into_outputs.run();
    }
  }
  return replace.good() && into_runs.good() && into_facts.good() && into_calls.good() &&
         into_outputs.good();
}

// SQLite takes a link in any directory of the path for the last one.
Result<void> add_to_file(const fs::path& path, std::span<const ReportRun> runs) {
  std::error_code error;
  const fs::path real = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  if (fs::is_symlink(real / path.filename(), error)) {
    return fail(ErrorKind::kIo,
                fmt::format("{}: it is a link; name the database itself", path.string()));
  }
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2((real / path.filename()).c_str(), &opened,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, nullptr);
  const Database database(opened);
  if (code != SQLITE_OK) return failed(opened, path);
  sqlite3_busy_timeout(opened, kLongestWaitMs);
  if (Result<void> prepared = prepare(opened, path); !prepared) return prepared;
  for (const ReportRun& run : runs) {
    if (!add_run(opened, run)) return failed(opened, path);  // closing takes the transaction back
  }
  if (!execute(opened, "COMMIT")) return failed(opened, path);
  return {};
}

}  // namespace

Result<void> add_to_database(const fs::path& path, std::span<const ReportRun> runs) {
  // SQLite would follow a link and leave the mode to the umask. Its journal takes the mode of the
  // database.
  const Descriptor made = create_in_place(path);
  if (!made && errno != EEXIST) {
    return fail(ErrorKind::kIo,
                fmt::format("{}: cannot create: {}", path.string(), std::strerror(errno)));
  }
  Result<void> added = add_to_file(path, runs);
  std::error_code error;
  if (made && !added && fs::file_size(path, error) == 0) ::unlink(path.c_str());
  return added;
}

}  // namespace msprobe::report
