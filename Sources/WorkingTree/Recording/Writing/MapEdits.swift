import LLVSCore

/// A key of a map, of a value or of a directory.
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

  /// The map's order: by key, a directory after a value.
  static func < (a: MapPlace, b: MapPlace) -> Bool {
    a.key == b.key ? !a.isDirectory && b.isDirectory : a.key < b.key
  }
}

/// Edits of a map; the last one at a place counts. A list has the large entries and the hash table their indices,
/// because the table is half empty.
struct MapEdits {
  enum Edit {
    case put(Entry)
    case remove
  }

  private var list: [Entry] = []
  /// The index of a put in the list; below zero for a removal.
  private var places: [MapPlace: Int32] = [:]
  var isEmpty: Bool { places.isEmpty }

  subscript(place: MapPlace) -> Edit? {
    places[place].map { $0 < 0 ? .remove : .put(list[Int($0)]) }
  }

  func removes(_ place: MapPlace) -> Bool { (places[place] ?? 0) < 0 }

  mutating func put(_ entry: Entry) {
    list.append(entry)
    places[MapPlace(entry)] = Int32(list.count - 1)
  }

  mutating func remove(_ place: MapPlace) { places[place] = -1 }
  /// Drops an edit, because the map has the entry already.
  mutating func keep(_ place: MapPlace) { places[place] = nil }

  func forEachPut(_ body: (Entry) throws(StoreError) -> Void) throws(StoreError) {
    for index in places.values where index >= 0 { try body(list[Int(index)]) }
  }

  func sorted() -> SortedEdits {
    SortedEdits(
      order: places.sorted { $0.key < $1.key }.map { place, index in
        index < 0 ? .remove(place) : .put(index)
      }, list: list)
  }
}

/// Edits in the map's order, each made on demand.
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
