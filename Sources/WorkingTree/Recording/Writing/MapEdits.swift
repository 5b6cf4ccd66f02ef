import LLVSCore

/// A place of a map: a key, of a value or of a directory.
struct MapPlace: Hashable, Comparable, Sendable {
  var key: Key
  var isDirectory: Bool

  init(key: Key, isDirectory: Bool) {
    self.key = key
    self.isDirectory = isDirectory
  }

  init(_ entry: Entry) {
    key = entry.key
    isDirectory = entry.isDirectory
  }

  /// The order of the map: by key, then a directory after a value.
  static func < (a: MapPlace, b: MapPlace) -> Bool {
    a.key == b.key ? !a.isDirectory && b.isDirectory : a.key < b.key
  }
}

/// Edits of a map on their way; of several at one place the last counts.
///
/// Entries are large and hash tables half empty: the table holds where in a list each entry stands.
struct MapEdits {
  /// An edit at a place.
  enum Edit {
    case put(Entry)
    case remove
  }

  private var list: [Entry] = []
  /// The place in the list of what is put; below zero for what is removed.
  private var places: [MapPlace: Int32] = [:]

  var isEmpty: Bool { places.isEmpty }

  /// The edit at a place; nil for nothing.
  subscript(place: MapPlace) -> Edit? {
    places[place].map { $0 < 0 ? .remove : .put(list[Int($0)]) }
  }

  func removes(_ place: MapPlace) -> Bool { (places[place] ?? 0) < 0 }

  mutating func put(_ entry: Entry) {
    list.append(entry)
    places[MapPlace(entry)] = Int32(list.count - 1)
  }

  mutating func remove(_ place: MapPlace) { places[place] = -1 }

  /// The map has what is to be there already.
  mutating func keep(_ place: MapPlace) { places[place] = nil }

  /// Calls a body with the keys of all entries that are put.
  func forEachPut(_ body: (Entry) throws(StoreError) -> Void) throws(StoreError) {
    for index in places.values where index >= 0 { try body(list[Int(index)]) }
  }

  /// The edits in the map's order.
  func sorted() -> SortedEdits {
    SortedEdits(
      order: places.sorted { $0.key < $1.key }.map { place, index in
        index < 0 ? .remove(place) : .put(index)
      }, list: list)
  }
}

/// Edits in the map's order, each made when it is asked for.
struct SortedEdits: Sequence {
  fileprivate enum Step {
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
