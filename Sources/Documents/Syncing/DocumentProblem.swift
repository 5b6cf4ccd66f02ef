package import LLVSCore
internal import Platform

/// The reason why a document is not read or written: a sentence for people without its period.
package enum DocumentProblem: Error, Hashable, Sendable {
  case missing(String)
  /// The file is no document, damaged, or of a newer program.
  case unreadable(String)
  case busy(String)
  /// The document holds other data, or belongs to another program.
  case unrelated(String)
  case noCommonAuthor
  /// The errno of a failed system call.
  case system(Int32, String)

  package var text: String {
    switch self {
    case .missing(let text), .unreadable(let text), .busy(let text), .unrelated(let text),
      .system(_, let text):
      text
    case .noCommonAuthor:
      "the document and the directory hold values and have no author in common: "
        + "they are copies of different data"
    }
  }

  package var asStoreError: StoreError {
    switch self {
    case .missing(let text): .unreachable(text)
    case .unreadable(let text): .malformed(text)
    case .busy(let text): .busy(text)
    case .unrelated, .noCommonAuthor: .unrelated(text)
    case .system(let code, let text):
      .system(SystemError(errno: code, call: "document", subject: text))
    }
  }
}
