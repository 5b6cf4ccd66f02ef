public import Foundation
public import LLVSCore

/// Exchanges a store's versions through a folder in the original's format: `versions/ID` describes
/// a version, `changes/ID` lists its changes.
///
/// The folder may be on a stick, on a share, or in a directory that another program synchronises.
/// Nothing in it is trusted, and no file in it is written again.
///
/// - Concurrency: callable from any thread; two exchanges of one store wait for each other when
///   they commit.
public final class FileSystemExchange: Exchange {
  /// The store.
  public let store: Store
  private let folder: String
  /// The reason why nothing can be exchanged; nil if it can.
  private let fault: StoreError?

  /// The folder.
  public var rootDirectoryURL: URL { URL(fileURLWithPath: folder, isDirectory: true) }

  /// Creates an exchange through a folder, which is made if it is missing. If the URL is not a file
  /// URL, every exchange throws ``StoreError/invalid(_:)``.
  ///
  /// - Parameters:
  ///   - rootDirectoryURL: the folder.
  ///   - store: the store.
  ///   - usesFileCoordination: has no effect here; other systems ask before they read and write.
  public init(rootDirectoryURL: URL, store: Store, usesFileCoordination: Bool = false) {
    folder = rootDirectoryURL.path
    fault = rootDirectoryURL.directoryFault
    self.store = store
    // If it cannot be made, the first exchange reports that.
    try? FileManager.default.createDirectory(
      at: rootDirectoryURL, withIntermediateDirectories: true)
  }

  /// Creates an exchange through an existing folder: a missing one may be on a stick that is not
  /// plugged in.
  package init(existingFolder path: String, store: Store) {
    folder = path
    fault = nil
    self.store = store
  }

  /// Stores the versions that the folder has and the store lacks.
  ///
  /// Versions that break a rule are left out with their descendants.
  public func retrieve() async throws -> [Version.ID] {
    try await Threads.run { [self] control in try retrieve(control: control).remoteIDs }
  }

  /// Writes the versions that the store has and the folder lacks.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` if some could not be written because something in the
  ///   store is damaged; all others are written then. Otherwise as ``Exchange/send()``.
  public func send() async throws -> [Version.ID] {
    try await Threads.run { [self] control in try send(control: control).allSent() }
  }

  /// Retrieves, and reports which versions are new and which were refused, with the reasons.
  package func retrieve(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try layout(control).retrieve(into: store, control)
  }

  /// Returns an outline of the folder's versions; stores nothing.
  package func outline(control: ExchangeControl) throws(StoreError) -> PlaceOutline {
    try layout(control).outline(for: store, control)
  }

  /// Reads everything in the folder into an empty store.
  package func readAll(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try layout(control).verify(into: store, control)
  }

  /// Writes the versions that the folder lacks.
  package func send(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try layout(control).send(from: store, control)
  }

  private func layout(_ control: ExchangeControl) throws(StoreError) -> FileLayout {
    if let fault { throw fault }
    let transfer = control.transfer
    return FileLayout(store.directory(folder, transfer), transfer: transfer)
  }
}
