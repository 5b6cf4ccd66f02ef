import LLVSCore

/// Entries of nodes in a map that is being made, by the nodes' numbers.
///
/// Entries are large and hash tables half empty: the tables hold where in a list each entry stands, which at
/// the cut of many files is a fifth of the room. A copy shares.
struct PlannedEntries: Sendable {
  fileprivate private(set) var list: [Entry] = []
  private var places: [UInt64: Int32] = [:]

  init() {}

  init(capacity: Int) {
    list.reserveCapacity(capacity)
    places.reserveCapacity(capacity)
  }

  var isEmpty: Bool { places.isEmpty }

  /// The numbers of all nodes that have one.
  var inodes: some Collection<UInt64> { places.keys }

  subscript(inode: UInt64) -> Entry? {
    get { places[inode].map { list[Int($0)] } }
    set {
      guard let newValue else {
        places[inode] = nil
        return
      }
      places[inode] = add(newValue)
    }
  }

  /// Takes over what another has, in the place of what is here.
  mutating func merge(_ other: PlannedEntries) {
    if isEmpty {
      self = other
    } else {
      for (inode, place) in other.places { self[inode] = other.list[Int(place)] }
    }
  }

  /// Adds an entry that no node is asked for; returns where it stands.
  fileprivate mutating func add(_ entry: Entry) -> Int32 {
    list.append(entry)
    return Int32(list.count - 1)
  }

  /// Adds a node's entry; returns where it stands.
  fileprivate mutating func put(_ entry: Entry, of inode: UInt64) -> Int32 {
    let place = add(entry)
    places[inode] = place
    return place
  }
}

/// Edits of a map on their way, and the entries of the nodes that they put.
struct PlannedEdits: Sendable {
  private(set) var entries: PlannedEntries
  /// Where what is put stands in the list of entries; below zero for what is removed.
  private var places: [MapPlace: Int32] = [:]

  init(capacity: Int) {
    entries = PlannedEntries(capacity: capacity)
    places.reserveCapacity(capacity)
  }

  /// What is done at a place; nil where that is nothing.
  subscript(place: MapPlace) -> MapEdit? {
    places[place].map { edit($0, at: place) }
  }

  /// Puts an entry, which is a node's unless that is nil.
  mutating func put(_ entry: Entry, of inode: UInt64?) {
    let place = inode.map { entries.put(entry, of: $0) } ?? entries.add(entry)
    places[MapPlace(entry)] = place
  }

  /// Notes a node's entry that the map has already.
  mutating func keep(_ entry: Entry, of inode: UInt64) {
    entries[inode] = entry
    places[MapPlace(entry)] = nil
  }

  mutating func remove(_ place: MapPlace) { places[place] = -1 }

  /// The edits in the map's order.
  func sorted() -> SortedEdits {
    SortedEdits(
      order: places.sorted { $0.key < $1.key }.map { place, index in
        index < 0 ? .remove(place) : .put(index)
      }, list: entries.list)
  }

  private func edit(_ index: Int32, at place: MapPlace) -> MapEdit {
    index < 0
      ? .remove(place.key, directory: place.isDirectory) : .put(entries.list[Int(index)])
  }
}

/// Edits in the map's order, each made when it is asked for.
struct SortedEdits: Sequence, Sendable {
  fileprivate enum Step: Sendable {
    case put(Int32)
    case remove(MapPlace)
  }

  fileprivate let order: [Step]
  fileprivate let list: [Entry]

  var count: Int { order.count }

  func makeIterator() -> AnyIterator<MapEdit> {
    var rest = order.makeIterator()
    return AnyIterator {
      switch rest.next() {
      case .put(let index)?: .put(list[Int(index)])
      case .remove(let place)?: .remove(place.key, directory: place.isDirectory)
      case nil: nil
      }
    }
  }
}
