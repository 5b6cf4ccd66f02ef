/// The result of the last session that wrote to a store, kept in the text of the file `lock`.
package struct LastWriterStatus: Hashable, Sendable {
  /// The reason why the last version could not be made; nil if it was made.
  package var failure: String?
  /// True if the last version could not be made because no space is left.
  package var lacksSpace = false
  /// Names that no version has because their bytes were damaged; nil for none.
  package var damaged: String?
  /// Names that were not saved and will be at the next mount; nil for none.
  package var unsaved: String?
  private static let mark = "end"
  private static let fullMark = "full"
  /// The greatest length of each text, in bytes.
  private static let limit = 1000

  package init(
    failure: String? = nil, lacksSpace: Bool = false, damaged: String? = nil, unsaved: String? = nil
  ) {
    self.failure = failure
    self.lacksSpace = lacksSpace
    self.damaged = damaged
    self.unsaved = unsaved
  }

  /// How a holder ended, by the lock's text; nil if another process has had the store since.
  package init(of holder: Int32, inLock text: String) {
    guard text.hasPrefix("\(holder) ") || text.hasPrefix("\(holder)\n") else {
      self.init()
      return
    }
    let lines = text.split(separator: "\n")
    guard lines.contains(Substring(Self.mark)) else {
      self.init(failure: "the daemon was killed")
      return
    }
    func line(_ name: String) -> String? {
      lines.first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
    }
    self.init(
      failure: line("failure "), lacksSpace: lines.contains(Substring(Self.fullMark)),
      damaged: line("damaged "), unsaved: line("unsaved "))
  }

  var text: String {
    func line(_ name: String, _ words: String?) -> String {
      guard let words else { return "" }
      let clean = words.split(whereSeparator: \.isNewline).joined(separator: " ")
      return name + String(decoding: clean.utf8.prefix(Self.limit), as: UTF8.self) + "\n"
    }
    return Self.mark + "\n" + (lacksSpace ? Self.fullMark + "\n" : "") + line("failure ", failure)
      + line("damaged ", damaged)
      + line("unsaved ", unsaved)
  }
}
