/// Why a document is not read or not written, with a sentence without its period for people.
package enum DocumentProblem: Error, Hashable, Sendable {
  /// The directory is not there, or the document is gone.
  case missing(String)
  /// It is no document, or a damaged one, or one that only a newer program understands.
  case unreadable(String)
  /// Somebody else uses it.
  case busy(String)
  /// It holds other data, or belongs to another program.
  case unrelated(String)
  /// A system call failed: its error's number.
  case system(Int32, String)

  /// The sentence.
  package var text: String {
    switch self {
    case .missing(let text), .unreadable(let text), .busy(let text), .unrelated(let text),
      .system(_, let text):
      text
    }
  }
}
