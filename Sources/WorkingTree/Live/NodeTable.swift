/// Nodes by inode number, in nine bytes a place.
///
/// Open addressing over two arrays: a tag of each place, which is all that is looked through, and the node
/// itself, which knows its number. A dictionary takes sixteen bytes a place, and of a place four bytes more
/// than it holds for every three.
///
/// - Complexity: each operation O(1) on average, but for growing and shrinking.
struct NodeTable {
  /// The tag of a place that holds nothing, behind which nothing stands that was on its way through it.
  private static let free: UInt8 = 0
  /// The tag of a place whose node went away, and which others went past.
  private static let left: UInt8 = 1
  private static let fewest = 8

  private var tags: [UInt8] = []
  private var places: [LiveNode?] = []
  private(set) var count = 0
  /// Places whose tag is not ``free``.
  private var worn = 0

  /// How many places there are.
  var capacity: Int { tags.count }

  /// The nodes, in no order that lasts.
  var values: some Sequence<LiveNode> { places.lazy.compactMap { $0 } }

  /// The node of a number.
  subscript(inode: UInt64) -> LiveNode? { place(of: inode).flatMap { places[$0] } }

  /// Takes a node in; one of the same number goes.
  mutating func insert(_ node: LiveNode) {
    if let place = place(of: node.inode) {
      places[place] = node
      return
    }
    // An eighth stays free, so that a look for what is not there ends soon.
    if (worn + 1) * 8 > capacity * 7 {
      // Where a third and more was only left, clearing that up gives enough room.
      resize(to: count * 32 > capacity * 21 ? capacity * 2 : capacity)
    }
    put(node)
    count += 1
  }

  /// Drops the node of a number, if there is one.
  mutating func remove(_ inode: UInt64) {
    guard let place = place(of: inode) else { return }
    places[place] = nil
    count -= 1
    let mask = capacity - 1
    if tags[(place + 1) & mask] == Self.free {
      // Nothing stands behind it, nor behind those before it that were only left.
      var last = place
      repeat {
        tags[last] = Self.free
        worn -= 1
        last = (last - 1) & mask
      } while tags[last] == Self.left
    } else {
      tags[place] = Self.left
    }
    // The room of many that went is given back.
    if capacity > 1 << 16, count < capacity / 8 { resize(to: capacity / 4) }
  }

  // MARK: - Places

  /// Mixed well: numbers come in sequences, and with strides.
  private static func hash(_ inode: UInt64) -> UInt64 {
    var hash = (inode ^ inode >> 32) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ hash >> 29) &* 0xBF58_476D_1CE4_E5B9
    return hash ^ hash >> 32
  }

  /// Of bits that do not say where it stands.
  private static func tag(_ hash: UInt64) -> UInt8 { UInt8(hash >> 57) | 0x80 }

  private func place(of inode: UInt64) -> Int? {
    guard count > 0 else { return nil }
    let hash = Self.hash(inode)
    let tag = Self.tag(hash)
    let mask = capacity - 1
    var place = Int(truncatingIfNeeded: hash) & mask
    while true {
      let found = tags[place]
      if found == tag, places[place]?.inode == inode { return place }
      if found == Self.free { return nil }
      place = (place + 1) & mask
    }
  }

  /// Puts a node that is not there at the first place that holds none.
  private mutating func put(_ node: LiveNode) {
    let hash = Self.hash(node.inode)
    let mask = capacity - 1
    var place = Int(truncatingIfNeeded: hash) & mask
    while tags[place] > Self.left { place = (place + 1) & mask }
    if tags[place] == Self.free { worn += 1 }
    tags[place] = Self.tag(hash)
    places[place] = node
  }

  private mutating func resize(to size: Int) {
    let old = places
    let size = max(size, Self.fewest)
    tags = [UInt8](repeating: Self.free, count: size)
    places = [LiveNode?](repeating: nil, count: size)
    worn = 0
    for case let node? in old { put(node) }
  }
}
