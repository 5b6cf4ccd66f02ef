/// How who held a store for writing came to the end, as the text of its file `lock` keeps it until the next one.
package struct LastWriterStatus: Hashable, Sendable {
  /// Why the last version could not be made.
  package var failure: String?
  /// Names that no version has since their bytes rotted.
  package var damaged: String?
  /// Names that were not saved, and wait for the next mount.
  package var unsaved: String?

  private static let mark = "end"
  /// So many bytes of each are told.
  private static let limit = 1000

  package init(failure: String? = nil, damaged: String? = nil, unsaved: String? = nil) {
    self.failure = failure
    self.damaged = damaged
    self.unsaved = unsaved
  }

  /// Reads from the lock's text how a holder that is gone ended: as killed where it did not come so far as to
  /// say it, and with nothing to tell where somebody else has had the store since.
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
    self.init(failure: line("failure "), damaged: line("damaged "), unsaved: line("unsaved "))
  }

  var text: String {
    func line(_ name: String, _ words: String?) -> String {
      guard let words else { return "" }
      let clean = words.split(whereSeparator: \.isNewline).joined(separator: " ")
      return name + String(decoding: clean.utf8.prefix(Self.limit), as: UTF8.self) + "\n"
    }
    return Self.mark + "\n" + line("failure ", failure) + line("damaged ", damaged)
      + line("unsaved ", unsaved)
  }
}
