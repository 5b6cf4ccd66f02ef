import Platform
@testable import ObjectStores

/// Finds out what a remote does, by trying it, when it is attached.
struct StoreProbe: Sendable {
  /// The result of the probe.
  struct Outcome: Hashable, Sendable {
    /// True if an interrupted put left a part of the object under its name.
    var leavesTornObjects: Bool
    /// True if objects can be moved, and a move onto a name that is taken is refused.
    var movesExclusively: Bool
  }

  /// The number of looks for the rest of an interrupted put, a tenth of a second apart.
  private static let looks = 8

  /// A body whose second half cannot be read; large enough that its first reaches the server.
  private static func tornBody(_ directory: String) throws(RemoteError) -> ObjectBody {
    let bytes = [UInt8](repeating: 0x6C, count: 1 << 20)
    do throws(SystemError) {
      let path = "\(directory)/llvs-probe-\(SystemRandom.hex(8))"
      let file = try File(path, [.readWrite, .create, .exclusive], permissions: 0o600)
      try FileSystem.unlink(path)
      try file.write(bytes, at: 0)
      // The file is half as long as the body says, so the put breaks off in the middle.
      return ObjectBody(file, length: 2 << 20, hash: SHA256Digest.of(bytes))
    } catch {
      throw RemoteError(error)
    }
  }

  /// Tries a remote.
  ///
  /// - Parameters:
  ///   - store: the back-end itself, so that what fails on purpose is not tried again.
  ///   - control: is asked whether to go on.
  ///   - folder: a folder for the objects that the probe makes and removes.
  ///   - temporary: a directory of this machine for a file of a megabyte.
  /// - Returns: the result.
  /// - Throws: ``RemoteError`` if the remote cannot be used at all.
  static func run(
    _ store: some ObjectStore, control: TransferControl, folder: String, temporary: String = "/tmp"
  ) throws(RemoteError) -> Outcome {
    let mark = "llvs-probe-\(SystemRandom.hex(8))"
    func name(_ end: String) throws(RemoteError) -> ObjectName {
      guard let name = ObjectName(folder.isEmpty ? "\(mark)-\(end)" : "\(folder)/\(mark)-\(end)")
      else { throw RemoteError(.invalid, "\(folder) is not a folder of a remote") }
      return name
    }
    let (torn, first, second) = (try name("torn"), try name("1"), try name("2"))
    try store.prepare([folder])
    defer {
      // An object that cannot be removed takes 1 MiB and does no other harm.
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
      try control.pause(nanoseconds: TransferControl.patience)
      outcome.leavesTornObjects = try isThere(torn, in: store)
    }
    guard store.capabilities.contains(.move) else { return outcome }
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

  /// True if there is such an object, also if lists do not show it.
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
