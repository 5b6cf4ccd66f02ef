package import Platform

package struct RemoteError: Error, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    /// No answer, a temporary failure of the server, or an answer that cannot be trusted (TLS).
    case unreachable
    /// A connection exists, but no byte came for too long.
    case stalled
    /// The credentials are wrong, or do not allow the request.
    case denied
    case absent
    /// The bucket or directory of the address does not exist.
    case noPlace
    case exists
    /// The remote is full, or a quota is used up.
    case noSpace
    /// The remote takes no object of this length.
    case tooLarge
    /// The remote refuses the address, a name or a parameter.
    case invalid
    case unsupported
    /// The bytes of a put do not have the expected length or hash.
    case mismatched
    case malformed
    case cancelled
    /// A call of this machine failed.
    case local(SystemError)
  }

  package let kind: Kind
  /// A sentence about the failure and, if known, about the remedy.
  package let words: String
  /// The object or folder; empty for the place of the address.
  package var object: String?
  package var status: Int?
  /// True if the same request may succeed later.
  package var isTransient: Bool
  /// The wait that the server demands, in nanoseconds.
  package var retryAfter: UInt64?

  package init(
    _ kind: Kind, _ words: String, object: String? = nil, status: Int? = nil,
    isTransient: Bool = false, retryAfter: UInt64? = nil
  ) {
    self.kind = kind
    self.words = words
    self.object = object
    self.status = status
    self.isTransient = isTransient
    self.retryAfter = retryAfter
  }

  static func wrapping<Result>(
    _ body: () throws(SystemError) -> Result
  ) throws(RemoteError) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw RemoteError(error)
    }
  }

  static func wrapping<Result>(
    _ body: @autoclosure () throws(SystemError) -> Result
  ) throws(RemoteError) -> Result { try wrapping(body) }

  package init(_ error: SystemError, object: String? = nil) {
    self.init(.local(error), "\(error)", object: object)
  }

  package static let cancelled = RemoteError(.cancelled, "it was cancelled")

  package func about(_ object: String) -> RemoteError {
    var copy = self
    copy.object = self.object ?? object
    return copy
  }

  package var description: String {
    if kind == .noPlace { return words }
    let start = object.map { $0.isEmpty ? "" : "\($0): " } ?? ""
    let end = status.map { " (status \($0))" } ?? ""
    return start + words + end
  }
}
