import Inodes
import LLVSCore

extension InodeName {
  /// The database that a write-ahead log or a rollback journal of this name has; nil for another name.
  var database: InodeName? {
    FileGroup(companion: Key(bytes: name.bytes)).map { named($0.members[0]) }
  }

  /// The names of the logs that a database of this name has.
  var logs: [InodeName] { FileGroup(of: Key(bytes: name.bytes)).members.dropFirst().map(named) }

  private func named(_ key: Key) -> InodeName {
    InodeName(directory: directory, name: FileName(key.bytes))
  }
}
