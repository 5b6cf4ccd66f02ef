package import Platform

/// Something that a remote, or the way to it, did not do.
package struct RemoteError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error, which decides what to do about it.
  package enum Kind: Hashable, Sendable {
    /// No answer, an answer that says the server cannot now, or one that cannot be trusted (TLS).
    case unreachable
    /// The connection is there and no byte came for too long.
    case stalled
    /// The credentials are wrong, or do not allow the request.
    case denied
    /// There is no such object.
    case absent
    /// The bucket or directory that the address names is not there.
    case noPlace
    /// Something is under the name already.
    case exists
    /// The remote is full, a quota is used up, or the object is too large for it.
    case noSpace
    /// The remote refuses the address, a name or a parameter.
    case invalid
    /// The remote has no such ability.
    case unsupported
    /// The bytes to be put are not of the length or hash that was said.
    case mismatched
    /// The answer makes no sense.
    case malformed
    /// It was told to stop.
    case cancelled
    /// A call of this machine failed.
    case local(SystemError)
  }

  package let kind: Kind
  /// A sentence about the failure and, if known, about what to do.
  package let words: String
  /// The object or folder it was about; empty for the place that the address names.
  package var object: String?
  /// The answer's status, where HTTP is spoken.
  package var status: Int?
  /// True if the same request may succeed a little later.
  package var isTransient: Bool
  /// The time that the server asks to wait before the next request, in nanoseconds.
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

  /// A failed call of this machine.
  package init(_ error: SystemError, object: String? = nil) {
    self.init(.local(error), "\(error)", object: object)
  }

  /// Told to stop.
  package static let cancelled = RemoteError(.cancelled, "it was told to stop")

  /// The same, about an object.
  package func about(_ object: String) -> RemoteError {
    var copy = self
    copy.object = self.object ?? object
    return copy
  }

  /// The object, the status and the words.
  package var description: String {
    let start = object.map { $0.isEmpty ? "" : "\($0): " } ?? ""
    let end = status.map { " (status \($0))" } ?? ""
    return start + words + end
  }
}
