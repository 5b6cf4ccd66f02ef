@testable import LLVSCore
@testable import LLVSExchange

/// A remote of bundles with a sender and two removers, of which every interleaving can be tried.
///
/// One item, x, is in the first bundles of two writers, B and C. A sends a version that needs it and
/// would like to leave it out; B and C replace their first bundle by one without it where they may,
/// and remove the first after the grace. Time goes in ticks. A list may or may not show what was put
/// or removed fewer than `lag` ticks ago, each time anew. The decisions are those of ``RemoteView``
/// and of the rules beside it.
struct RemoteModel {
  var lag = 1
  var grace = 1
  /// A list is at most so many ticks old when a PUT begins whose leaving out rests on it; nil for
  /// any age (W4 switched off).
  var listAge: UInt64? = 1
  /// A lists again after its PUT (W5).
  var listsAgain = true
  /// Announced bundles do not count (D2).
  var announcedCountForNobody = true
  /// Later bundles repeat announcements (D2).
  var repeats = true
  /// B and C replace their second bundle too, so that an announcement that is not repeated goes.
  var replacesTwice = false
  var writers: Set<String> = ["A", "B"]
  /// A version that stands there needs x from the start.
  var isNeeded = false
  var senderCrashes: UInt8 = 1
  var removerCrashes: UInt8 = 1
  /// All bundles are so small that they count for their writer only, and go as soon as a list shows what replaces
  /// them.
  var areSmall = false
  /// Small ones count for all the same.
  var smallCountForAll = false
  /// A cannot read the bundles that announce first.
  var isUnreadable = false
  /// A relies on the other bundles all the same.
  var ignoresUnreadable = false

  /// An object: a bundle of one of the three.
  struct Object: Hashable {
    var writer: UInt8
    var sequence: UInt8
    var hasX: Bool
    var needsX: Bool
    /// Ticks since it was put, and since it was removed; at most the lag.
    var age: UInt8
    var gone: UInt8?
  }

  enum Phase: UInt8 {
    case listing, putting, putSecond, waiting, removing, removingSecond, done, dead
  }

  struct Actor: Hashable {
    var phase = Phase.listing
    /// A: x is left out. B, C: the new bundle has x.
    var flag = false
    /// Ticks since the list or the announcement.
    var age: UInt8 = 0
    var crashes: UInt8 = 0
  }

  struct State: Hashable {
    /// In the order of writers and sequences.
    var objects: [Object]
    var sender: Actor?
    var removers: [Actor?]
  }

  private static let names = ["A", "B", "C"]

  private static func name(_ object: Object) -> BundleName {
    BundleName(
      writer: names[Int(object.writer)], sequence: UInt64(object.sequence), length: 1,
      hash: .ofNothing)
  }

  /// The claim of a bundle about its writer's bundles.
  private func claim(_ object: Object) -> BundleClaim {
    var kept: Set<UInt64>
    if object.writer == 0 {
      kept = [1, 2]
    } else {
      switch (object.sequence, replacesTwice) {
      case (1, _): kept = [1]
      case (2, _): kept = [2]
      // The third replaces the second, or is only beside it.
      case (3, true): kept = repeats ? [3] : [1, 3]
      case (_, true): kept = repeats ? [3, 4] : [1, 2, 3, 4]
      case (_, false): kept = repeats ? [2, 4] : [1, 2, 4]
      }
    }
    kept = kept.filter { $0 <= UInt64(object.sequence) }
    return BundleClaim(
      writer: Self.names[Int(object.writer)], upTo: UInt64(object.sequence),
      kept: SequenceRuns(kept))
  }

  private func view(_ objects: [Object], of writer: UInt8) -> RemoteView {
    RemoteView(
      objects.compactMap { object in
        guard isUnreadable, writer == 0, object.writer != 0, object.sequence == 2 else {
          return KnownBundle(name: Self.name(object), claims: [claim(object)])
        }
        return ignoresUnreadable ? nil : KnownBundle(name: Self.name(object), reading: .malformed)
      },
      own: smallCountForAll ? Set(Self.names) : [Self.names[Int(writer)]],
      leastLength: areSmall ? 2 : 0)
  }

  /// Returns true if one of the objects of a list holds x and may be relied on, apart from some.
  private func isHeld(
    in list: [Object], of writer: UInt8, without: (Object) -> Bool = { _ in false }
  ) -> Bool {
    let view = view(list, of: writer)
    return list.contains { object in
      guard object.hasX, !without(object) else { return false }
      return announcedCountForNobody ? view.counts(Self.name(object)) : true
    }
  }

