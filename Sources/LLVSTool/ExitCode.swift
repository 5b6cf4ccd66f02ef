import FuseSession
import Grammar
import LLVSCore
import Platform

package enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  /// New conflicts, with `--fail-on-conflict`; differences, with `diff --exit-code`; nothing found, by `grep`.
  case conflict = 1
  case usage = 2
  case notFound = 3
  case unreachable = 4
  case unrelated = 5
  /// Another process holds a needed lock or file, a change is not saved, or the clock is in doubt.
  case busy = 6
  case noSpace = 7
  /// Not permitted, read only, written by a newer program, or a store on an unsafe file system.
  case notPermitted = 8
  case damaged = 9
  case interrupted = 10
  case exists = 11
  case failed = 12
  case unsupported = 13
  case forgotten = 14

  package var word: String {
    ControlError.Kind.allCases.first { Failure.code($0) == self }?.rawValue ?? "\(self)"
  }

  package var meaning: String {
    switch self {
    case .done: "done"
    case .conflict:
      "new conflicts (--fail-on-conflict), one left (mergetool), differences (diff --exit-code), nothing found (grep, search)"
    case .usage: "wrong usage"
    case .notFound: "no such store, version, peer, branch or path"
    case .unreachable: "a peer cannot be reached or does not answer"
    case .unrelated: "histories without a common ancestor"
    case .busy: "busy, a file is not saved, or the clock leapt (compact)"
    case .noSpace: "no space is left"
    case .notPermitted:
      "not permitted, read only, written by a newer program, or a store on FUSE, NFS, SMB or 9p"
    case .damaged: "the store is damaged"
    case .interrupted: "interrupted (by a signal, which ends the tool: 130 in a shell after Ctrl-C)"
    case .exists: "the name exists already"
    case .failed: "the daemon of a mount ended, or the system failed in another way"
    case .unsupported: "not supported here"
    case .forgotten:
      "bytes of old versions are forgotten; the rest is done, or a merge waits for them"
    }
  }
}

struct UsageError: Error {
  var message: String
  init(_ message: String) { self.message = message }
}

/// The daemon of a mount ended before it answered a command.
struct EndedDaemon: Error {
  var root: String
}

extension SystemError {
  /// True for the errors of a mount without a daemon; no other file system returns them.
  var tellsOfEndedDaemon: Bool { errno == Errno.notConnected || errno == Errno.connectionAborted }
}

/// Maps an error to a message and an exit code.
struct Failure {
  var code: ExitCode
  /// A clause without its period.
  var message: String
  private var word: String?
  private(set) var done: ControlError.Done?

  private init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: any Error) {
    switch error {
    case let error as UsageError: self.init(.usage, error.message)
    case is ControlError, is StoreError:
      let error = ControlError(any: error)
      self.init(Self.code(error.kind), error.message)
      word = error.kind.rawValue
      done = error.done
    case let error as EndedDaemon:
      self.init(
        .failed,
        "the program behind \(error.root) ended before it answered; mount the store again, which shows what it has done"
      )
    case let error as SystemError where error.tellsOfEndedDaemon:
      let end = error.subject.firstRange(of: "/.llvs")?.lowerBound ?? error.subject.endIndex
      let place = error.subject[..<end]
      self.init(
        .failed,
        "the program behind \(place) has ended; mount the store there again, nothing is lost"
      )
    case let error as SystemError: self.init(ControlError(.system(error)))
    case let error as FuseError: self.init(Self.code(error), error.description)
    default: self.init(.failed, "\(error)")
    }
  }

  /// For a failed write to standard output: the store is not affected.
  init(ofOutput error: SystemError) {
    let isFull = [Errno.noSpace, Errno.quota, Errno.fileTooBig].contains(error.errno)
    self.init(isFull ? .noSpace : .failed, "standard output: \(error)")
  }

  private static func code(_ error: FuseError) -> ExitCode {
    guard case .unmount(_, let errno) = error else { return .failed }
    return errno == Errno.busy
      ? .busy : errno == Errno.operationNotPermitted ? .notPermitted : .failed
  }

  fileprivate static func code(_ kind: ControlError.Kind) -> ExitCode {
    switch kind {
    case .grammar, .tooLong: .usage
    case .notFound: .notFound
    case .unreachable, .timedOut: .unreachable
    case .unrelated: .unrelated
    case .busy, .refused: .busy
    case .noSpace: .noSpace
    case .notPermitted, .readOnly: .notPermitted
    case .interrupted: .interrupted
    case .exists: .exists
    case .damaged: .damaged
    case .malformed: .damaged
    case .forgotten: .forgotten
    case .unsupported: .unsupported
    }
  }

  var reply: ReplyValue {
    ["ok": false, "error": word ?? code.word, "message": message, "code": Int(code.rawValue)]
      + (done.map { ["text": $0.text] + $0.fields } ?? [:])
  }

  var sentence: String {
    let text = message.hasSuffix(".") ? message : message + "."
    return "llvs: \(text)"
  }
}
