package import Documents
package import Grammar
import LLVSCore
import Platform

/// The address of a peer, as users write it.
package enum PeerAddress: Hashable, Sendable {
  /// A directory: a folder in the format of the original LLVS, or another store.
  case directory(String)
  /// A folder of bundles.
  case bundles(String)
  /// A KeyValueCRDT document.
  case document(DocumentAddress)

  /// The directory's path; for a document that of the directory it is in.
  package var path: String {
    switch self {
    case .directory(let path), .bundles(let path): path
    case .document(let address): FileSystem.directory(of: address.path)
    }
  }

  private static let planned = [
    "http", "https", "webdav", "webdavs", "s3", "ssh", "sftp", "rclone",
  ]

  /// Parses the text of a peer's file: one line with an absolute path or a `file://` address, with
  /// `bundle+` before it for a folder of bundles.
  ///
  /// - Throws: ``ControlError`` of kind `grammar` for anything else.
  package init(_ text: [UInt8]) throws(ControlError) {
    guard let text = String(validating: text, as: UTF8.self) else {
      throw ControlError(.grammar, "an address that is not UTF-8")
    }
    let lines = text.split(whereSeparator: \.isNewline)
      .map { String($0).trimmed }.filter { !$0.isEmpty }
    guard let line = lines.first else { throw ControlError(.grammar, "an address is missing") }
    guard lines.count == 1 else { throw ControlError(.grammar, "an address is one line") }
    guard line.utf8.count <= 4096, !line.utf8.contains(where: { $0 < 0x20 }) else {
      throw ControlError(.grammar, "an address that is too long or has control characters")
    }
    if line.hasPrefix(DocumentAddress.scheme) {
      do throws(StoreError) {
        self = .document(try DocumentAddress(line))
      } catch {
        throw ControlError(error)
      }
      return
    }
    let isBundles = line.hasPrefix("bundle+")
    let place = isBundles ? String(line.dropFirst(7)) : line
    let path = place.hasPrefix("file:///") ? String(place.dropFirst(7)) : place
    if path.hasPrefix("/") {
      guard path.utf8.contains(where: { $0 != UInt8(ascii: "/") }) else {
        throw ControlError(.grammar, "the top of all directories is no peer's")
      }
      self = isBundles ? .bundles(path) : .directory(path)
      return
    }
    let scheme = line.prefix { $0 != ":" }
    let kind = scheme.split(separator: "+").last.map { $0.lowercased() } ?? ""
    if scheme.count < line.count, Self.planned.contains(kind) {
      throw ControlError(.unsupported, "\(kind) addresses are not supported yet")
    }
    throw ControlError(
      .grammar,
      "\"\(line)\" is no address: an absolute path of a directory, or kvcrdt:/PATH#DIRECTORY")
  }
}

extension String {
  fileprivate var trimmed: String {
    var text = Substring(self)
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
