/// The location of a folder on a WebDAV server.
package struct WebDAVLocation: Hashable, Sendable {
  /// True if the connection uses TLS.
  package var isEncrypted = true
  package var host: String
  /// Nil for the scheme's own.
  package var port: UInt16?
  /// Decoded, without slashes at its ends; empty for the top.
  package var path: String

  /// Creates one.
  package init(isEncrypted: Bool = true, host: String, port: UInt16? = nil, path: String = "") {
    self.isEncrypted = isEncrypted
    self.host = host
    self.port = port
    self.path = path
  }

  var origin: String {
    "\(isEncrypted ? "https" : "http")://\(host)" + (port.map { ":\($0)" } ?? "")
  }
}
