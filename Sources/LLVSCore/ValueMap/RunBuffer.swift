/// The items of one run under construction, in the form of the node that it usually becomes.
struct RunBuffer {
  let level: Int
  private(set) var bytes: [UInt8] = []
  private(set) var starts: [Int] = []
  private var digests: [Digest] = []

  init(level: Int) {
    self.level = level
    // A run of average length fits, so the buffer seldom grows.
    bytes.reserveCapacity(16_384)
    starts.reserveCapacity(128)
    if level == 0 { digests.reserveCapacity(128) }
    reset()
  }

  var isEmpty: Bool { starts.isEmpty }
  var count: Int { starts.count }

  mutating func reset() {
    bytes.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
    digests.removeAll(keepingCapacity: true)
    bytes.append(contentsOf: repeatElement(0, count: MapNode.headerLength))
  }

  mutating func append(_ item: [UInt8]) {
    starts.append(bytes.count)
    bytes.append(contentsOf: item)
    if level == 0 { digests.append(item.withUnsafeBytes { Digest.of(MapItem.content($0, at: 0)) }) }
  }

  /// Appends items of a node; only the node's last item can end a run.
  mutating func append(_ range: Range<Int>, of node: MapNode) {
    guard !range.isEmpty else { return }
    let start = Int(node.starts[range.lowerBound])
    let shift = bytes.count - start
    for index in range { starts.append(Int(node.starts[index]) + shift) }
    node.bytes.withUnsafeBytes { raw in
      bytes.append(contentsOf: raw.part(start, Int(node.starts[range.upperBound]) - start))
    }
    if level == 0 { for index in range { digests.append(node.entryDigest(index)) } }
  }

  /// Returns true if the run ends here, by the hash of the last item's key.
  func lastEndsRun() -> Bool {
    guard let start = starts.last else { return false }
    return bytes.withUnsafeBytes {
      KeyHash(MapItem.key($0, level, at: start)).endsRun(atLevel: level)
    }
  }

  /// Returns the ranges of items that become nodes: one, or for a run over 256 items the pieces of repeated cuts in
  /// two, each after the item with the smallest hash in the piece's middle half.
  func cut() -> [Range<Int>] {
    guard count > MapItem.maximumCount else { return [0..<count] }
    let hashes = bytes.withUnsafeBytes { raw in
      starts.map { KeyHash(MapItem.key(raw, level, at: $0)) }
    }
    var pieces: [Range<Int>] = []
    var open = [0..<count]
    while let range = open.popLast() {
      guard range.count > MapItem.maximumCount else {
        pieces.append(range)
        continue
      }
      let first = range.lowerBound + range.count / 4
      var smallest = first
      for index in first...(range.lowerBound + 3 * range.count / 4)
      where !(hashes[smallest] < hashes[index]) { smallest = index }
      open.append(smallest + 1..<range.upperBound)
      open.append(range.lowerBound..<smallest + 1)
    }
    return pieces
  }

  func node(_ range: Range<Int>) -> MapNode {
    let start = starts[range.lowerBound]
    let end = range.upperBound == count ? bytes.count : starts[range.upperBound]
    var node: [UInt8] = []
    node.reserveCapacity(MapNode.headerLength + end - start)
    node.append(MapNode.format)
    node.append(UInt8(level))
    node.append(bigEndian: UInt16(range.count))
    node.append(contentsOf: bytes[start..<end])
    var offsets: [UInt32] = []
    offsets.reserveCapacity(range.count + 1)
    let shift = start - MapNode.headerLength
    for index in range { offsets.append(UInt32(starts[index] - shift)) }
    offsets.append(UInt32(node.count))
    // A copy: the array of all digests is the buffer itself, with the capacity for the longest run.
    var known: [Digest] = []
    if level == 0 {
      known.reserveCapacity(range.count)
      known.append(contentsOf: digests[range])
    }
    return MapNode(trusted: node, starts: offsets, level: level, entryDigests: known)
  }
}
