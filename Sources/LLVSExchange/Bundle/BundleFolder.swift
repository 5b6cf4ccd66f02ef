import LLVSCore
internal import Platform

/// A folder of bundles.
///
/// INVARIANT 1: a bundle appears under its name only when all its bytes are durable, and after the bundles
/// with what its versions were made from.
/// INVARIANT 2: none of another writer is ever changed or removed; one of this writer's only where its bytes
/// are not those of its name, or after others that hold all of its versions are in place and were read again.
/// INVARIANT 3: only regular files are opened, and never so that opening can block.
///
/// - Concurrency: reading from any thread, writing from one at a time.
final class BundleFolder: Sendable {
  private let folder: PeerFolder
  private let directory: String
  private let outgoing: String
  private let replica: String

  /// A folder, which has to be there; `replica` is the name of this store as a writer.
  init(path: String, replica: String) {
    folder = PeerFolder(path: path)
    self.replica = replica
    directory = "\(path)/\(BundleFormat.directory)"
    outgoing = "\(path)/.llvs-outgoing-\(replica)"
  }

  // MARK: Reading

  /// The names of the bundles that are there and as long as they say, by writer and in the order written,
  /// and of those that are not; what has another name is none.
  func list() throws(StoreError) -> (whole: [BundleName], torn: [String]) {
    guard try isThere() else { return ([], []) }
    do throws(SystemError) {
      let directory = try File(directory, [.read, .directory])
      var (names, torn) = ([BundleName](), [String]())
      for text in try FileSystem.list(self.directory) {
        guard let name = BundleName(text), let status = try status(text, in: directory),
          status.kind == .regular
        else { continue }
        if status.size == name.length { names.append(name) } else { torn.append(text) }
      }
      return (names.sorted(), torn.sorted())
    } catch {
      throw folder.translated(error)
    }
  }

  /// Whether the folder has a directory of bundles, which is its own.
  private func isThere() throws(StoreError) -> Bool {
    try folder.check()
    do throws(SystemError) {
      guard try FileSystem.exists(directory) else { return false }
    } catch {
      throw folder.translated(error)
    }
    try folder.checkOwn(directory)
    return true
  }

  /// What stands under a name; nil where it is gone.
  private func status(_ name: String, in directory: File) throws(SystemError) -> FileStatus? {
    do throws(SystemError) {
      return try FileSystem.status(name, in: directory, following: false)
    } catch {
      guard error.errno == Errno.noEntry else { throw error }
      return nil
    }
  }

  /// Opens a bundle that was listed; nil where it is torn, or gone.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` that names the file if it is whole and no bundle.
  func open(
    _ name: BundleName, cache: BundleCache, control: ExchangeControl
  ) throws(StoreError) -> BundleReader? {
    do throws(StoreError) {
      return try BundleReader.open(name, cache: cache, check: control.check) {
        () throws(StoreError) in try self.file(name)
      }
    } catch {
      switch error {
      case .unreachable:
        try folder.check()
        return nil
      case .system(let cause): throw folder.translated(cause)
      default: throw error
      }
    }
  }

  private func file(_ name: BundleName) throws(StoreError) -> File {
    let path = "\(directory)/\(name.text)"
    do throws(SystemError) {
      // Opening a device can do something; of what is none, opening a FIFO could wait.
      guard try FileSystem.status(path, following: false).kind == .regular else {
        throw SystemError(errno: Errno.noEntry, call: "open", subject: path)
      }
      let file = try File(path, [.read, .nonBlocking, .noFollow])
      guard try file.status().kind == .regular else {
        throw SystemError(errno: Errno.noEntry, call: "open", subject: path)
      }
      return file
    } catch {
      throw folder.translated(error)
    }
  }

  // MARK: Writing

  /// Makes the folder ready for bundles, and removes what a send that ended badly left behind.
  func prepare() throws(StoreError) {
    guard BundleName.isWriter(replica) else {
      throw .invalid("\(replica) is no name for a writer of bundles")
    }
    let isThere = try isThere()
    do throws(SystemError) {
      if !isThere {
        try FileSystem.makeDirectory(directory)
        try FileSystem.syncDirectory(folder.path)
      }
      try FileSystem.removeTree(outgoing)
      try FileSystem.makeDirectory(outgoing)
      // A file of this writer that is not what its name says: the versions in it are sent anew.
      let open = try File(directory, [.read, .directory])
      for text in try FileSystem.list(directory) {
        guard let name = BundleName(text), name.writer == replica,
          let status = try status(text, in: open), status.kind == .regular,
          status.size != name.length
        else { continue }
        try FileSystem.unlink("\(directory)/\(text)")
      }
    } catch {
      throw folder.translated(error)
    }
  }

  /// A new file that nobody sees before it is published.
  func create() throws(StoreError) -> File {
    do throws(SystemError) {
      return try File("\(outgoing)/bundle", [.readWrite, .create, .truncate])
    } catch {
      throw folder.translated(error)
    }
  }

  /// Writes bytes of a file that is not published yet.
  func write(
    _ bytes: UnsafeRawBufferPointer, to file: File, at offset: UInt64
  ) throws(StoreError) {
    do throws(SystemError) {
      try file.write(bytes, at: offset)
    } catch {
      throw folder.translated(error)
    }
  }

  /// Whether this store wrote a bundle.
  func isOwn(_ name: BundleName) -> Bool { name.writer == replica }

  /// Whether any of these bundles is not there as a file any more, though the folder is.
  func lacks(any names: [BundleName]) throws(StoreError) -> Bool {
    let (whole, torn) = try list()
    let there = Set(whole)
    return names.contains { !there.contains($0) && !torn.contains($0.text) }
  }

  /// Removes bundles of this writer's own; those that are gone already count as removed.
  func remove(_ names: [BundleName]) throws(StoreError) {
    for name in names where isOwn(name) {
      do throws(SystemError) {
        try FileSystem.unlink("\(directory)/\(name.text)")
      } catch {
        guard error.errno != Errno.noEntry else { continue }
        throw folder.translated(error)
      }
    }
  }

  /// Gives a written file its name, durably, and returns it.
  func publish(
    _ file: File, sequence: UInt64, length: UInt64, hash: Digest
  ) throws(StoreError) -> BundleName {
    let name = BundleName(writer: replica, sequence: sequence, length: length, hash: hash)
    do throws(SystemError) {
      try file.syncData()
      // Where the name is there already, the bytes are the same.
      try FileSystem.rename(file.path, to: "\(directory)/\(name.text)")
      try FileSystem.syncDirectory(directory)
    } catch {
      throw folder.translated(error)
    }
    return name
  }

  /// The sequence of the next bundle of this writer.
  func nextSequence(after names: [BundleName]) -> UInt64 {
    let last = names.filter { $0.writer == replica }.map(\.sequence).max()
    return last.map { BundleName.sequence(after: $0) } ?? 0
  }

  /// Forgets what was written and not published.
  func abandon() {
    // What cannot be removed is removed by the next send.
    try? FileSystem.removeTree(outgoing)
  }
}
