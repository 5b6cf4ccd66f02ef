package import LLVSCore
import Platform
package import TreeNames

extension ControlError {
  package init(_ error: StoreError) {
    let (kind, message) = Self.meaning(of: error)
    self.init(kind, message)
  }

  package init(any error: any Error) {
    switch error {
    case let error as ControlError: self = error
    case let error as StoreError: self.init(error)
    case let error as FSError: self.init(StoreError(error))
    case let error as SystemError: self.init(.system(error))
    default: self.init(.damaged, "\(error)")
    }
  }

  private static func meaning(of error: StoreError) -> (Kind, String) {
    switch error {
    case .missingVersion(let id): (.notFound, "no version \(id.rawValue)")
    case .noCommonAncestor(let a, let b):
      (
        .unrelated,
        "\(a.rawValue) and \(b.rawValue) have no common ancestor; "
          + "\"merge VERSION unrelated\" merges them all the same"
      )
    case .unresolvedConflict(let key): (.busy, "the conflict at \(key.rawValue) is undecided")
    case .attemptToAddExistingVersion(let id): (.exists, "version \(id.rawValue) is there already")
    case .attemptToAddVersionWithNonexistingPredecessors(let id):
      (.notFound, "a predecessor of version \(id.rawValue) is not there")
    case .corrupt(let what), .rebuildable(let what): (.damaged, what)
    case .forgotten(let what): (.forgotten, what)
    case .malformed(let what): (.malformed, what)
    case .fromTheFuture(let what), .unreliable(let what), .denied(let what):
      (.notPermitted, what)
    case .busy(let what): (.busy, what)
    case .invalid(let what): (.grammar, what)
    case .notFound(let what): (.notFound, "there is no \(what)")
    case .exists(let what): (.exists, what)
    case .unrelated(let what): (.unrelated, what)
    case .unreachable(let what): (.unreachable, what)
    case .timedOut(let what): (.timedOut, what)
    case .cancelled: (.interrupted, "interrupted")
    case .readOnly: (.readOnly, "the store is open for reading only")
    case .noSpace(let what): (.noSpace, what)
    case .system(let error): (kind(of: error), error.description)
    }
  }

  private static func kind(of error: SystemError) -> Kind {
    switch error.errno {
    case Errno.noSpace, Errno.quota, Errno.fileTooBig: .noSpace
    case Errno.accessDenied, Errno.operationNotPermitted: .notPermitted
    case Errno.readOnlyFileSystem: .readOnly
    case Errno.noEntry, Errno.notDirectory: .notFound
    case Errno.exists, Errno.notEmpty: .exists
    case Errno.hostUnreachable, Errno.notConnected: .unreachable
    case Errno.timedOut: .timedOut
    case Errno.inputOutput: .damaged
    case Errno.notSupported: .unsupported
    default: .busy
    }
  }

  /// The error as that of a file operation: its errno is the result of the write.
  package var asFSError: FSError {
    switch kind {
    case .grammar: .invalid
    case .notFound: .noEntry
    case .unreachable: .hostUnreachable
    case .timedOut: .timedOut
    case .unrelated: .crossDevice
    case .notPermitted: .accessDenied
    case .busy: .busy
    case .noSpace: .noSpace
    case .readOnly: .readOnly
    case .interrupted: .interrupted
    case .refused: .cancelled
    case .tooLong: .tooBig
    case .exists: .exists
    case .damaged: .io
    case .forgotten: .noData
    case .malformed: .badMessage
    case .unsupported: .notSupported
    }
  }
}

package func translating<R>(_ body: () throws -> R) throws(ControlError) -> R {
  do {
    return try body()
  } catch {
    throw ControlError(any: error)
  }
}
