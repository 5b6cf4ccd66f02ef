import Grammar
import LLVSCore
import Platform
import Reports
import TreeNames

/// A mount whose store the user may not read: another user mounted it, with `allow_other`.
struct GuestAccess: Error {
  let mount: MountView
}

/// The view of a store for other users than the mounting one: files and versions that the kernel lets them read.
/// Authors, messages, conflicts and peers are only for the mounting user.
struct GuestView {
  let mount: MountView
  let console: Console
  private let meta: [UInt8]

  init(_ access: GuestAccess, _ console: Console) {
    mount = access.mount
    self.console = console
    meta = Array("\(access.mount.root)/.llvs".utf8)
  }

  func run(_ line: CommandLine) throws -> ExitCode {
    do {
      return try read(line)
    } catch let error as SystemError where error.errno == Errno.accessDenied {
      throw ControlError(.notPermitted, "you may not read \(error.subject)")
    }
  }

  private func read(_ line: CommandLine) throws -> ExitCode {
    switch line.verb {
    case "status": return try status(line)
    case "log": return try log(line)
    case "show": return try show(line)
    case "diff": return try diff(line)
    case "history": return try history(line)
    case "grep": return try grep(line)
    case "blame": return try blame(line)
    case "tag" where line.words.isEmpty: return try names(line, in: "tags", as: "tag")
    case "branch" where line.words.isEmpty: return try names(line, in: "branches", as: "branch")
    default: throw refusal("\(line.verb) here")
    }
  }

  private func refusal(_ what: String) -> ControlError {
    let owner = (try? FileSystem.status(meta + Array("/control".utf8)))?.uid
    let name = owner == 0 ? "root" : owner.map { "user \($0)" } ?? "another user"
    return ControlError(
      .notPermitted,
      "only \(name), who mounted it, can use \(what); you can read .llvs/versions and .llvs/history"
    )
  }

  private struct Shown {
    var name: String
    var path: [UInt8]
  }

  private func place(_ parts: String...) -> [UInt8] {
    meta + Array(("/" + parts.joined(separator: "/")).utf8)
  }

  private func find(_ word: String) throws -> Shown? {
    let line =
      word == "-" ? ["branches/-"] : ["versions/\(word)", "branches/\(word)", "tags/\(word)", word]
    for candidate in word == "head" ? ["head"] : line {
      guard !candidate.split(separator: "/").contains("..") else { continue }
      let path = place(candidate)
      guard let real = try? FileSystem.resolve(path),
        real.starts(with: place("versions") + [0x2F]),
        let name = real.split(separator: 0x2F).last
      else { continue }
      return Shown(name: String(decoding: name, as: UTF8.self), path: real)
    }
    return nil
  }

  private func version(_ word: String) throws -> Shown {
    guard let found = try find(word) else {
      throw ControlError(
        .notFound, word == "head" ? "there is no version yet" : "there is no version \(word)")
    }
    return found
  }

  private func path(_ word: [UInt8]) throws -> [UInt8] {
    try CommandTarget.mounted(mount, store: "").path(word)
  }

  private func listed(_ directory: [UInt8]) throws -> [String] {
    try FileSystem.names(in: directory).map { String(decoding: $0.bytes, as: UTF8.self) }.sorted()
  }

  /// The names of versions, oldest first: of all, or of those with changes at paths.
  private func versionNames(at paths: [[UInt8]]) throws -> [String] {
    guard !paths.isEmpty else { return try listed(place("versions")) }
    var names: Set<String> = []
    for path in paths {
      let here = try mount.place(path)
      let isDirectory = (try? FileSystem.status(here).kind) == .directory
      names.formUnion(
        try listed(
          isDirectory
            ? here + Array("/.llvs/versions".utf8)
            : place("history") + [0x2F] + (mount.below(path) ?? path)))
    }
    return names.sorted()
  }

  private static func time(of name: String) -> String {
    // 2026-05-01T102231.482Z-3F9C2A1B
    guard let end = name.firstIndex(of: "Z"), let mark = name.firstIndex(of: "T") else {
      return "?"
    }
    let clock = Array(name[name.index(after: mark)..<end])
    guard clock.count >= 6 else { return "?" }
    return name[...mark] + String(clock[0..<2]) + ":" + String(clock[2..<4]) + ":"
      + String(clock[4...]) + "Z"
  }

  private func status(_ line: CommandLine) throws -> ExitCode {
    _ = try line.operands(0...0)
    let head = try find("head")
    if line.isJSON {
      console.tell(json: ["ok": true, "head": head?.name])
    } else {
      console.tell(head.map { "At \($0.name)." } ?? "No version yet.")
      console.tell("\(refusal("everything else").message).")
    }
    return .done
  }

