internal import SQLite

// The library for documents has types of the same names.
typealias FileDatabase = SQLite.Database
typealias FileDatabaseError = SQLite.DatabaseError
