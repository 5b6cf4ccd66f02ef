package import LLVSCore
internal import Platform
internal import SQLite

extension DocumentProblem {
  init(_ error: FileDatabaseError, _ path: String) {
    switch error {
    case .corrupt(let why): self = .unreadable("\(path) is damaged or no document (\(why))")
    case .busy: self = .busy("\(path) is in use by another program")
    case .readOnly: self = .system(Errno.readOnlyFileSystem, "\(path) cannot be written")
    case .refused(_, let why): self = .unreadable("\(path) is not a document (\(why))")
    case .system(let error): self = .system(error.errno, error.description)
    }
  }

  /// The same as an error of a store.
  package var asStoreError: StoreError {
    switch self {
    case .missing(let text): .unreachable(text)
    case .unreadable(let text): .malformed(text)
    case .busy(let text): .busy(text)
    case .unrelated(let text): .unrelated(text)
    case .system(let code, let text):
      .system(SystemError(errno: code, call: "document", subject: text))
    }
  }
}
