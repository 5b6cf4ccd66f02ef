// Objects, and arrays of objects with ids: items are identified by their keys or ids.

extension JSONMerge {
  private typealias Identity = ArraySlice<UInt8>

  /// The members that may identify elements of an array, in order of preference.
  private static let idKeys = ["\"id\"", "\"_id\"", "\"uuid\"", "\"key\""].map {
    ArraySlice($0.utf8)
  }

  mutating func members(_ x: [Item], _ y: [Item], _ z: [Item], _ a: JSONText) -> ArraySlice<UInt8> {
    let (o, p, q) = (x.map(\.key), y.map(\.key), z.map(\.key))
    return written(items((x, o), (y, p), (z, q), isOrdered: false), y, z, a)
  }

  /// Merges the elements of arrays, by their ids where all have one.
  mutating func array(_ x: [Item], _ y: [Item], _ z: [Item], _ a: JSONText) -> ArraySlice<UInt8> {
    guard let key = sharedIDKey(x, y, z) else { return elements(x, y, z, a) }
    func ids(_ items: [Item], _ text: [UInt8]) -> [Identity] {
      items.map { item in
        guard case .object(let members, let index) = item.value.kind, let place = index[key] else {
          return []
        }
        return text[members[place].value.range]
      }
    }
    let (o, p, q) = (ids(x, base.text), ids(y, older.text), ids(z, newer.text))
    return written(items((x, o), (y, p), (z, q), isOrdered: true), y, z, a)
  }

  /// The member that identifies all elements of all three arrays.
  private func sharedIDKey(_ x: [Item], _ y: [Item], _ z: [Item]) -> ArraySlice<UInt8>? {
    func tellsApart(_ key: ArraySlice<UInt8>, _ items: [Item], _ text: [UInt8]) -> Bool {
      var seen: Set<ArraySlice<UInt8>> = []
      return items.allSatisfy { item in
        guard case .object(let members, let index) = item.value.kind, let place = index[key],
          case .scalar = members[place].value.kind
        else { return false }
        return seen.insert(text[members[place].value.range]).inserted
      }
    }
    return Self.idKeys.first {
      tellsApart($0, x, base.text) && tellsApart($0, y, older.text) && tellsApart($0, z, newer.text)
    }
  }

  private mutating func items(
    _ inBase: (items: [Item], names: [Identity]), _ mine: (items: [Item], names: [Identity]),
    _ theirs: (items: [Item], names: [Identity]), isOrdered: Bool
  ) -> [Output] {
    func table(_ side: (items: [Item], names: [Identity])) -> [Identity: Int] {
      Dictionary(zip(side.names, side.items.indices)) { $1 }
    }
    let (o, a, b) = (table(inBase), table(mine), table(theirs))
    var outputs: [Identity: Output] = [:]
    for (place, name) in mine.names.enumerated() {
      let item = mine.items[place]
      let old = o[name].map { inBase.items[$0].value }
      if let other = b[name] {
        outputs[name] = self.item(old, item, theirs.items[other], place: place)
      } else if let old {
        outputs[name] =
          isBase(old, older: item.value) ? nil : removed(own(item, place: place), by: .newer)
      } else {
        outputs[name] = own(item, place: place)
      }
    }
    for (name, item) in zip(theirs.names, theirs.items) where a[name] == nil {
      if let old = o[name].map({ inBase.items[$0].value }) {
        outputs[name] = isBase(old, newer: item.value) ? nil : removed(other(item), by: .older)
      } else {
        outputs[name] = other(item)
      }
    }
    // The side that changed the order of the items decides the order; if both did, the newer.
    var isNewersOrder = false
    if isOrdered {
      func order(_ names: [Identity]) -> [Identity] {
        names.filter { o[$0] != nil && a[$0] != nil && b[$0] != nil }
      }
      let (before, first, second) = (order(inBase.names), order(mine.names), order(theirs.names))
      isNewersOrder = second != before && second != first
      if isNewersOrder, first != before { noteClash() }
    }
    return
      (isNewersOrder
      ? arranged(theirs.names, mine.names, a, othersFirst: true)
      : arranged(mine.names, theirs.names, b, othersFirst: false)).compactMap { outputs[$0] }
  }

  private enum Side {
    case older
    case newer
  }

  /// An item that one side changed and the other removed; nil if the merge removes it.
  private mutating func removed(_ output: Output, by side: Side) -> Output? {
    noteClash()
    guard markers != nil else { return side == .newer ? nil : output }
    var output = output
    output.choice =
      side == .newer
      ? Choice(older: [output.bytes], newer: []) : Choice(older: [], newer: [output.bytes])
    return output
  }

  /// The names of both sides in one order. Names that only the second side has follow their predecessor in it,
  /// before the first side's own names if `othersFirst`.
  private func arranged(
    _ names: [Identity], _ others: [Identity], _ isInOthers: [Identity: Int], othersFirst: Bool
  ) -> [Identity] {
    let known = Set(names)
    var added: [Identity: [Identity]] = [:]
    var first: [Identity] = []
    var anchor: Identity?
    for name in others {
      if known.contains(name) {
        anchor = name
      } else if let anchor {
        added[anchor, default: []].append(name)
      } else {
        first.append(name)
      }
    }
    var all: [Identity] = []
    var waiting = first
    for name in names {
      if othersFirst || isInOthers[name] != nil {
        all += waiting
        waiting = []
      }
      all.append(name)
      if let more = added[name] { waiting = more }
    }
    return all + waiting
  }
}
