#include <sqlite3.h>

// sqlite3_db_config has a variable number of arguments, which Swift cannot call.
static inline int llvs_sqlite3_enable_triggers(sqlite3 *database, int on) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, (int *)0);
}

// Keeps what a file says from running code of its own: functions in its schema, and changes of its shadow tables.
static inline int llvs_sqlite3_distrust(sqlite3 *database) {
  int code = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
  if (code != SQLITE_OK) return code;
  return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}
