import Grammar

/// The words after a command's name, taken one at a time.
package struct Arguments {
  private let form: CommandForm
  private(set) var rest: ArraySlice<[UInt8]>

  init(_ form: CommandForm, _ rest: ArraySlice<[UInt8]>) {
    self.form = form
    self.rest = rest
  }

  var name: String { form.name }

  func misused(_ reason: String) -> ControlError {
    ControlError(.grammar, "\(reason); usage: \(form.usage)")
  }

  mutating func takeFirst() -> [UInt8]? { rest.popFirst() }

  mutating func textIfAny() throws(ControlError) -> String? {
    guard let word = rest.popFirst() else { return nil }
    guard let text = String(validating: word, as: UTF8.self) else {
      throw misused("a word that is not UTF-8")
    }
    guard !text.isEmpty else { throw misused("an empty word") }
    return text
  }

  mutating func text(_ what: String) throws(ControlError) -> String {
    guard let text = try textIfAny() else { throw misused("\(what) is missing") }
    return text
  }

  enum NameChange {
    case delete(String, isForced: Bool)
    case rename(String, String)
  }

  /// Takes `--delete NAME` or `--rename NAME NEW`; nil, and takes nothing, without either.
  mutating func change() throws(ControlError) -> NameChange? {
    if takes("--delete") {
      let words = try remainingTexts()
      let names = words.filter { $0 != "--force" && $0 != "-f" }
      guard let name = names.first else { throw misused("a name is missing") }
      guard names.count == 1 else { throw misused("\"\(names[1])\" is one word too many") }
      return .delete(name, isForced: words.count > 1)
    }
    return takes("--rename") ? .rename(try text("a name"), try text("the new name")) : nil
  }

  mutating func takes(_ word: String) -> Bool {
    guard rest.first?.elementsEqual(word.utf8) ?? false else { return false }
    rest.removeFirst()
    return true
  }

  mutating func remainingPaths() throws(ControlError) -> [[UInt8]] {
    var paths: [[UInt8]] = []
    while let path = try pathIfAny() { paths.append(path) }
    return paths
  }

  mutating func somePaths() throws(ControlError) -> [[UInt8]] {
    let paths = try remainingPaths()
    guard !paths.isEmpty else { throw misused("a path is missing") }
    return paths
  }

  mutating func remainingTexts() throws(ControlError) -> [String] {
    var texts: [String] = []
    while let text = try textIfAny() { texts.append(text) }
    return texts
  }

  /// Takes a path from the mount's root; drops empty components and `.`.
  mutating func pathIfAny() throws(ControlError) -> [UInt8]? {
    guard let word = rest.popFirst() else { return nil }
    guard !word.isEmpty else { throw misused("an empty path") }
    var path: [UInt8] = []
    for component in word.split(separator: UInt8(ascii: "/")) {
      if component.elementsEqual(".".utf8) { continue }
      guard !component.elementsEqual("..".utf8) else {
        throw misused("paths start at the mount's root and have no \"..\"")
      }
      if !path.isEmpty { path.append(UInt8(ascii: "/")) }
      path += component
    }
    return path
  }

  func end() throws(ControlError) {
    guard let extra = rest.first else { return }
    throw misused("\"\(String(decoding: extra, as: UTF8.self))\" is one word too many")
  }
}
