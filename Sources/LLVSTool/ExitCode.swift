import FuseSession
import Grammar
import LLVSCore
import LLVSMount
import Platform

/// The exit codes of the tool.
package enum ExitCode: Int32, CaseIterable, Sendable {
  /// Success.
  case done = 0
  /// New conflicts, with `--fail-on-conflict`; differences, with `diff --exit-code`; nothing found,
  /// by `grep`.
  case conflict = 1
  /// The command line, or a command, is no proper one.
  case usage = 2
  /// No such store, version, peer, branch or path.
  case notFound = 3
  /// A peer cannot be reached or does not answer.
  case unreachable = 4
  /// Histories without a common ancestor.
  case unrelated = 5
  /// Another process holds a lock or file that is needed, or a change is not saved.
  case busy = 6
  /// No space is left.
  case noSpace = 7
  /// Not permitted, read only, written by a newer program, or a store on a file system that is not
  /// safe for one.
  case notPermitted = 8
  /// The store is damaged.
  case damaged = 9
  /// A signal interrupted the command.
  case interrupted = 10
  /// The name is in use already.
  case exists = 11
  /// The daemon of a mount ended, or the system failed in another way.
  case failed = 12
  /// This machine, or this build, cannot do it.
  case unsupported = 13

  /// The code's name in JSON, which for failures of commands is the kind of the error.
  package var word: String {
    switch self {
    case .done: "done"
    case .conflict: "conflict"
    case .usage: ControlError.Kind.grammar.rawValue
    case .notFound: ControlError.Kind.notFound.rawValue
    case .unreachable: ControlError.Kind.unreachable.rawValue
    case .unrelated: ControlError.Kind.unrelated.rawValue
    case .busy: ControlError.Kind.busy.rawValue
    case .noSpace: ControlError.Kind.noSpace.rawValue
    case .notPermitted: ControlError.Kind.notPermitted.rawValue
    case .damaged: ControlError.Kind.damaged.rawValue
    case .interrupted: ControlError.Kind.interrupted.rawValue
    case .exists: ControlError.Kind.exists.rawValue
    case .failed: "failed"
    case .unsupported: ControlError.Kind.unsupported.rawValue
    }
  }

  /// The text about the code in the help and the manual page.
  package var meaning: String {
    switch self {
    case .done: "done"
    case .conflict:
      "new conflicts (--fail-on-conflict), one left (mergetool), differences (diff --exit-code), nothing found (grep, search)"
    case .usage: "wrong usage"
    case .notFound: "no such store, version, peer, branch or path"
    case .unreachable: "a peer cannot be reached or does not answer"
    case .unrelated: "histories without a common ancestor"
    case .busy: "busy, or a file is not saved"
    case .noSpace: "no space is left"
    case .notPermitted:
      "not permitted, read only, written by a newer program, or a store on FUSE, NFS, SMB or 9p"
    case .damaged: "the store is damaged"
    case .interrupted: "interrupted (of Ctrl-C the tool ends by the signal: 130 in a shell)"
    case .exists: "the name exists already"
    case .failed: "the daemon of a mount ended, or the system failed in another way"
    case .unsupported: "not supported here"
    }
  }
}

/// A fault in the command line.
struct UsageError: Error {
  var message: String
  init(_ message: String) { self.message = message }
}

/// The daemon of a mount ended before it answered a command.
struct EndedDaemon: Error {
  /// The mount point.
  var root: String
}

extension SystemError {
  /// True for the errors of a mount without a daemon; no other file system returns them.
  var tellsOfEndedDaemon: Bool {
    errno == Errno.notConnected || errno == Errno.connectionAborted
  }
}

/// The one place that maps an error to a message and an exit code.
struct Failure {
  var code: ExitCode
  /// A clause without its period.
  var message: String
  /// The kind of a command's error; nil for other errors.
  private var word: String?
  /// The parts of the command that were carried out before it failed.
  private(set) var done: ControlError.Done?

  private init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: any Error) {
    switch error {
    case let error as UsageError: self.init(.usage, error.message)
    case let error as ControlError:
      self.init(Self.code(error.kind), error.message)
      word = error.kind.rawValue
      done = error.done
    case let error as StoreError: self.init(ControlError(error))
    case let error as EndedDaemon:
      self.init(
        .failed,
        "the program behind \(error.root) ended before it answered; mount the store again, which shows what it has done"
      )
    case let error as SystemError where error.tellsOfEndedDaemon:
      self.init(
        .failed,
        "the program behind \(Self.mountPoint(of: error.subject)) has ended; mount the store there again, nothing is lost"
      )
    case let error as SystemError: self.init(ControlError(.system(error)))
    case let error as FuseError: self.init(Self.code(error), error.description)
    case MountError.missing(let reason): self.init(.notFound, reason)
    case MountError.place(let reason): self.init(.usage, reason)
    case MountError.busy(let reason): self.init(.busy, reason)
    case MountError.system(let error): self.init(ControlError(.system(error)))
    case MountError.option(let reason): self.init(.notPermitted, reason)
    case MountError.store(let error): self.init(ControlError(error))
    case MountError.session(let error): self.init(Self.code(error), error.description)
    default: self.init(.failed, "\(error)")
    }
  }

  /// The mount point of a path in its `.llvs`.
  private static func mountPoint(of path: String) -> String {
    guard let end = path.firstRange(of: "/.llvs") else { return path }
    return String(path[..<end.lowerBound])
  }

  /// Creates the failure of a write to standard output: the store is not affected.
  init(ofOutput error: SystemError) {
    let isFull = [Errno.noSpace, Errno.quota, Errno.fileTooBig].contains(error.errno)
    self.init(isFull ? .noSpace : .failed, "standard output: \(error)")
  }

  private static func code(_ error: FuseError) -> ExitCode {
    guard case .unmount(_, let errno) = error else { return .failed }
    return errno == Errno.busy
      ? .busy : errno == Errno.operationNotPermitted ? .notPermitted : .failed
  }

  private static func code(_ kind: ControlError.Kind) -> ExitCode {
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
    case .unsupported: .unsupported
    }
  }

  /// The failure for programs, on one line.
  var json: String {
    ReplyValue.record(
      [
        ReplyField("ok", .flag(false)), ReplyField("error", word ?? code.word),
        ReplyField("message", message), ReplyField("code", Int(code.rawValue)),
      ] + (done.map { [ReplyField("text", $0.text)] + $0.fields } ?? [])
    ).json
  }

  /// The message as a sentence: `llvs: sentence.`
  var sentence: String {
    let text = message.hasSuffix(".") ? message : message + "."
    return "llvs: \(text)"
  }
}
