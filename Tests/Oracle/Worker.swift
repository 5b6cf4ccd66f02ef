import Foundation
import TestSupport

/// A call that was answered otherwise than the model says.
struct Wrong: Error, CustomStringConvertible {
  let description: String
}

/// The daemon died while a call was under way.
private struct Lost: Error {}

/// Does what its program chooses, and compares each answer with the model at once.
///
/// If the daemon dies the worker waits for another one. The call that was under way then has happened or has not;
/// every one before it has.
final class Worker {
  private let kernel: Kernel
  private var program: Program
  private(set) var model: Model
  private let seed: UInt64
  private var trail: [String] = []
  private var count = 0

  /// Creates a worker on the calling thread, which gets a working directory of its own.
  init(
    _ model: Model, mount: String, seed: UInt64, maps: Bool, isLocal: Bool
  ) throws {
    self.model = model
    self.seed = seed
    var dice = SeededRandom(seed: seed &+ UInt64(model.worker) &* 0x1_0001)
    kernel = Kernel(mount: mount, isLocal: isLocal, dice: SeededRandom(seed: dice.next()))
    program = Program(dice: dice, maps: maps)
    guard kernel.start() else { throw Wrong(description: "nothing is mounted") }
  }

  /// Works for a time; at the end nothing is open.
  func work(seconds: Double) throws {
    let end = Date().addingTimeInterval(seconds)
    var isOver = false
    while true {
      do {
        guard let call = program.next(model) else {
          isOver = isOver || Date() > end
          guard isOver else { continue }
          program.abandon()
          return try finish()
        }
        try step(call)
      } catch is Lost {
        try recover()
      }
    }
  }

  /// Compares all names with what the mount shows.
  func check() throws {
    var checked = model
    if let wrong = try difference(in: &checked) { throw self.wrong(wrong) }
  }

  private func finish() throws {
    try step(.enter(Place(directory: 0, name: ".")))
    for handle in model.handles.keys.sorted() { try step(.close(handle)) }
    try check()
  }

  private func step(_ call: Call) throws {
    count += 1
    trail.append(call.text(in: model))
    let before = model
    do {
      if let wrong = try Self.make(call, kernel, &model) { throw self.wrong(wrong) }
    } catch let lost as Lost {
      lostFrom = before
      lostCall = call
      throw lost
    }
  }

  /// The model without the call that was under way when the daemon died.
  private var lostFrom: Model?
  private var lostCall: Call?

  /// Makes a call, and returns how its answer differs from the model's; nil if it does not.
  private static func make(_ call: Call, _ kernel: Kernel, _ model: inout Model) throws -> String? {
    let before = model
    let expected = model.make(call)
    var found = kernel.make(call, before)
    if found.mayBeLoss(of: expected.answer), kernel.isLost { throw Lost() }
    if let directory = expected.node, model.isShared(directory) {
      let strange = found.take(own: model.prefix).filter { !Self.isSomebodys($0) }.sorted()
      if !strange.isEmpty { return "\(call.text(in: before)) shows \(strange)" }
    }
    guard found.isAs(expected.answer) else {
      return """
        \(call.text(in: before))
          expected: \(expected.answer)
          found:    \(found)\(found.difference(from: expected.answer).map { " (\($0))" } ?? "")
        \(second(call, kernel, before, expected.answer))
        \(names(call, kernel, before))
        """
    }
    switch (found, expected.node) {
    case (.status(let status), let node?): model.learn(node, status)
    case (.names(let names), let directory?): model.learn(directory, names)
    default: break
    }
    return nil
  }

  /// Makes a call once more that changes nothing, without the kernel's caches: says whether these were wrong.
  private static func second(
    _ call: Call, _ kernel: Kernel, _ model: Model, _ expected: Answer
  ) -> String {
    guard call.isReading, Kernel.dropCaches() else { return "" }
    var again = kernel.make(call, model)
    if case .names(let own) = expected, own.keys.allSatisfy({ $0.hasPrefix(model.prefix) }) {
      _ = again.take(own: model.prefix)
    }
    return
      "  then:     \(again.isAs(expected) ? "as expected, the kernel had something else" : "\(again)")"
  }

  /// What a directory with a wrong status has in it.
  private static func names(_ call: Call, _ kernel: Kernel, _ model: Model) -> String {
    guard case .status(let place) = call else { return "" }
    let handle = (model.handles.keys.max() ?? 0) + 1
    guard case .done = kernel.make(.open(place, [.read, .directory], as: handle), model)
    else { return "" }
    let names = kernel.make(.list(handle), model)
    _ = kernel.make(.close(handle), model)
    return "  in it:    \(names)"
  }

  /// True for the names that workers and the tests make in shared directories.
  private static func isSomebodys(_ name: String) -> Bool {
    name.wholeMatch(of: #/w[0-9]+-[a-z]|common|fill|start/#) != nil
  }

  private func difference(in model: inout Model) throws -> String? {
    for call in Program.walk(model, handle: 0) {
      if let wrong = try Self.make(call, kernel, &model) { return wrong }
    }
    return nil
  }

  // MARK: - The daemon died

  private func recover() throws {
    program.abandon()
    trail.append("the daemon died")
    let candidates = ([lostFrom, model].compactMap { $0 } + halfWritten).map { $0.mountedAgain() }
    while true {
      guard kernel.start() else { throw wrong("no other daemon came") }
      do {
        var differences: [String] = []
        for candidate in candidates {
          var checked = candidate
          guard let difference = try difference(in: &checked) else {
            model = checked
            return try saveAll()
          }
          differences.append(difference)
        }
        throw wrong(
          """
          after a kill without the call under way: \(differences[0])
          and with it: \(differences[1])
          and half-way: \(differences.dropFirst(2).joined(separator: "\n"))
          """)
      } catch is Lost {
        continue
      }
    }
  }

  /// The models with the beginning of the write that was under way: the kernel may write pages one by one.
  private var halfWritten: [Model] {
    guard let lostFrom, case .write(let handle, let place, let bytes)? = lostCall,
      let open = lostFrom.handles[handle]
    else { return [] }
    let start = open.flags.contains(.append) ? lostFrom[open.node].bytes.count : place
    return stride(from: 4096 - start % 4096, to: bytes.count, by: 4096).map { count in
      var half = lostFrom
      _ = half.make(.write(handle, at: place, bytes.prefix(count)))
      return half
    }
  }

  /// What was written and not saved waits for somebody to save it.
  private func saveAll() throws {
    (lostFrom, lostCall) = (model, nil)
    for place in model.places where model.find(place).map({ model[$0].kind }) == .file {
      for call: Call in [
        .open(place, [.read, .write], as: 0), .sync(0, dataOnly: false), .close(0),
      ] { try step(call) }
    }
  }

  private func wrong(_ what: String) -> Wrong {
    Wrong(
      description: """
        worker \(model.worker) of seed \(seed), call \(count), process \(getpid()): \(what)
        The last calls:
        \(trail.suffix(40).joined(separator: "\n"))
        The last calls of directories:
        \(trail.filter { $0.contains(/^(mkdir|rmdir|rename|the daemon)/) }.suffix(40).joined(separator: "\n"))
        """)
  }
}
