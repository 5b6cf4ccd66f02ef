public import Foundation
public import LLVSCore

/// Exchanges a store's versions through a folder in the original's format: `versions/ID` holds what a
/// version is, `changes/ID` what it changed.
///
/// The folder may be on a stick, a share, or in a directory that another program synchronises. Nothing
/// in it is trusted, and nothing that is there is written again.
///
/// - Concurrency: callable from any thread; two exchanges of one store wait for each other where they
///   commit.
public final class FileSystemExchange: Exchange {
  /// The store.
  public let store: Store
  private let folder: String
  /// Why nothing can be exchanged.
  private let fault: StoreError?

  /// The folder.
  public var rootDirectoryURL: URL { URL(fileURLWithPath: folder, isDirectory: true) }

  /// Creates an exchange through a folder, which is made if it is not there. With a URL that is no file's
  /// every exchange throws ``StoreError/invalid(_:)``.
  ///
  /// - Parameters:
  ///   - rootDirectoryURL: the folder.
  ///   - store: the store.
  ///   - usesFileCoordination: without effect here; other systems ask before they read and write.
  public init(rootDirectoryURL: URL, store: Store, usesFileCoordination: Bool = false) {
    folder = rootDirectoryURL.path
    fault = rootDirectoryURL.directoryFault
    self.store = store
    // Where it cannot be made, the first exchange says so.
    try? FileManager.default.createDirectory(
      at: rootDirectoryURL, withIntermediateDirectories: true)
  }

  /// Creates an exchange through a folder that has to be there: an absent one is a stick not plugged in.
  package init(existingFolder path: String, store: Store) {
    folder = path
    fault = nil
    self.store = store
  }

  /// Takes in the versions that are there and not here.
  ///
  /// Versions that break a rule are left out with their descendants.
  public func retrieve() async throws -> [Version.ID] {
    try await ExchangeThread.run { [self] control in try retrieve(control: control).remoteIDs }
  }

  /// Writes the versions that are here and not there.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` where some could not be written because something is damaged, when
  ///   all others are there; else as ``Exchange/send()``.
  public func send() async throws -> [Version.ID] {
    try await ExchangeThread.run { [self] control in try send(control: control).allSent() }
  }

  /// Takes in what is there, and tells what came, what was refused and why.
  package func retrieve(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    let remote = try remote(control)
    return try store.retrieve(from: remote, control: control)
  }

  /// Tells what is there, and takes nothing.
  package func outline(control: ExchangeControl) throws(StoreError) -> PlaceOutline {
    let remote = try remote(control)
    return try store.outline(of: remote, control: control)
  }

  /// Reads everything that is there into a store that holds nothing else.
  package func readAll(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    let remote = try remote(control)
    return try store.readAll(of: remote, control: control)
  }

  /// Writes what is missing there.
  package func send(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    let remote = try remote(control)
    return try store.send(to: remote, control: control)
  }

  private func remote(_ control: ExchangeControl) throws(StoreError) -> FolderRemote {
    if let fault { throw fault }
    return FolderRemote(path: folder, replica: store.replicaID, control: control)
  }
}
