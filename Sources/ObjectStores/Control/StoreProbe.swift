internal import Platform

/// Finds out what a remote does, by trying it, when it is attached.
package struct StoreProbe: Sendable {
  /// What was seen.
  package struct Outcome: Hashable, Sendable {
    /// Whether a put that broke off left a part of the object under its name.
    package var leavesTornObjects: Bool
    /// Whether objects can be moved, and a move onto a name that is taken is refused.
    package var movesExclusively: Bool
  }

  /// How often it is looked for what a put that broke off left, a tenth of a second apart.
  private static let looks = 8

  /// A body whose second half cannot be read; large enough that its first reaches the server.
  private static func tornBody(_ directory: String) throws(RemoteError) -> ObjectBody {
    let bytes = [UInt8](repeating: 0x6C, count: 1 << 20)
    do throws(SystemError) {
      let path = "\(directory)/llvs-probe-\(SystemRandom.hex(8))"
      let file = try File(path, [.readWrite, .create, .exclusive], permissions: 0o600)
      try FileSystem.unlink(path)
      try file.write(bytes, at: 0)
      // Nobody can read more than there is: the put ends in the middle.
      return ObjectBody(file, length: 2 << 20, hash: ObjectHash.of(bytes))
    } catch {
      throw RemoteError(error)
    }
  }

  /// Tries a remote.
  ///
  /// - Parameters:
  ///   - store: the back-end itself, so that what fails on purpose is not tried again.
  ///   - control: is asked whether to go on.
  ///   - folder: where the objects it makes stand meanwhile; they are removed.
  ///   - temporary: a directory of this machine for a file of a megabyte.
  /// - Returns: what was seen.
  /// - Throws: ``RemoteError`` if the remote cannot be used at all.
  package static func run(
    _ store: some ObjectStore, control: RemoteControl, folder: String, temporary: String = "/tmp"
  ) throws(RemoteError) -> Outcome {
    let mark = "llvs-probe-\(SystemRandom.hex(8))"
    func name(_ end: String) throws(RemoteError) -> ObjectName {
      guard let name = ObjectName(folder.isEmpty ? "\(mark)-\(end)" : "\(folder)/\(mark)-\(end)")
      else { throw RemoteError(.invalid, "\(folder) is no folder of a remote") }
      return name
    }
    let (torn, first, second) = (try name("torn"), try name("1"), try name("2"))
    try store.prepare([folder])
    defer {
      // What cannot be removed now is 1 MiB under a name that nobody asks for.
      for name in [torn, first, second] { try? store.delete(name) }
    }
    do throws(RemoteError) {
      try store.put(torn, try tornBody(temporary))
    } catch {
      // Errors are the point; that nothing works at all is met below.
      if error.kind == .cancelled || error.kind == .denied { throw error }
    }
    var outcome = Outcome(leavesTornObjects: false, movesExclusively: false)
    for _ in 0..<looks where !outcome.leavesTornObjects {
      // A server may be at work yet when its client is gone.
      try control.pause(nanoseconds: RemoteControl.patience)
      outcome.leavesTornObjects = try isThere(torn, in: store)
    }
    guard store.abilities.contains(.move) else { return outcome }
    try store.put(first, ObjectBody([1]))
    try store.put(second, ObjectBody([2]))
    do throws(RemoteError) {
      try store.move(first, to: second)
    } catch {
      guard error.kind == .exists, try store.bytes(of: second, atMost: 16) == [2] else {
        return outcome
      }
      outcome.movesExclusively = true
    }
    guard outcome.movesExclusively else { return outcome }
    try store.delete(second)
    do throws(RemoteError) {
      try store.move(first, to: second)
      outcome.movesExclusively = try store.bytes(of: second, atMost: 16) == [1]
    } catch {
      outcome.movesExclusively = false
    }
    return outcome
  }

  /// Whether there is such an object, also one that lists do not show.
  private static func isThere(
    _ name: ObjectName, in store: some ObjectStore
  ) throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      try store.get(name, range: 0..<1) { (_) throws(RemoteError) in false }
      return true
    } catch {
      guard error.kind == .absent else { throw error }
      return false
    }
  }
}