  /// Returns all lists that the remote may give.
  private func lists(_ objects: [Object]) -> [[Object]] {
    var lists: [[Object]] = [[]]
    for object in objects {
      let isSure = object.gone == nil && Int(object.age) >= lag
      lists = lists.flatMap { isSure ? [$0 + [object]] : [$0, $0 + [object]] }
    }
    return lists
  }

  private func put(_ new: Object, into objects: [Object]) -> [Object] {
    (objects.filter { $0.writer != new.writer || $0.sequence != new.sequence } + [new]).sorted {
      ($0.writer, $0.sequence) < ($1.writer, $1.sequence)
    }
  }

  private func removed(_ writer: UInt8, _ sequence: UInt8, from objects: [Object]) -> [Object] {
    objects.compactMap { object in
      guard object.writer == writer, object.sequence == sequence, object.gone == nil else {
        return object
      }
      guard lag > 0 else { return nil }
      var object = object
      object.gone = 0
      return object
    }
  }

  // MARK: Steps

  private func tick(_ state: State) -> State {
    var state = state
    state.objects = state.objects.compactMap { object in
      var object = object
      if let gone = object.gone {
        guard Int(gone) + 1 < lag else { return nil }
        object.gone = gone + 1
      } else {
        object.age = min(UInt8(lag), object.age + 1)
      }
      return object
    }
    if var sender = state.sender, sender.phase == .putting, let listAge {
      sender.age = min(UInt8(listAge) + 1, sender.age + 1)
      state.sender = sender
    }
    for index in state.removers.indices where state.removers[index]?.phase == .waiting {
      let age = state.removers[index]?.age ?? 0
      state.removers[index]?.age = min(UInt8(grace), age + 1)
    }
    return state
  }

  /// Returns every state that one step leads to, with its name.
  func steps(_ state: State) -> [(String, State)] {
    var next = [("tick", tick(state))]
    if let sender = state.sender { next += steps(of: sender, state) }
    for (index, remover) in state.removers.enumerated() {
      if let remover { next += steps(of: remover, UInt8(index + 1), state) }
    }
    return next
  }

  private func steps(of sender: Actor, _ state: State) -> [(String, State)] {
    var next: [(String, State)] = []
    func to(_ phase: Phase, _ name: String, _ objects: [Object]? = nil, flag: Bool = false) {
      var state = state
      state.sender = Actor(phase: phase, flag: flag, age: 0, crashes: sender.crashes)
      if let objects { state.objects = objects }
      next.append((name, state))
    }
    let rules = SendRules(listAge: listAge ?? .max)
    switch sender.phase {
    case .listing:
      for list in lists(state.objects) {
        let leavesOut = isHeld(in: list, of: 0) { $0.writer == 0 }
        to(.putting, "A lists\(leavesOut ? ", leaves x out" : "")", flag: leavesOut)
      }
    case .putting:
      guard rules.mayPut(listedAt: 0, now: UInt64(sender.age)) else {
        to(.listing, "A has to list again")
        break
      }
      let bundle = Object(
        writer: 0, sequence: 1, hasX: !sender.flag, needsX: true, age: 0, gone: nil)
      let relies = sender.flag && rules.mustListAgain(relyingOn: ["B"], as: "A")
      to(
        relies && listsAgain ? .putSecond : .done, "A puts a1", put(bundle, into: state.objects),
        flag: sender.flag)
    case .putSecond:
      for list in lists(state.objects) {
        guard !isHeld(in: list, of: 0) else {
          to(.done, "A lists again")
          continue
        }
        let bundle = Object(writer: 0, sequence: 2, hasX: true, needsX: false, age: 0, gone: nil)
        to(.done, "A lists again, puts x in a2", put(bundle, into: state.objects))
      }
    default: break
    }
    if sender.phase == .putting || sender.phase == .putSecond, sender.crashes < senderCrashes {
      var state = state
      state.sender = Actor(crashes: sender.crashes + 1)
      next.append(("A crashes and sends again", state))
      state.sender = Actor(phase: .dead)
      next.append(("A crashes for good", state))
    }
    return next
  }

