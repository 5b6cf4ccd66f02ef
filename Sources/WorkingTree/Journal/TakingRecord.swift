import Inodes
import LLVSCore

/// A cut that is about to be committed: enough to finish it after a kill.
package struct TakingRecord: Hashable, Sendable {
  /// The version of one predecessor.
  package struct Group: Hashable, Sendable {
    /// The store's number of the predecessor.
    package var predecessor: UInt32
    /// The store's number reserved for the version.
    package var version: UInt32
    /// The epoch of the version; nil for the one that the tree continues with.
    package var epoch: Epoch?
  }

  package var cut: UInt64
  /// The epoch that begins with the new head; nil if the head only has what the tree showed.
  package var epoch: Epoch?
  package var groups: [Group]
  package var taken: TakenCut
}

extension TakingRecord.Group: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: predecessor, version, epoch)
  }
  init?(from reader: inout ByteReader) {
    guard let predecessor = UInt32(from: &reader), let version = UInt32(from: &reader),
      let epoch = Epoch?(from: &reader)
    else { return nil }
    self.init(predecessor: predecessor, version: version, epoch: epoch)
  }
}

extension TakingRecord: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: cut, epoch, groups, taken)
  }
  init?(from reader: inout ByteReader) {
    guard let cut = UInt64(from: &reader), let epoch = Epoch?(from: &reader),
      let groups = [Group](from: &reader), let taken = TakenCut(from: &reader)
    else { return nil }
    self.init(cut: cut, epoch: epoch, groups: groups, taken: taken)
  }
}

extension TakenCut.Destination: JournalCoded {
  /// u8 0 head, 1 next to: epoch, 2 nowhere.
  func encode(into bytes: inout ByteWriter) {
    switch self {
    case .head: bytes.append(0)
    case .beside(let epoch):
      bytes.append(1)
      epoch.encode(into: &bytes)
    case .nowhere: bytes.append(2)
    }
  }
  init?(from reader: inout ByteReader) {
    switch UInt8(from: &reader) {
    case 0?: self = .head
    case 1?:
      guard let epoch = Epoch(from: &reader) else { return nil }
      self = .beside(epoch)
    case 2?: self = .nowhere
    default: return nil
    }
  }
}

extension TakenCut: JournalCoded {
  private struct CodedName: JournalCoded {
    var place: InodeName
    var name: Name
    init(_ place: InodeName, _ name: Name) { (self.place, self.name) = (place, name) }
    func encode(into bytes: inout ByteWriter) {
      bytes.append(coded: place, name.destination, name.isThere, name.on)
    }
    init?(from reader: inout ByteReader) {
      guard let place = InodeName(from: &reader), let destination = Destination(from: &reader),
        let isThere = Bool(from: &reader),
        let on = reader.format < 2 ? .some(nil) : Epoch?(from: &reader)
      else { return nil }
      self.init(place, Name(destination, isThere: isThere, on: on))
    }
  }

  private struct CodedNode: JournalCoded {
    var number: InodeNumber
    var node: Node
    init(_ number: InodeNumber, _ node: Node) { (self.number, self.node) = (number, node) }
    func encode(into bytes: inout ByteWriter) {
      bytes.append(
        coded: number, node.destination, node.save, node.on, CodedAttributes(node.attributes),
        node.lacksExtended)
    }
    init?(from reader: inout ByteReader) {
      guard let number = InodeNumber(from: &reader), let destination = Destination(from: &reader),
        let save = PendingFile.Save?(from: &reader), let on = Epoch?(from: &reader),
        let attributes = CodedAttributes(from: &reader),
        let lacksExtended = reader.format < 3 ? false : Bool(from: &reader)
      else { return nil }
      self.init(
        number,
        Node(
          destination, save: save, on: on, attributes: attributes.attributes,
          lacksExtended: lacksExtended))
    }
  }

  func encode(into bytes: inout ByteWriter) {
    stamp.encode(into: &bytes)
    // Readers make dictionaries of both lists, so their order does not matter.
    UInt32(truncatingIfNeeded: names.count).encode(into: &bytes)
    for (place, name) in names { CodedName(place, name).encode(into: &bytes) }
    UInt32(truncatingIfNeeded: nodes.count).encode(into: &bytes)
    for (number, node) in nodes { CodedNode(number, node).encode(into: &bytes) }
  }
  init?(from reader: inout ByteReader) {
    guard let stamp = ChangeStamp(from: &reader), let names = [CodedName](from: &reader),
      let nodes = [CodedNode](from: &reader)
    else { return nil }
    self.init(at: stamp)
    for one in names { self.names[one.place] = one.name }
    for one in nodes { self.nodes[one.number] = one.node }
  }
}
