package import LLVSCore

/// The place of a document and the directory whose files are its values, as `kvcrdt:/PATH#DIRECTORY`.
package struct DocumentAddress: Hashable, Sendable {
  package static let scheme = "kvcrdt:"
  package var path: String
  package var directory: DocumentDirectory

  package init(path: String, directory: DocumentDirectory) {
    self.path = path
    self.directory = directory
  }

  /// Reads an address: the directory is after the last `#`; without one it is the whole tree.
  package init(_ text: String) throws(StoreError) {
    guard text.hasPrefix(Self.scheme) else {
      throw .invalid("\"\(text)\" is not an address of a document: kvcrdt:/PATH#DIRECTORY")
    }
    let place = text.dropFirst(Self.scheme.count)
    let hash = place.lastIndex(of: "#")
    path = String(hash.map { place[..<$0] } ?? place)
    let name = hash.map { String(place[place.index(after: $0)...]) } ?? ""
    guard path.hasPrefix("/"), !path.hasSuffix("/") else {
      throw .invalid("\"\(text)\": the path of a document is absolute and names a file")
    }
    directory = try Self.directory(name)
  }

  /// Reads the path of a directory; slashes at its ends are ignored.
  package static func directory(_ name: String) throws(StoreError) -> DocumentDirectory {
    var path = Substring(name)
    while path.hasPrefix("/") { path.removeFirst() }
    while path.hasSuffix("/") { path.removeLast() }
    if path == "." { path = "" }
    guard !path.isEmpty else { return DocumentDirectory(path: []) }
    for part in path.split(separator: "/", omittingEmptySubsequences: false)
    where part.isEmpty || part == "." || part == ".." || part == ".llvs" || part.utf8.contains(0) {
      throw .invalid("\"\(name)\" is not a directory of the tree")
    }
    return DocumentDirectory(path: Array(path.utf8))
  }

  package var name: String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }
}