  private func steps(
    of remover: Actor, _ writer: UInt8, _ state: State
  ) -> [(String, State)] {
    var next: [(String, State)] = []
    let letter = Self.names[Int(writer)].lowercased()
    func to(
      _ phase: Phase, _ name: String, _ objects: [Object]? = nil, flag: Bool = false,
      age: UInt8 = 0
    ) {
      var state = state
      state.removers[Int(writer) - 1] = Actor(
        phase: phase, flag: flag, age: age, crashes: remover.crashes)
      if let objects { state.objects = objects }
      next.append(("\(letter) \(name)", state))
    }
    func isGoing(_ object: Object) -> Bool {
      object.writer == writer && object.sequence <= (replacesTwice ? 2 : 1)
    }
    func isMissed(_ list: [Object]) -> Bool {
      let needs = isNeeded || list.contains { $0.needsX }
      return needs
        && !RemovalRules.uncovered(
          ["x"], in: view(list, of: writer),
          holders: { _ in list.filter { $0.hasX && !isGoing($0) }.map(Self.name) }
        ).isEmpty
    }
    func bundle(_ sequence: UInt8, _ hasX: Bool) -> [Object] {
      put(
        Object(writer: writer, sequence: sequence, hasX: hasX, needsX: false, age: 0, gone: nil),
        into: state.objects)
    }
    switch remover.phase {
    case .listing:
      for list in lists(state.objects) {
        let keeps =
          announcedCountForNobody
          ? isMissed(list)
          : (isNeeded || list.contains { $0.needsX })
            && !isHeld(in: list, of: writer, without: isGoing)
        to(.putting, "lists\(keeps ? ", keeps x" : "")", flag: keeps)
      }
    case .putting:
      to(
        replacesTwice ? .putSecond : .waiting, "puts \(letter)2", bundle(2, remover.flag),
        flag: remover.flag)
    case .putSecond: to(.waiting, "puts \(letter)3", bundle(3, remover.flag))
    case .waiting:
      let rules = RemovalRules(grace: Int64(grace))
      guard
        areSmall
          || rules.hasPassed(
            since: .init(made: 0, written: nil), .init(now: Int64(remover.age), newest: nil))
      else { break }
      for list in lists(state.objects) {
        let going = Object(
          writer: writer, sequence: 1, hasX: true, needsX: false, age: 0, gone: nil)
        guard !areSmall || view(list, of: writer).isAnnounced(Self.name(going)) else { continue }
        let misses =
          announcedCountForNobody
          ? isMissed(list)
          : (isNeeded || list.contains { $0.needsX })
            && !isHeld(in: list, of: writer, without: isGoing)
        to(
          .removing, misses ? "checks, puts x in \(letter)4" : "checks",
          misses ? bundle(4, true) : nil)
      }
    case .removing:
      to(
        replacesTwice ? .removingSecond : .done, "removes \(letter)1",
        removed(writer, 1, from: state.objects))
    case .removingSecond:
      to(.done, "removes \(letter)2", removed(writer, 2, from: state.objects))
    case .done, .dead: break
    }
    if remover.phase != .listing, remover.phase != .done, remover.phase != .dead,
      remover.crashes < removerCrashes
    {
      var state = state
      let phase: Phase
      var age: UInt8 = 0
      switch remover.phase {
      case .putting: phase = .listing
      case .putSecond: phase = .putSecond
      default:
        phase = .waiting
        // What it noted of its announcement is still there.
        age = remover.phase == .waiting ? remover.age : UInt8(grace)
      }
      state.removers[Int(writer) - 1] = Actor(
        phase: phase, flag: remover.flag, age: age, crashes: remover.crashes + 1)
      next.append(("\(letter) crashes", state))
    }
    return next
  }

  // MARK: The search

  /// Returns true if x is lost although it is needed.
  private func isLost(_ state: State) -> Bool {
    if state.objects.contains(where: { $0.hasX && $0.gone == nil }) { return false }
    return isNeeded || state.sender?.phase == .done
  }

  /// Tries every order of steps.
  ///
  /// - Returns: the steps to the first loss, nil if there is none; and the number of states.
  func search() -> (loss: [String]?, states: Int) {
    var objects: [Object] = []
    for (index, name) in Self.names.enumerated().dropFirst() where writers.contains(name) {
      objects.append(
        Object(
          writer: UInt8(index), sequence: 1, hasX: true, needsX: false, age: UInt8(lag), gone: nil))
    }
    let start = State(
      objects: objects, sender: writers.contains("A") ? Actor() : nil,
      removers: ["B", "C"].map { writers.contains($0) ? Actor() : nil })
    var came: [State: (from: Int, step: String)] = [start: (-1, "")]
    var order = [start]
    var next = 0
    while next < order.count {
      let state = order[next]
      if isLost(state) {
        var steps: [String] = []
        var at = next
        while at >= 0, let (from, step) = came[order[at]], from >= 0 {
          steps.append(step)
          at = from
        }
        return (steps.reversed(), order.count)
      }
      for (step, following) in steps(state) where came[following] == nil {
        came[following] = (next, step)
        order.append(following)
      }
      next += 1
    }
    return (nil, order.count)
  }
}
