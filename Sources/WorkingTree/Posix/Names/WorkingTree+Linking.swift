package import Inodes
import LLVSCore
import Platform
package import TreeNames

extension WorkingTree {
  /// The most names of one file, as on ext4.
  static let mostLinks = 65_000

  /// Gives a file another name, as link(2); the kernel then knows it once more. Throws ``FSError/notPermitted`` for
  /// a directory, ``FSError/exists``, ``FSError/noEntry`` for a removed file and in a removed directory,
  /// ``FSError/stale`` for a file whose name a head took, so that the kernel looks its path up again,
  /// ``FSError/tooManyLinks``, ``FSError/nameTooLong``, or the error of the journal: then nothing has
  /// changed.
  package func link(
    _ number: InodeNumber, _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) -> InodeStatus {
    guard name.bytes != ReservedName.bytes else { throw .exists }
    guard name.bytes.count <= Self.longestName else { throw .nameTooLong }
    let shown = InodeName(directory: directory, name: name)
    let id = SystemRandom.bytes(16)
    confirm(process)
    try withRoom { () throws(FSError) in
      try change(by: process) { state, base throws(FSError) in
        let place = try place(shownAt: shown, state, base)
        try checkHasNames(directory, state, base)
        guard try inode(at: place, state, base) == nil else { throw .exists }
        try checkReach(place, state, base)
        try checkIsShown(number, state, base)
        guard let kind = try kind(of: number, state, base) else { throw .stale }
        guard kind != .directory else { throw .notPermitted }
        let count = try nameCount(of: number, state, base)
        guard count > 0 else { throw state.isDetached(number) ? .stale : .noEntry }
        guard count < Self.mostLinks else { throw .tooManyLinks }
        let seen = state.seen(by: process, at: place, over: nil)
        return Decision(
          concerned: [number, directory],
          operations: [.link(number, at: place, id: id, seen: seen)]
        ) { state in
          state.noteLookup(number)
        }
      }
    }
    return try status(of: number)
  }

  private func nameCount(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Int {
    if let names = state.overlay.nodes.names(of: number) { return names.count }
    return try FSError.translating(try base.inode(number)?.links ?? 0)
  }

  /// Removes a name of a file, which lives on while a program has it open. Throws ``FSError/noEntry``,
  /// ``FSError/isDirectory``, ``FSError/notDirectory``, ``FSError/stale``, or the error of the journal: then
  /// nothing has changed.
  package func unlink(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    try remove(directory, name, process) { place, number, state, base throws(FSError) in
      guard try kind(of: number, state, base) != .directory else { throw .isDirectory }
      return .unlink(
        place, of: number, isKept: state.isHeld(number),
        by: state.remover(process, of: number, at: place))
    }
  }

  /// Removes an empty directory. Throws ``FSError/noEntry``, ``FSError/notDirectory``, ``FSError/notEmpty``,
  /// ``FSError/stale``, or the error of the journal: then nothing has changed.
  package func removeDirectory(
    _ directory: InodeNumber, _ name: FileName, process: Int32 = 0
  ) throws(FSError) {
    try remove(directory, name, process) { place, number, state, base throws(FSError) in
      guard try kind(of: number, state, base) == .directory else { throw .notDirectory }
      try checkEmpty(number, state, base)
      return .rmdir(place, of: number)
    }
  }

  private func remove(
    _ directory: InodeNumber, _ name: FileName, _ process: Int32,
    _ removal: (InodeName, InodeNumber, TreeState, RememberedBase) throws(FSError)
      -> Change.Operation
  ) throws(FSError) {
    let shown = InodeName(directory: directory, name: name)
    confirm(process)
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
        let place = try place(shownAt: shown, state, base)
        let number = try present(at: place, state, base)
        let operation = try removal(place, number, state, base)
        return Decision(concerned: [number, directory], operations: [operation]) { _ in }
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
