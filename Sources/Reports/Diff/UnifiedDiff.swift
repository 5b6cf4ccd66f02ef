import LLVSCore

/// Writes differences as unified diffs for people, patch(1) and git apply. Changes that these programs cannot
/// express are on lines between files, which both skip.
package struct UnifiedDiff {
  private let style: TextStyle
  private let context: Int
  /// True to write bytes that are no text too, in git's format; otherwise they are only reported to differ.
  private let writesBytes: Bool
  private let emit: ([UInt8]) -> Void

  package init(
    style: TextStyle, context: Int, writesBytes: Bool = false, emit: @escaping ([UInt8]) -> Void
  ) {
    self.style = style
    self.context = context
    self.writesBytes = writesBytes
    self.emit = emit
  }

  /// Writes what is known of a difference with a side whose bytes are forgotten. git apply refuses it, as it does
  /// binary files without their bytes.
  package func write(withoutBytes difference: TreeDifference) {
    var out: [UInt8] = []
    remarks(difference, &out)
    let before = difference.renamedFrom ?? difference.path
    let names = (
      GitName.quoted(before, behind: "a/"), GitName.quoted(difference.path, behind: "b/")
    )
    line("\(GitName.quoted(difference.path)): bytes are forgotten", .yellow, &out)
    line("diff --git \(names.0) \(names.1)", .bold, &out)
    line("Binary files \(names.0) and \(names.1) differ", nil, &out)
    emit(out)
  }

  package func write(_ difference: TreeDifference) throws {
    var out: [UInt8] = []
    remarks(difference, &out)
    let (old, new) = (difference.old, difference.new)
    let (hadBytes, hasBytes) = (old?.hasBytes ?? false, new?.hasBytes ?? false)
    if let old, let new, hadBytes, hasBytes, old.kind != new.kind {
      // A link replaced a file, or vice versa: for git one file was removed and another added.
      try file(difference.path, old: old, new: nil, &out)
      try file(difference.path, old: nil, new: new, &out)
    } else if hadBytes || hasBytes {
      try file(
        difference.path, from: difference.renamedFrom, old: hadBytes ? old : nil,
        new: hasBytes ? new : nil, &out)
    }
    if !out.isEmpty { emit(out) }
  }

  private func file(
    _ path: [UInt8], from: [UInt8]? = nil, old: FileImage?, new: FileImage?, _ out: inout [UInt8]
  ) throws {
    let pair = try ContentPair(old, new)
    let before = from ?? path
    var headers: [String] = []
    if let old, let new, old.kind == .regular, old.mode != new.mode {
      headers += ["old mode \(old.gitMode)", "new mode \(new.gitMode)"]
    }
    if old == nil, let new { headers.append("new file mode \(new.gitMode)") }
    if new == nil, let old { headers.append("deleted file mode \(old.gitMode)") }
    if let from {
      headers += [
        "similarity index 100%", "rename from \(GitName.quoted(from))",
        "rename to \(GitName.quoted(path))",
      ]
    }
    if case .same = pair, headers.isEmpty { return }
    let names = (GitName.quoted(before, behind: "a/"), GitName.quoted(path, behind: "b/"))
    line("diff --git \(names.0) \(names.1)", .bold, &out)
    for header in headers { line(header, .bold, &out) }
    let mode =
      old != nil && new != nil && old?.gitMode == new?.gitMode ? " \(new?.gitMode ?? "")" : ""
    switch pair {
    case .same: break
    case .binary:
      try bytes(old, new, names, mode, &out)
    case .texts(let a, let b):
      // This line shows patch(1) that a file is a link or was empty; git apply --3way finds the old bytes by it.
      let ids = [(old, a), (new, b)].map { image, text in
        image == nil ? "0000000" : String(GitBlob.id(of: text.text).prefix(7))
      }
      line("index \(ids[0])..\(ids[1])\(mode)", .bold, &out)
      let changes = TextDiff.changes(from: a, to: b)
      guard !changes.isEmpty else { return }
      line("--- \(old == nil ? "/dev/null" : GitName.headed(before, behind: "a/"))", .bold, &out)
      line("+++ \(new == nil ? "/dev/null" : GitName.headed(path, behind: "b/"))", .bold, &out)
      hunks(changes, a, b, &out)
    }
  }

  /// Writes bytes that are no text, or more than are compared by line.
  private func bytes(
    _ old: FileImage?, _ new: FileImage?, _ names: (String, String), _ mode: String,
    _ out: inout [UInt8]
  ) throws {
    let limit = GitBinaryPatch.limit
    let (a, b) = (try old?.bytes(atMost: limit), try new?.bytes(atMost: limit))
    let isSmall = (old == nil || a != nil) && (new == nil || b != nil)
    if isSmall || writesBytes {
      // Without complete ids git apply refuses the whole patch.
      let ids = try [(old, a), (new, b)].map { image, bytes in
        guard let image else { return String(repeating: "0", count: 40) }
        return try bytes.map(GitBlob.id(of:)) ?? image.gitID()
      }
      line("index \(ids[0])..\(ids[1])\(mode)", .bold, &out)
    }
    guard isSmall, writesBytes else {
      let names = (old == nil ? "/dev/null" : names.0, new == nil ? "/dev/null" : names.1)
      line("Binary files \(names.0) and \(names.1) differ", nil, &out)
      return
    }
    GitBinaryPatch.write(from: a ?? [], to: b ?? [], into: &out)
  }

  private func line(_ text: String, _ paint: TextStyle.Paint?, _ out: inout [UInt8]) {
    out += (paint.map { style.paint(text, $0) } ?? text).utf8
    out.append(0x0A)
  }

  private func hunks(
    _ changes: [SequenceChange], _ old: TextLines, _ new: TextLines, _ out: inout [UInt8]
  ) {
    var index = 0
    while index < changes.count {
      // Changes whose contexts would touch are in one hunk.
      var end = index + 1
      while end < changes.count,
        changes[end].old.lowerBound - changes[end - 1].old.upperBound <= 2 * context
      {
        end += 1
      }
      hunk(changes[index..<end], old, new, &out)
      index = end
    }
  }

  private func hunk(
    _ changes: ArraySlice<SequenceChange>, _ old: TextLines, _ new: TextLines,
    _ out: inout [UInt8]
  ) {
    guard let first = changes.first, let last = changes.last else { return }
    let lead = min(context, first.old.lowerBound)
    let tail = min(context, old.count - last.old.upperBound)
    let oldRange = (first.old.lowerBound - lead)..<(last.old.upperBound + tail)
    let newRange = (first.new.lowerBound - lead)..<(last.new.upperBound + tail)
    let head = "@@ -\(Self.span(oldRange)) +\(Self.span(newRange)) @@"
    out += style.paint(head, .cyan).utf8
    if let heading = Self.heading(of: old, before: oldRange.lowerBound) {
      out.append(0x20)
      out += heading
    }
    out.append(0x0A)
    var line = oldRange.lowerBound
    for change in changes {
      write(" ", old, line..<change.old.lowerBound, nil, &out)
      write("-", old, change.old, .red, &out)
      write("+", new, change.new, .green, &out)
      line = change.old.upperBound
    }
    write(" ", old, line..<oldRange.upperBound, nil, &out)
  }

  /// Formats a range of lines as the first line and the count; an empty range as the line before it.
  private static func span(_ range: Range<Int>) -> String {
    range.count == 1
      ? "\(range.lowerBound + 1)" : "\(range.lowerBound + (range.isEmpty ? 0 : 1)),\(range.count)"
  }

  private func write(
    _ mark: Unicode.Scalar, _ text: TextLines, _ lines: Range<Int>, _ paint: TextStyle.Paint?,
    _ out: inout [UInt8]
  ) {
    for number in lines {
      let line = [UInt8(ascii: mark)] + text[number]
      if let paint { style.paint(line: line, paint, into: &out) } else { out += line }
      guard line.last != 0x0A else { continue }
      out += "\n\\ No newline at end of file\n".utf8
    }
  }

  /// Returns the heading of a hunk: the last line before it that begins with a letter.
  private static func heading(of text: TextLines, before line: Int) -> ArraySlice<UInt8>? {
    var number = line - 1
    while number >= 0, number > line - 2000 {
      let line = text[number]
      if let first = line.first, isWord(first) {
        let end = line.firstIndex { $0 == 0x0A || $0 == 0x0D } ?? line.endIndex
        return Self.whole(line[line.startIndex..<min(end, line.startIndex + 72)])
      }
      number -= 1
    }
    return nil
  }

  /// Removes the beginning of a character that was cut off.
  private static func whole(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while text.count >= 69, String(validating: text, as: UTF8.self) == nil { text.removeLast() }
    return text
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x41...0x5A, 0x61...0x7A, 0x5F, 0x24: true
    default: false
    }
  }

  private func remarks(_ difference: TreeDifference, _ out: inout [UInt8]) {
    let path = GitName.quoted(difference.path)
    let (old, new) = (difference.old, difference.new)
    if let image = new ?? old, !image.hasBytes || !(old?.hasBytes ?? true) {
      // A directory, or a node that is no file, on one side or both.
      for (image, word) in [(old, "gone"), (new, "new")] {
        guard let image, !image.hasBytes, old == nil || new == nil || old?.kind != new?.kind,
          !image.isDirectory || !difference.isFull
        else { continue }
        line("\(Self.noun(image)) \(path) is \(word)", .bold, &out)
      }
      if let old, let new, old.kind == new.kind, old.mode != new.mode {
        let modes = (String(old.mode, radix: 8), String(new.mode, radix: 8))
        line("\(Self.noun(new)) \(path) has mode \(modes.1), not \(modes.0)", .bold, &out)
      }
    }
    for text in AttributeChanges.lines(old, new, isRenamed: difference.renamedFrom != nil) {
      line("\(path): \(text)", .yellow, &out)
    }
  }

  private static func noun(_ image: FileImage) -> String {
    switch image.kind {
    case .directory: return "directory"
    case .fifo: return "fifo"
    case .socket: return "socket"
    case .characterDevice, .blockDevice:
      let device = image.device.map { " \($0.major),\($0.minor)" } ?? ""
      return (image.kind == .blockDevice ? "block" : "character") + " device" + device
    case .regular, .symlink: return "file"
    }
  }
}
