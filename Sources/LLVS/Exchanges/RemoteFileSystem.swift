public import Foundation
internal import LLVSExchange
internal import ObjectStores
internal import Synchronization

/// The original's name for the folder of a WebDAV server.
public typealias WebDAVFileSystem = RemoteFileSystem

/// A peer's remote as a cloud file system: a directory, S3, WebDAV, or a remote of rclone.
public final class RemoteFileSystem: CloudFileSystem {
  public let address: String
  private let place: Result<RemoteAddress, RemoteError>
  private let credentials: CredentialSources
  // Held while a folder is made; else a leaf lock.
  private let prepared = Mutex<Set<String>>([])
  private static let longest = 1 << 31

  /// Prepares to use a remote, without a request.
  ///
  /// Addresses are `/path`, `s3://BUCKET/PREFIX`, `https+webdav://HOST/PATH` and `rclone:REMOTE:PATH`.
  /// Credentials are found by the name.
  /// - Throws: ``Store/Error/invalid(_:)`` for what is no address.
  public init(address: String, credentialsNamed name: String = "llvs") throws {
    do throws(RemoteError) {
      let place = try RemoteAddress(address)
      self.address = "\(place)"
      self.place = .success(place)
    } catch {
      throw Store.Error.invalid(error.words)
    }
    credentials = CredentialSources(peer: name, secrets: nil)
  }

  /// Prepares to use the folder of a WebDAV server, without a request. The first use reports an unusable URL.
  ///
  /// Over `http` the password is sent unencrypted. Without credentials those of ``init(address:credentialsNamed:)``
  /// count.
  public init(baseURL: URL, username: String? = nil, password: String? = nil) {
    address = baseURL.absoluteString.replacing("://", with: "+webdav://", maxReplacements: 1)
    let text = address
    place = Result { () throws(RemoteError) in
      guard case .webDAV(var found) = try RemoteAddress(text) else {
        throw RemoteError(.invalid, "\(text) is not the address of a WebDAV server")
      }
      found.isInsecure = !found.place.isEncrypted
      return .webDAV(found)
    }
    var credentials = CredentialSources(peer: "llvs", secrets: nil)
    if let username, let password {
      credentials.given = RemoteCredentials(user: username, password: password)
    }
    self.credentials = credentials
  }

  /// Calls the body with the open remote; a place that does not exist has no files to read.
  private func run<Result: Sendable>(
    isWriting: Bool = false,
    _ body: @escaping @Sendable (any ObjectStore) throws(RemoteError) -> Result
  ) async throws -> Result {
    try await Threads.run { [self] _ in
      do throws(RemoteError) {
        let connector = RemoteConnector(
          try place.get(), credentials: credentials, control: TransferControl(),
          scratch: ".llvs-outgoing-\(UUID().uuidString)")
        return try body(try connector.open())
      } catch {
        if !isWriting, error.kind == .noPlace, error.status == nil {
          throw CloudFileSystemError.fileNotFound
        }
        throw Self.translated(error)
      }
    }
  }

  private static func translated(_ error: RemoteError) -> any Error {
    switch error.kind {
    case .absent: CloudFileSystemError.fileNotFound
    case .denied: CloudFileSystemError.authenticationFailed
    case .cancelled: CancellationError()
    case .noSpace, .tooLarge: Store.Error.noSpace(error.words)
    case .stalled: Store.Error.timedOut(error.words)
    case .invalid, .unsupported, .mismatched, .exists: Store.Error.invalid(error.words)
    case .malformed: Store.Error.corrupt(error.words)
    case .local(let cause): Store.Error.system("\(cause)")
    case .unreachable, .noPlace:
      error.status.map { CloudFileSystemError.serverError(statusCode: $0) }
        ?? Store.Error.unreachable(error.words)
    }
  }

  private static func name(of path: String) throws -> ObjectName {
    let parts = path.split(separator: "/")
    guard let name = ObjectName(parts.joined(separator: "/")) else {
      throw Store.Error.invalid("\(path) cannot be the name of a file of a remote")
    }
    return name
  }

  private static func list(
    _ folder: String, in store: any ObjectStore
  ) throws(RemoteError) -> [ListedObject] {
    guard let prefix = ObjectPrefix(folder: folder) else {
      throw RemoteError(.invalid, "\(folder) cannot be the name of a folder of a remote")
    }
    return try store.all(prefix)
  }

  private static func folder(of path: String) -> String {
    path.split(separator: "/").joined(separator: "/")
  }

  public func fileExists(at path: String) async throws -> Bool {
    let name = try Self.name(of: path)
    do {
      return try await run { (store) throws(RemoteError) in
        try Self.list(name.folder, in: store).contains { $0.name == name }
      }
    } catch CloudFileSystemError.fileNotFound {
      return false
    }
  }

  public func contentsOfDirectory(at path: String) async throws -> [String] {
    let folder = Self.folder(of: path)
    return try await run { (store) throws(RemoteError) in
      try Self.list(folder, in: store).map(\.name.last)
    }
  }

  public func upload(data: Data, to path: String) async throws {
    let name = try Self.name(of: path)
    let bytes = [UInt8](data)
    try await run(isWriting: true) { [self] (store) throws(RemoteError) in
      if !prepared.withLock({ $0.contains(name.folder) }) {
        try store.prepare([name.folder])
        _ = prepared.withLock { $0.insert(name.folder) }
      }
      try store.put(name, ObjectBody(bytes))
    }
  }

  public func download(from path: String) async throws -> Data {
    let name = try Self.name(of: path)
    return try await run { (store) throws(RemoteError) in
      Data(try store.bytes(of: name, atMost: Self.longest))
    }
  }

  public func remove(at path: String) async throws {
    let name = try Self.name(of: path)
    do {
      try await run { (store) throws(RemoteError) in try store.delete(name) }
    } catch CloudFileSystemError.fileNotFound {}
  }

  public func removeDirectory(at path: String) async throws {
    let folder = Self.folder(of: path)
    do {
      try await run { (store) throws(RemoteError) in
        for object in try Self.list(folder, in: store) { try store.delete(object.name) }
      }
    } catch CloudFileSystemError.fileNotFound {}
  }
}
