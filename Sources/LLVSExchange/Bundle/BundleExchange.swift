public import Foundation
public import LLVSCore

/// Exchanges a store's versions through a folder of bundles: many versions in one compressed file.
///
/// It carries the same versions with the same ids as ``FileSystemExchange``, much faster and in a fraction
/// of the files; programs written for the original do not read it. Nothing in the folder is trusted, and
/// nothing that is there is written again.
///
/// - Concurrency: callable from any thread; two exchanges of one store wait for each other where they
///   commit.
public final class BundleExchange: Exchange {
  /// The store.
  public let store: Store
  private let bundles: BundleFolder
  /// Why nothing can be exchanged.
  private let fault: StoreError?
  private let path: String

  /// The folder.
  public var rootDirectoryURL: URL { URL(fileURLWithPath: path, isDirectory: true) }

  /// Creates an exchange through a folder, which is made if it is not there. With a URL that is no file's
  /// every exchange throws ``StoreError/invalid(_:)``.
  ///
  /// - Parameters:
  ///   - rootDirectoryURL: the folder; bundles are in `bundles` in it.
  ///   - store: the store.
  public convenience init(rootDirectoryURL: URL, store: Store) {
    // Where it cannot be made, the first exchange says so.
    try? FileManager.default.createDirectory(
      at: rootDirectoryURL, withIntermediateDirectories: true)
    self.init(
      folder: rootDirectoryURL.path, store: store, fault: rootDirectoryURL.directoryFault)
  }

  /// Creates an exchange through a folder that has to be there: an absent one is a stick not plugged in.
  package convenience init(existingFolder path: String, store: Store) {
    self.init(folder: path, store: store, fault: nil)
  }

  private init(folder path: String, store: Store, fault: StoreError?) {
    self.path = path
    self.store = store
    self.fault = fault
    bundles = BundleFolder(path: path, replica: store.replicaID)
  }

  private func folder() throws(StoreError) -> BundleFolder {
    if let fault { throw fault }
    return bundles
  }

  /// Takes in the versions that are in bundles and not here, and returns the ids of those in bundles that
  /// had not been read before.
  ///
  /// Versions that break a rule are left out with their descendants.
  public func retrieve() async throws -> [Version.ID] {
    try await ExchangeThread.run { [self] control in try retrieve(control: control).remoteIDs }
  }

  /// Writes the versions that are here and in no bundle there.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` where some could not be written because something is damaged, when
  ///   all others are there; else as ``Exchange/send()``.
  public func send() async throws -> [Version.ID] {
    try await ExchangeThread.run { [self] control in try send(control: control).allSent() }
  }

  /// Takes in what is there, and tells what came, what was refused and why.
  package func retrieve(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try store.retrieve(from: folder(), control: control)
  }

  /// Tells what is there, and takes nothing.
  package func outline(control: ExchangeControl) throws(StoreError) -> PlaceOutline {
    try store.outline(of: folder(), control: control)
  }

  /// Reads everything that is there into a store that holds nothing else.
  package func readAll(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try store.readAll(of: folder(), control: control)
  }

  /// Writes what is missing there.
  package func send(control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try store.send(to: folder(), control: control)
  }
}