  private func log(_ line: CommandLine) throws -> ExitCode {
    let paths = try line.bytes.map { try path($0) }
    let names = try versionNames(at: paths).reversed().prefix(try line.number("count") ?? .max)
    let style = try console.style(line)
    console.page(line)
    for name in names {
      let time = Self.time(of: name)
      if line.isJSON {
        console.stream(json: ["name": name, "time": time])
      } else {
        let local = TimestampText.seconds(iso: time).map { TimestampText.local(seconds: $0) } ?? "?"
        console.stream(line: "\(style.paint("version \(name)", .yellow))  \(local)")
      }
    }
    return .done
  }

  private func show(_ line: CommandLine) throws -> ExitCode {
    let word = try line.operands(0...1).first ?? "head"
    guard let colon = word.firstIndex(of: ":") else {
      throw refusal("show VERSION; show VERSION:PATH reads a file")
    }
    let named = try version(colon == word.startIndex ? "head" : String(word[..<colon]))
    let below = Array(word[word.index(after: colon)...].utf8)
    let path = below.isEmpty ? [] : try path(below)
    let place = named.path + (path.isEmpty ? [] : [0x2F] + (mount.below(path) ?? path))
    guard try FileSystem.exists(place) else {
      throw ControlError(.notFound, "\(named.name) has no \(PrintableText.text(path))")
    }
    guard try FileSystem.status(place).kind != .directory else {
      for name in try listed(place) { console.stream(line: PrintableText.text(Array(name.utf8))) }
      return .done
    }
    let file = try File(bytes: place, .read)
    var offset: UInt64 = 0
    while true {
      let part = try file.read(1 << 20, at: offset)
      if part.isEmpty { return .done }
      console.stream(part)
      offset += UInt64(part.count)
    }
  }

  private func historyDirectory(_ line: CommandLine) throws -> [UInt8] {
    _ = try line.operands(1...1)
    let path = try path(line.bytes[0])
    let directory = place("history") + [0x2F] + (mount.below(path) ?? path)
    guard try FileSystem.exists(directory) else {
      throw ControlError(.notFound, "no version has a file \(PrintableText.text(line.bytes[0]))")
    }
    return directory
  }

  private func history(_ line: CommandLine) throws -> ExitCode {
    let directory = try historyDirectory(line)
    for name in try listed(directory).reversed().prefix(try line.number("count") ?? .max) {
      let size = try FileSystem.status(directory + [0x2F] + Array(name.utf8)).size
      let fields: ReplyValue = ["version": name, "bytes": size, "time": Self.time(of: name)]
      console.stream(line: line.isJSON ? fields.json : "\(name)  \(size) bytes")
    }
    return .done
  }

  private func names(_ line: CommandLine, in folder: String, as field: String) throws -> ExitCode {
    let names = try listed(place(folder))
    let items = try names.map { ($0, try find("\(folder)/\($0)")?.name ?? "-") }
    if line.isJSON {
      let records = items.map { [field: $0.0, "version": $0.1] as ReplyValue }
      console.tell(json: ["ok": true, folder: records])
    } else {
      for (name, version) in items { console.tell("\(name)  \(version)") }
    }
    return .done
  }

  private func diff(_ line: CommandLine) throws -> ExitCode {
    var roots: [[UInt8]] = []
    var paths: [[UInt8]] = []
    let dashes = line.wordsBeforeDashes ?? line.words.count
    for (index, word) in line.words.enumerated() {
      let ends = word.firstRange(of: "..").map { [word[..<$0.lowerBound], word[$0.upperBound...]] }
      let words = index < dashes && paths.isEmpty ? ends ?? [word[...]] : []
      let found = try words.compactMap { try find($0.isEmpty ? "head" : String($0)) }
      if !found.isEmpty, found.count == words.count, roots.count + found.count <= 2 {
        roots += found.map(\.path)
      } else {
        paths.append(try path(line.bytes[index]))
      }
    }
    if roots.isEmpty { roots.append(try version("head").path) }
    if roots.count == 1 { roots.append(Array(mount.root.utf8)) }
    var writer = try DiffWriter(line, console, standard: .patch, isToApply: true)
    console.page(line)
    let limits = paths.isEmpty ? mount.isPart ? [mount.part] : [[]] : paths
    for path in limits { try compare(roots[0], roots[1], mount.below(path) ?? path, &writer) }
    writer.finish()
    return line.has("exit-code") && writer.count > 0 ? .conflict : .done
  }

