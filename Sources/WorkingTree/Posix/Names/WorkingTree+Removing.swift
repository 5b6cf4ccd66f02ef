package import Inodes
import LLVSCore
package import TreeNames

// Removing names.

extension WorkingTree {
  /// Removes a name that is not a directory's. A file that a program has open lives on without it.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/isDirectory``, ``FSError/notDirectory``, ``FSError/stale``, or the
  ///   error of the journal: then nothing has changed.
  package func unlink(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    let place = InodeName(directory: directory, name: name)
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
        let number = try present(at: place, state, base)
        guard try kind(of: number, state, base) != .directory else { throw .isDirectory }
        return Decision(
          concerned: [number, directory],
          operations: [.unlink(place, of: number, isKept: state.isHeld(number))]
        ) { _ in }
      }
    }
  }

  /// Removes an empty directory.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/notDirectory``, ``FSError/notEmpty``, ``FSError/stale``, or the error
  ///   of the journal: then nothing has changed.
  package func removeDirectory(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    let place = InodeName(directory: directory, name: name)
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
        let number = try present(at: place, state, base)
        guard try kind(of: number, state, base) == .directory else { throw .notDirectory }
        try checkEmpty(number, state, base)
        return Decision(
          concerned: [number, directory], operations: [.rmdir(place, of: number)]
        ) { _ in }
      }
    }
  }

  /// Returns the inode at a name, with the lock held.
  ///
  /// - Throws: ``FSError/noEntry`` if nothing is there, ``FSError/notDirectory``, ``FSError/stale``.
  func present(
    at place: InodeName, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeNumber {
    guard place.name.bytes.count <= Self.longestName else { throw .nameTooLong }
    try checkDirectory(place.directory, state, base)
    guard let number = try inode(at: place, state, base) else { throw .noEntry }
    return number
  }
}
