import LLVSCore
import LLVSExchange
import Testing

/// The two forms in which a folder holds versions.
enum FolderFormat: CaseIterable, CustomTestStringConvertible {
  case files, bundles

  var testDescription: String { self == .files ? "files" : "bundles" }

  func retrieve(
    into store: Store, _ folder: String, _ control: ExchangeControl = .init()
  ) throws -> ExchangeReport {
    switch self {
    case .files:
      try FileSystemExchange(existingFolder: folder, store: store).retrieve(control: control)
    case .bundles:
      try BundleExchange(existingFolder: folder, store: store).retrieve(control: control)
    }
  }

  func send(
    _ store: Store, _ folder: String, _ control: ExchangeControl = .init()
  ) throws -> ExchangeReport {
    switch self {
    case .files:
      try FileSystemExchange(existingFolder: folder, store: store).send(control: control)
    case .bundles:
      try BundleExchange(existingFolder: folder, store: store).send(control: control)
    }
  }
}