  /// Compares two trees at and below a path; names unreadable files and omits them.
  private func compare(
    _ old: [UInt8], _ new: [UInt8], _ path: [UInt8], _ writer: inout DiffWriter
  ) throws {
    let suffix = path.isEmpty ? [] : [0x2F] + path
    do {
      let (before, after) = (try FileImage(live: old + suffix), try FileImage(live: new + suffix))
      let areDirectories = [before, after].map { $0.map { $0.isDirectory } ?? false }
      if areDirectories[0] || areDirectories[1] {
        var names: Set<[UInt8]> = []
        for (isDirectory, root) in zip(areDirectories, [old, new]) where isDirectory {
          names.formUnion(try FileSystem.names(in: root + suffix).map(\.bytes))
        }
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
          try compare(old, new, path.isEmpty ? name : path + [0x2F] + name, &writer)
        }
        if areDirectories[0] && areDirectories[1] { return }
      }
      if let before, let after, try before.isLike(after) { return }
      let files = (areDirectories[0] ? nil : before, areDirectories[1] ? nil : after)
      guard files.0 != nil || files.1 != nil else { return }
      try writer.write(TreeDifference(path: path, old: files.0, new: files.1))
    } catch let error as SystemError where error.errno == Errno.accessDenied {
      console.complain("llvs: \(PrintableText.text(path)) is left out: you may not read it.")
    }
  }

  /// The most bytes of a file that are searched.
  private static let limit = 64 << 20

  private func grep(_ line: CommandLine) throws -> ExitCode {
    guard let word = line.bytes.first else { _ = try line.operands(1...1); return .usage }
    let expression: RegularExpression
    do {
      expression = try RegularExpression(
        word, ignoringCase: line.has("ignore-case"), isFixed: line.has("fixed-strings"))
    } catch {
      throw UsageError("\(PrintableText.text(word)) is not a pattern: \(error.reason)")
    }
    var versions: [Shown] = []
    var paths: [[UInt8]] = []
    for (word, bytes) in zip(line.words, line.bytes).dropFirst() {
      if paths.isEmpty, let found = try find(word) {
        versions.append(found)
      } else {
        paths.append(try path(bytes))
      }
    }
    if versions.isEmpty {
      versions = try versionNames(at: []).map { Shown(name: $0, path: place("versions", $0)) }
    }
    var seen: Set<UInt64> = []
    var count = 0
    // Oldest first, so that a content is found in its first version; shown newest first.
    var lines: [[String]] = []
    for version in versions {
      var own: [String] = []
      for path in paths.isEmpty ? [[]] : paths {
        try search(version, mount.below(path) ?? path, expression, line, &seen, &own)
      }
      count += own.count
      if !own.isEmpty { lines.append(own) }
    }
    for line in lines.reversed().joined() { console.stream(line: line) }
    return count > 0 ? .done : .conflict
  }

  private func search(
    _ version: Shown, _ path: [UInt8], _ expression: RegularExpression, _ line: CommandLine,
    _ seen: inout Set<UInt64>, _ lines: inout [String]
  ) throws {
    let place = version.path + (path.isEmpty ? [] : [0x2F] + path)
    guard let status = try? FileSystem.status(place) else { return }
    if status.kind == .directory {
      guard let names = try? FileSystem.names(in: place) else { return }
      for name in names.map(\.bytes).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        try search(
          version, path.isEmpty ? name : path + [0x2F] + name, expression, line, &seen, &lines)
      }
      return
    }
    // In history equal inode numbers mean one revision.
    guard status.kind == .regular, seen.insert(status.inode).inserted,
      status.size <= UInt64(Self.limit),
      let bytes = try? File(bytes: place, .read).read(Int(status.size), at: 0)
    else { return }
    var number = 1
    for text in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      defer { number += 1 }
      guard expression.firstMatch(in: Array(text)) != nil else { continue }
      if line.isJSON {
        let reply: ReplyValue = [
          "version": version.name, "path": ReplyBytes(path), "line": number,
          "text": ReplyBytes(Array(text)),
        ]
        lines.append(reply.json)
      } else if line.has("files-with-matches") {
        lines.append("\(version.name):\(PrintableText.text(path))")
      } else {
        let shown = String(
          decoding: PrintableText.visible(Array(text), sparing: 0x5C), as: UTF8.self)
        lines.append("\(version.name):\(PrintableText.text(path)):\(number):\(shown)")
      }
      if line.has("files-with-matches") { return }
    }
  }

  private func blame(_ line: CommandLine) throws -> ExitCode {
    let directory = try historyDirectory(line)
    let path = try path(line.bytes[0])
    let names = try listed(directory)
    let texts = try names.map {
      try FileSystem.read(
        "\(String(decoding: directory, as: UTF8.self))/\($0)", atMost: TextMerge.maximumLength)
    }
    guard texts.allSatisfy({ TextMerge.isText($0) }) else {
      throw ControlError(.grammar, "\(PrintableText.text(path)) is not text")
    }
    for (index, found) in RevisionBlame.lines(of: texts).enumerated() {
      var text = found.text
      if text.last == 0x0A { text.removeLast() }
      let name = names[found.revision]
      if line.isJSON {
        console.stream(json: [
          "line": index + 1, "version": name,
          "time": Self.time(of: name), "path": ReplyBytes(path), "text": ReplyBytes(text),
        ])
      } else {
        console.stream(
          line: "\(name) \(index + 1) "
            + String(decoding: PrintableText.visible(text, sparing: 0x5C), as: UTF8.self))
      }
    }
    return .done
  }
}
