// The library's own types without the name of the database before them. An app has them with it, because they are
// names of GRDB and Combine, which it may import too.

typealias Database = KeyValueDatabase.Database
typealias DatabaseError = KeyValueDatabase.DatabaseError
typealias DatabaseWriter = KeyValueDatabase.DatabaseWriter
typealias DatabaseValue = KeyValueDatabase.DatabaseValue
typealias AnyCancellable = KeyValueDatabase.AnyCancellable
