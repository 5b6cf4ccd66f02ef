/// The address of a remote, as users write it.
///
/// ```
/// /path   file:///path   bundle+/path   plain+/path
/// s3://BUCKET/PREFIX
/// s3+https://HOST[:PORT]/BUCKET/PREFIX     s3+http://…
/// https+webdav://HOST[:PORT]/PATH          http+webdav://…
/// rclone:REMOTE:PATH
/// ```
/// All spellings of a place are printed in one form, without secrets.
package enum RemoteAddress: Hashable, Sendable {
  /// A directory, or another store.
  case directory(path: String, form: DirectoryForm)
  case s3(S3Address)
  case webDAV(WebDAVAddress)
  /// A remote of rclone's own configuration and a path there, with a colon between them.
  case rclone(String)
}

/// The prefix of a directory's address: the form that the directory has in addition to those found there.
package enum DirectoryForm: String, Hashable, Sendable {
  /// Bundles, unless the directory has another form.
  case any = ""
  case bundles = "bundle+"
  /// The files of the original.
  case files = "plain+"

  /// The prefix of an address, and the rest of it.
  package static func split(_ text: String) -> (form: DirectoryForm, rest: String) {
    let form = [.bundles, .files].first { text.hasPrefix($0.rawValue) } ?? DirectoryForm.any
    return (form, String(text.dropFirst(form.rawValue.count)))
  }
}

package struct S3Address: Hashable, Sendable {
  package var place: S3Location
  /// Nil for the environment's or the profile's region.
  package var region: String?
  /// The part of `~/.aws` with the keys; nil for the usual one.
  package var profile: String?
  /// A file of certificates that replace the system's.
  package var certificates: String?
  package init(_ place: S3Location) { self.place = place }
}

package struct WebDAVAddress: Hashable, Sendable {
  package var place: WebDAVLocation
  /// A file of certificates that replace the system's.
  package var certificates: String?
  /// True if a password may be sent over an unencrypted connection.
  package var isInsecure = false
  package init(_ place: WebDAVLocation) { self.place = place }
}

extension RemoteAddress: CustomStringConvertible {
  package var description: String {
    switch self {
    case .directory(let path, let form): return form.rawValue + path
    case .rclone(let place): return "rclone:" + place
    case .s3(let address):
      let place = address.place
      let path = place.prefix.isEmpty ? place.bucket : "\(place.bucket)/\(place.prefix)"
      let start =
        place.host.map { host in
          "s3+\(place.scheme)://" + host + (place.port.map { ":\($0)" } ?? "") + "/"
        } ?? "s3://"
      return start + PercentCoding.encode(path, keepingSlashes: true)
        + Self.query([
          ("region", address.region), ("profile", address.profile), ("ca", address.certificates),
        ])
    case .webDAV(let address):
      let place = address.place
      let start = (place.isEncrypted ? "https" : "http") + "+webdav://" + place.host
      return start + (place.port.map { ":\($0)" } ?? "") + "/"
        + PercentCoding.encode(place.path, keepingSlashes: true)
        + Self.query([
          ("ca", address.certificates), ("insecure", address.isInsecure ? "1" : nil),
        ])
    }
  }

  private static func query(_ values: [(String, String?)]) -> String {
    let pairs = values.compactMap { name, value in
      value.map { "\(name)=\(PercentCoding.encode($0, keepingSlashes: true))" }
    }
    return pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
  }
}
