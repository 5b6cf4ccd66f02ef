package import Inodes
import LLVSCore
package import TreeNames

extension WorkingTree {
  /// Removes a name of a file, which lives on while a program has it open. Throws ``FSError/noEntry``,
  /// ``FSError/isDirectory``, ``FSError/notDirectory``, ``FSError/stale``, or the error of the journal: then
  /// nothing has changed.
  package func unlink(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    let shown = InodeName(directory: directory, name: name)
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
        let place = try place(shownAt: shown, state, base)
        let number = try present(at: place, state, base)
        guard try kind(of: number, state, base) != .directory else { throw .isDirectory }
        return Decision(
          concerned: [number, directory],
          operations: [.unlink(place, of: number, isKept: state.isHeld(number))]
        ) { _ in }
      }
    }
  }

  /// Removes an empty directory. Throws ``FSError/noEntry``, ``FSError/notDirectory``, ``FSError/notEmpty``,
  /// ``FSError/stale``, or the error of the journal: then nothing has changed.
  package func removeDirectory(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    let shown = InodeName(directory: directory, name: name)
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
        let place = try place(shownAt: shown, state, base)
        let number = try present(at: place, state, base)
        guard try kind(of: number, state, base) == .directory else { throw .notDirectory }
        try checkEmpty(number, state, base)
        return Decision(
          concerned: [number, directory], operations: [.rmdir(place, of: number)]
        ) { _ in }
      }
    }
  }

  /// Returns the inode at a name, with the lock held; throws ``FSError/noEntry`` if there is none.
  func present(
    at place: InodeName, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeNumber {
    try checkDirectory(place.directory, state, base)
    guard let number = try inode(at: place, state, base) else { throw .noEntry }
    return number
  }
}
