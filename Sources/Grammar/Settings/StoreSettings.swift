package import LLVSCore
import Platform

/// The settings of a store. They are kept in the store and are not exchanged.
package struct StoreSettings: Hashable, Sendable {
  /// The mtime of a file that a merge, switch or restore replaces: the stored one, or the current time.
  package enum ReplacedTime: String, Hashable, Sendable, CaseIterable {
    case stored, now
  }

  package enum Name: String, Hashable, Sendable, CaseIterable {
    case settle, autosync, automerge, announce, arbiter, author, machine, mtime, reserve, keep,
      mergetool
    case search, searchlimit, isolated
    case onVersion = "on-version"
    case onConflict = "on-conflict"
    case onSync = "on-sync"

    static let commands: [Name] = [.mergetool, .onVersion, .onConflict, .onSync]

    package init(word: String) throws(ControlError) {
      guard let known = Name(rawValue: word) else {
        let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
        throw ControlError(.grammar, "unknown setting \"\(word)\"; settings are: \(names)")
      }
      self = known
    }
  }

  /// The time without a save or rename after which a version is made, in nanoseconds.
  package var settle: UInt64 = 2_000_000_000
  package var autosync: UInt64?
  /// True if received versions are merged without a command.
  package var automerge = true
  /// True if programs that watch directories get events for changes by merges and restores.
  package var announce = true
  /// The arbiter rules; empty for the engine's own choice.
  package var arbiters: [ArbiterRule] = []
  package var author = SystemProcess.userName
  package var machine = SystemProcess.hostName
  package var mtime = ReplacedTime.stored
  /// Automatic versions stop while fewer bytes than this are free.
  package var reserve: UInt64 = 256 << 20
  /// The versions whose bytes are kept.
  package var keep = KeepPolicy.everything
  /// True if the index of words, once it exists, is brought up to each new version.
  package var search = true
  /// Longer files are searched up to this many bytes.
  package var searchLimit: UInt64 = 8 << 20
  /// True for a copy that exchanges with no peer and runs no hook, as a backup is.
  package var isolated = false
  /// The program of `llvs mergetool`; empty for an installed one.
  package var mergetool = ""
  /// Commands to run after an event; empty for none.
  package var onVersion = ""
  package var onConflict = ""
  package var onSync = ""
  /// Stored settings without effect, because another user chose the programs that they run.
  package internal(set) var withheld: [Name] = []

  package init() {}

  /// One setting and its new value, checked; an empty value restores the default.
  package struct Assignment: Hashable, Sendable {
    package let name: Name
    package let value: String

    /// - Throws: ``ControlError`` of kind `grammar` for an unknown setting or an invalid value.
    package init(name: String, value: String) throws(ControlError) {
      self.name = try Name(word: name)
      self.value = value
      var scratch = StoreSettings()
      try scratch.assign(self)
    }
  }

  /// Reads stored settings by name; an unreadable one has its default and a sentence in `faults`.
  package init(stored: [String: [UInt8]], faults: inout [String]) {
    for name in Name.allCases {
      guard let bytes = stored[name.rawValue] else { continue }
      do throws(ControlError) {
        let text = String(decoding: bytes, as: UTF8.self)
        try assign(try Assignment(name: name.rawValue, value: text))
      } catch {
        faults.append(error.message)
      }
    }
  }

  /// - Throws: ``ControlError`` of kind `grammar` for an invalid value; nothing is changed then.
  package mutating func assign(_ assignment: Assignment) throws(ControlError) {
    let value = assignment.value
    let standard = StoreSettings()
    func refused(_ expected: String) -> ControlError {
      ControlError(.grammar, "\(assignment.name.rawValue)=\(value) is not \(expected)")
    }
    func isLine(upTo length: Int) -> Bool {
      value.utf8.count <= length && !value.unicodeScalars.contains { $0.value < 0x20 }
    }
    func name(or standard: String) throws(ControlError) -> String {
      guard isLine(upTo: 1024) else { throw refused("a name of one line, up to 1024 bytes") }
      return value.isEmpty ? standard : value
    }
    func isOn(or standard: Bool) throws(ControlError) -> Bool {
      switch value {
      case "on": true
      case "off": false
      case "": standard
      default: throw refused("on or off")
      }
    }
    func command() throws(ControlError) -> String {
      guard isLine(upTo: 4096) else { throw refused("a command of one line, up to 4096 bytes") }
      return value
    }
    func measured(
      _ parse: (String) -> UInt64?, _ range: ClosedRange<UInt64>, or standard: UInt64,
      _ expected: String
    ) throws(ControlError) -> UInt64 {
      if value.isEmpty { return standard }
      guard let number = parse(value), range.contains(number) else { throw refused(expected) }
      return number
    }
    switch assignment.name {
    case .settle:
      settle = try measured(
        Measure.duration, 0...3_600_000_000_000, or: standard.settle,
        "a time up to an hour, such as 2s or 500ms")
    case .autosync:
      autosync =
        value.isEmpty || value == "off"
        ? nil
        : try measured(
          Measure.duration, 1_000_000_000...31_536_000_000_000_000, or: 0,
          "off or a time from a second to a year, such as 5m")
    case .automerge: automerge = try isOn(or: standard.automerge)
    case .announce: announce = try isOn(or: standard.announce)
    case .arbiter: arbiters = value.isEmpty ? [] : try ArbiterRule.list(value)
    case .author: author = try name(or: standard.author)
    case .machine: machine = try name(or: standard.machine)
    case .mtime:
      guard let time = value.isEmpty ? standard.mtime : ReplacedTime(rawValue: value) else {
        throw refused("stored or now")
      }
      mtime = time
    case .reserve:
      reserve = try measured(
        Measure.size, 0...1 << 60, or: standard.reserve, "a size, such as 1G")
    case .keep:
      do throws(StoreError) {
        keep = try value.isEmpty ? standard.keep : KeepPolicy(value)
      } catch {
        throw ControlError(.grammar, "keep: \(ControlError(error).message)")
      }
    case .search: search = try isOn(or: standard.search)
    case .searchlimit:
      searchLimit = try measured(
        Measure.size, 4096...64 << 20, or: standard.searchLimit, "a size from 4K to 64M")
    case .isolated: isolated = try isOn(or: standard.isolated)
    case .mergetool: mergetool = try command()
    case .onVersion: onVersion = try command()
    case .onConflict: onConflict = try command()
    case .onSync: onSync = try command()
    }
  }

  /// The value of a setting as ``assign(_:)`` parses it.
  package func text(of name: Name) -> String {
    switch name {
    case .settle: Measure.text(duration: settle)
    case .autosync: autosync.map { Measure.text(duration: $0) } ?? "off"
    case .automerge: automerge ? "on" : "off"
    case .announce: announce ? "on" : "off"
    case .arbiter: arbiters.map(\.text).joined(separator: ",")
    case .author: author
    case .machine: machine
    case .mtime: mtime.rawValue
    case .reserve: Measure.text(size: reserve)
    case .keep: keep.text
    case .search: search ? "on" : "off"
    case .searchlimit: Measure.text(size: searchLimit)
    case .isolated: isolated ? "on" : "off"
    case .mergetool: mergetool
    case .onVersion: onVersion
    case .onConflict: onConflict
    case .onSync: onSync
    }
  }

  package var maker: Author {
    Author(
      name: author.isEmpty ? nil : author, machine: machine.isEmpty ? nil : machine)
  }

  /// The programs in a setting that are not installed here, in the order of the value. Of a shell command only the
  /// first word counts, if it is a plain name or path.
  package func missingPrograms(of name: Name) -> [String] {
    let programs: [String] =
      switch name {
      case .mergetool:
        mergetool.isEmpty ? [] : (try? MergeTool(mergetool)).map { [$0.words[0]] } ?? []
      case .onVersion: Self.program(of: onVersion)
      case .onConflict: Self.program(of: onConflict)
      case .onSync: Self.program(of: onSync)
      case .arbiter:
        arbiters.flatMap { rule -> [String] in
          guard case .exec(let command) = rule.arbiter else { return [] }
          return Self.program(of: command)
        }
      default: []
      }
    return programs.filter { !SystemProcess.isInstalled($0) }
  }

  /// Words that `sh` knows without a program.
  private static let shellWords: Set<String> = [
    "case", "cd", "command", "eval", "exec", "exit", "export", "for", "if", "read", "return", "set",
    "shift", "trap", "umask", "unset", "until", "wait", "while",
  ]

  private static func program(of command: String) -> [String] {
    let word = command.drop { $0 == " " }.prefix { $0 != " " }
    let isPlain = word.utf8.allSatisfy { $0.isPlain("_-+/.") }
    guard isPlain, word.contains(where: { $0.isLetter }), !shellWords.contains(String(word)) else {
      return []
    }
    return [String(word)]
  }

  // Programs would run as the mounting user, so those that another user set have no effect, as in git.

  /// Reads the settings in effect: unreadable ones have their defaults, and programs of another user that are not
  /// `confirmed` are withheld; `faults` gets a sentence about each.
  /// - Throws: ``StoreError/system(_:)``.
  package init(
    of store: Store, confirmed: Set<Assignment> = [], faults: inout [String]
  ) throws(StoreError) {
    let state = try store.state()
    faults += state.damagedSettings.map {
      "the setting \($0) is damaged; its default holds until it is set again"
    }
    self.init(stored: state.settings, faults: &faults)
    guard runsPrograms, let stranger = try store.ownerTrust().strangers.first else { return }
    withhold(besides: confirmed)
    faults += withheld.map { name in
      "the setting \(name.rawValue) runs programs, and the store belongs to user \(stranger): "
        + "it is not in force until it is set again while mounted, or chown has given the store away"
    }
  }

  private var runsPrograms: Bool {
    arbiters.contains { $0.arbiter.runsProgram }
      || Name.commands.contains { !text(of: $0).isEmpty }
  }

  /// Withholds the settings that run programs, except the confirmed ones.
  mutating func withhold(besides confirmed: Set<Assignment>) {
    func isConfirmed(_ name: Name) -> Bool {
      confirmed.contains { one in
        var other = StoreSettings()
        return one.name == name && (try? other.assign(one)) != nil
          && other.text(of: name) == text(of: name)
      }
    }
    if arbiters.contains(where: { $0.arbiter.runsProgram }), !isConfirmed(.arbiter) {
      arbiters.removeAll { $0.arbiter.runsProgram }
      withheld.append(.arbiter)
    }
    for name in Name.commands where !text(of: name).isEmpty && !isConfirmed(name) {
      switch name {
      case .mergetool: mergetool = ""
      case .onVersion: onVersion = ""
      case .onConflict: onConflict = ""
      case .onSync: onSync = ""
      default: continue
      }
      withheld.append(name)
    }
  }
}
