import Inodes
import LLVSCore

/// The difference between an overlay and its changed copy.
package struct OverlayEdits: Equatable, Sendable {
  struct Node: Equatable, Sendable {
    var number: InodeNumber
    var node: PendingNode?
  }

  struct Name: Hashable, Sendable {
    var place: InodeName
    var change: NameChange?
  }

  private var epoch: Epoch
  private var stamp: ChangeStamp
  private var isCutting: Bool
  private var nodes: [Node] = []
  private var names: [Name] = []

  /// Finds the difference, in O(*k*) for *k* nodes and changes that were touched since the copy.
  package init(from old: Overlay, to new: Overlay) {
    (epoch, stamp, isCutting) = (new.epoch, new.stamp, new.isCutting)
    new.nodes.forEachDifference(from: old.nodes) { nodes.append(Node(number: $0, node: $2)) }
    new.changes.forEachDifference(from: old.changes) { names.append(Name(place: $0, change: $2)) }
  }

  var newNodes: some Sequence<PendingNode> { nodes.lazy.compactMap(\.node) }

  /// The same edits with bytes at new places.
  func moved(_ moves: ExtentMoves) -> OverlayEdits {
    var edits = self
    for index in nodes.indices { edits.nodes[index].node?.file?.apply(moves) }
    return edits
  }

  func skip(in overlay: inout Overlay) {
    (overlay.epoch, overlay.stamp) = (epoch, stamp)
    if isCutting { overlay.isCutting = true } else { overlay.endCut() }
  }

  fileprivate func apply(to overlay: inout Overlay) {
    for edit in nodes {
      overlay.forget(edit.number)
      guard let node = edit.node else { continue }
      overlay.nodes[edit.number] = node
      if node.orphan != nil { overlay.orphans.insert(edit.number) }
      if node.isListable { overlay.sinceCut.inodes.insert(edit.number) }
    }
    for edit in names { overlay.setChange(edit.change, at: edit.place) }
    skip(in: &overlay)
  }
}

extension Overlay {
  package mutating func apply(_ edits: OverlayEdits) { edits.apply(to: &self) }
}

extension OverlayEdits.Node: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: number, node)
  }
  init?(from reader: inout ByteReader) {
    guard let number = InodeNumber(from: &reader), let node = PendingNode?(from: &reader)
    else { return nil }
    self.init(number: number, node: node)
  }
}

extension OverlayEdits.Name: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: place, change)
  }
  init?(from reader: inout ByteReader) {
    guard let place = InodeName(from: &reader), let change = NameChange?(from: &reader) else {
      return nil
    }
    self.init(place: place, change: change)
  }
}

extension OverlayEdits: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: epoch, stamp, isCutting, nodes, names)
  }
  init?(from reader: inout ByteReader) {
    guard let epoch = Epoch(from: &reader), let stamp = ChangeStamp(from: &reader),
      let isCutting = Bool(from: &reader), let nodes = [Node](from: &reader),
      let names = [Name](from: &reader)
    else { return nil }
    (self.epoch, self.stamp, self.isCutting) = (epoch, stamp, isCutting)
    (self.nodes, self.names) = (nodes, names)
  }
}
