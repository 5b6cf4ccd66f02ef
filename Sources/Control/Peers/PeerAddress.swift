package import Documents
package import Grammar
import LLVSCore
package import ObjectStores
import Platform

package enum PeerAddress: Hashable, Sendable {
  /// A place for objects, or another store.
  case remote(RemoteAddress)
  case document(DocumentAddress)

  /// Parses the text of a peer's file: one line with an address.
  /// - Throws: ``ControlError`` of kind `grammar` for anything else.
  package init(_ text: [UInt8]) throws(ControlError) {
    guard let text = String(validating: text, as: UTF8.self) else {
      throw ControlError(.grammar, "an address that is not UTF-8")
    }
    let lines = text.split(whereSeparator: \.isNewline)
      .map { String($0).trimmed }.filter { !$0.isEmpty }
    guard let line = lines.first else { throw ControlError(.grammar, "an address is missing") }
    guard lines.count == 1 else { throw ControlError(.grammar, "an address is one line") }
    if line.hasPrefix(DocumentAddress.scheme) {
      do throws(StoreError) {
        self = .document(try DocumentAddress(line))
      } catch {
        throw ControlError(error)
      }
      return
    }
    do throws(RemoteError) {
      self = .remote(try RemoteAddress(line))
    } catch {
      throw ControlError(.grammar, error.words)
    }
  }

  /// The name of the place while it is in use: the same for all spellings of a directory, and for all documents,
  /// because reading one document updates settings of all.
  var reservation: String {
    switch self {
    case .document: DocumentAddress.scheme
    case .remote(.directory(let path, _)): (try? FileSystem.resolve(path)) ?? path
    case .remote(let address): address.description
    }
  }

  /// The path of the directory, or of a document's directory; nil for other peers.
  package var directoryPath: String? {
    switch self {
    case .remote(.directory(let path, _)): path
    case .remote: nil
    case .document(let address): FileSystem.directory(of: address.path)
    }
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
