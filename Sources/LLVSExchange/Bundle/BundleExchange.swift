public import Foundation
public import LLVSCore

/// Exchanges a store's versions through a folder of bundles: many versions in one compressed file.
///
/// It carries the same versions with the same ids as ``FileSystemExchange``, much faster and in a
/// fraction of the files; programs written for the original do not read it. Nothing in the folder
/// is trusted, and no file in it is written again.
///
/// - Concurrency: callable from any thread; two exchanges of one store wait for each other when
///   they commit.
public final class BundleExchange: Exchange {
  /// The store.
  public let store: Store
  /// The reason why nothing can be exchanged; nil if it can.
  private let fault: StoreError?
  private let path: String

  /// The folder.
  public var rootDirectoryURL: URL { URL(fileURLWithPath: path, isDirectory: true) }

  /// Creates an exchange through a folder, which is made if it is missing. If the URL is not a file
  /// URL, every exchange throws ``StoreError/invalid(_:)``.
  ///
  /// - Parameters:
  ///   - rootDirectoryURL: the folder; its bundles are in `bundles`.
  ///   - store: the store.
  public convenience init(rootDirectoryURL: URL, store: Store) {
    // If it cannot be made, the first exchange reports that.
    try? FileManager.default.createDirectory(
      at: rootDirectoryURL, withIntermediateDirectories: true)
    self.init(
      folder: rootDirectoryURL.path, store: store, fault: rootDirectoryURL.directoryFault)
  }

  /// Creates an exchange through an existing folder: a missing one may be on a stick that is not
  /// plugged in.
  package convenience init(existingFolder path: String, store: Store) {
    self.init(folder: path, store: store, fault: nil)
  }

  private init(folder path: String, store: Store, fault: StoreError?) {
    self.path = path
    self.store = store
    self.fault = fault
  }

  private func layout(_ control: ExchangeControl) throws(StoreError) -> BundleRemote {
    if let fault { throw fault }
    return BundleRemote(
      store.directory(path, control.transfer), .init(place: path, isDirectory: true))
  }

  /// Stores the versions that are in bundles and not in the store, and returns the ids of all
  /// versions in bundles that had not been read before.
  ///
  /// Versions that break a rule are left out with their descendants.
  public func retrieve() async throws -> [Version.ID] {
    try await Threads.run { [self] control in try retrieve(control: control).remoteIDs }
  }

  /// Writes the versions that are in the store and in no bundle.
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
}
