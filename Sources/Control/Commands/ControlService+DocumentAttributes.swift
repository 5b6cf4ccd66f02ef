import Documents
package import Inodes
import LLVSCore
package import TreeNames
import WorkingTree

private enum DocumentAttribute: String {
  case type, scope, dots
  case key = "scopedkey"
  private static let prefix = Array("user.llvs.".utf8)

  init?(_ name: [UInt8]) {
    guard name.starts(with: Self.prefix) else { return nil }
    self.init(rawValue: String(decoding: name.dropFirst(Self.prefix.count), as: UTF8.self))
  }
}

extension ControlService {
  /// Longer files are not read for their type.
  private static let longestTyped: UInt64 = 64 << 20

  /// Returns an extended attribute that describes a file as a value in the documents of its directory:
  /// `user.llvs.type`, `.scope`, `.scopedkey` and `.dots`, the last as in the head; nil for another name.
  /// - Throws: ``FSError/noData`` for a file that is no value of a document.
  /// - Complexity: O(the file's bytes) for the type of a file that may be a text.
  package func documentAttribute(
    _ name: [UInt8], of number: InodeNumber
  ) throws(FSError) -> [UInt8]? {
    guard let attribute = DocumentAttribute(name) else { return nil }
    guard try tree.files.status(of: number).kind == .regular else { throw .noData }
    let key = Key(bytes: try tree.files.getxattr(number, Array("user.llvs.key".utf8)))
    let head: VersionNumber?
    let directory: DocumentDirectory?
    do throws(StoreError) {
      head = try store.state().head
      directory = try documentDirectories(at: head).first { $0.contains(key) }
    } catch {
      throw .store(error)
    }
    guard let directory, let value = directory.name(of: key) else { throw .noData }
    switch attribute {
    case .scope: return value.scope
    case .key: return value.key
    case .type: return Array(try documentType(of: number).word.utf8)
    case .dots:
      guard let head else { throw .noData }
      let lines = try FSError.wrapping { () throws(StoreError) in
        let state = try store.documents.state(of: directory, at: head)
        return (state.keys[key]?.live ?? []).map { "\($0.dot.author) \($0.dot.usn)" }
      }
      guard !lines.isEmpty else { throw .noData }
      return Array(lines.joined(separator: "\n").utf8)
    }
  }

  /// The directories of document peers, and of imported documents.
  private func documentDirectories(
    at head: VersionNumber?
  ) throws(StoreError) -> Set<DocumentDirectory> {
    var directories =
      try head.map { head throws(StoreError) in try store.documents.directories(at: head) } ?? []
    for peer in try store.peers() {
      guard case .document(let address)? = try? PeerAddress(peer.address) else { continue }
      directories.insert(address.directory)
    }
    return directories
  }

  private func documentType(of number: InodeNumber) throws(FSError) -> DocumentType {
    var attributes = Attributes()
    for name in [DocumentType.attribute, DocumentType.mediaAttribute] {
      do throws(FSError) {
        attributes.extended.append(
          Attributes.Extended(name: name, value: try tree.files.getxattr(number, name)))
      } catch {
        guard case .noData = error else { throw error }
      }
    }
    // For most blobs the type does not depend on the bytes.
    if DocumentType.type(of: [], attributes) == .blob { return .blob }
    let length = try tree.files.status(of: number).size
    guard length <= Self.longestTyped else { throw .fileTooBig }
    let bytes = try [UInt8](count: Int(length)) { (out) throws(FSError) in
      try tree.files.read(number, at: 0, into: out, accessing: false)
    }
    return DocumentType.type(of: bytes, attributes)
  }
}
