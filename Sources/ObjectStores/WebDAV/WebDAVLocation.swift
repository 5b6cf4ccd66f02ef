/// A folder on a WebDAV server.
package struct WebDAVLocation: Hashable, Sendable {
  package var isEncrypted = true
  package var host: String
  package var port: UInt16?
  /// Decoded, without slashes at its ends.
  package var path = ""

  var origin: String {
    "\(isEncrypted ? "https" : "http")://\(host)" + (port.map { ":\($0)" } ?? "")
  }
}
