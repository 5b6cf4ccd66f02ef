#include <sqlite3.h>

// sqlite3_db_config has a variable number of arguments, which Swift cannot call.
static inline int llvs_sqlite3_enable_triggers(sqlite3 *database, int on) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, (int *)0);
}
