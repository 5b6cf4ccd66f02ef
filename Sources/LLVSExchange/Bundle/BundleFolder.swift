import LLVSCore
internal import Platform

/// A folder of bundles.
///
/// INVARIANT B1: a bundle appears under its name only when all its bytes are durable, and after the
///   bundles with the predecessors of its versions.
/// INVARIANT B2: a bundle of another writer is never changed or removed. One of this writer is
///   removed only if its bytes do not match its name, or after others that hold all its versions
///   are in place and were read again.
/// INVARIANT B3: only regular files are opened, and in a way that cannot block.
///
/// - Concurrency: reading from any thread, writing from one at a time.
final class BundleFolder: Sendable {
  private let folder: PeerFolder
  private let directory: String
  private let outgoing: String
  private let replica: String

  /// Creates a folder, which must exist; `replica` is this store's name as a writer.
  init(path: String, replica: String) {
    folder = PeerFolder(path: path)
    self.replica = replica
    directory = "\(path)/\(BundleFormat.directory)"
    outgoing = "\(path)/.llvs-outgoing-\(replica)"
  }

  // MARK: Reading

  /// Returns the names of the bundles that have the length in their name, by writer and in the
  /// order of writing, and the names of those that have another length. Files with other names are
  /// not bundles.
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

  /// Returns true if the folder has a directory of bundles; throws if that is a link.
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

  /// Returns the metadata of a name; nil if it is gone.
  private func status(_ name: String, in directory: File) throws(SystemError) -> FileStatus? {
    do throws(SystemError) {
      return try FileSystem.status(name, in: directory, following: false)
    } catch {
      guard error.errno == Errno.noEntry else { throw error }
      return nil
    }
  }

  /// Opens a bundle that was listed; nil if it is torn or gone.
  ///
  /// - Throws: ``StoreError/invalid(_:)``, with the file's name, if it is whole and not a bundle.
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
      // Opening a device may have an effect, and opening a FIFO may wait.
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

  /// Prepares the folder for bundles, and removes the remains of a send that failed.
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
      // A file of this writer that does not have the length in its name: its versions are sent
      // anew.
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

  /// Creates a file that no reader sees before it is published.
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

  /// Returns true if this store wrote a bundle.
  func isOwn(_ name: BundleName) -> Bool { name.writer == replica }

  /// Returns true if one of these bundles is gone although the folder is there.
  func lacks(any names: [BundleName]) throws(StoreError) -> Bool {
    let (whole, torn) = try list()
    let there = Set(whole)
    return names.contains { !there.contains($0) && !torn.contains($0.text) }
  }

  /// Removes bundles of this writer; those that are gone already count as removed.
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

  /// Publishes a written file under its name, durably, and returns the name.
  func publish(
    _ file: File, sequence: UInt64, length: UInt64, hash: Digest
  ) throws(StoreError) -> BundleName {
    let name = BundleName(writer: replica, sequence: sequence, length: length, hash: hash)
    do throws(SystemError) {
      try file.syncData()
      // If the name exists already, its bytes are the same.
      try FileSystem.rename(file.path, to: "\(directory)/\(name.text)")
      try FileSystem.syncDirectory(directory)
    } catch {
      throw folder.translated(error)
    }
    return name
  }

  /// Returns the sequence number of this writer's next bundle.
  func nextSequence(after names: [BundleName]) -> UInt64 {
    let last = names.filter { $0.writer == replica }.map(\.sequence).max()
    return last.map { BundleName.sequence(after: $0) } ?? 0
  }

  /// Removes what was written and not published.
  func abandon() {
    // What cannot be removed now is removed by the next send.
    try? FileSystem.removeTree(outgoing)
  }
}
