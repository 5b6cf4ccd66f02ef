import Inodes
package import LLVSCore

extension GroupedRecording {
  /// Makes the journal's record of a cut at `stamp`, before the store commits it: what the versions took, and what
  /// later changes are made on. The tree goes on with `head`.
  /// - Complexity: O(*k*) for *k* changes.
  package func record(
    of cut: UInt64, at stamp: ChangeStamp, _ made: CutVersions, goingOnWith head: VersionNumber?
  ) -> TakingRecord {
    var last = tree.overlay.epoch
    var epochs: [EditGroup: Epoch] = [:]
    var versions: [TakingRecord.Group] = []
    for group in order {
      guard let version = made.groups[group] else { continue }
      if group != own {
        last = last.next
        epochs[group] = last
      }
      versions.append(
        TakingRecord.Group(
          predecessor: group.predecessor?.rawValue ?? 0, version: version.rawValue,
          epoch: epochs[group]))
    }
    var taken = TakenCut(at: stamp)
    taken.aside = recording.ignored
    taken.names.reserveCapacity(recording.edits.count + recording.nothing.count)
    taken.nodes.reserveCapacity(recording.edits.count)
    for (place, isThere) in recording.nothing {
      taken.names[place] = TakenCut.Name(
        .head, isThere: isThere, on: tree.overlay.changes[place]?.on)
    }
    for group in order {
      let destination: TakenCut.Destination =
        group == own ? .head : epochs[group].map { .beside($0) } ?? .nowhere
      for edit in groups[group] ?? [] { note(edit, destination, in: &taken) }
    }
    if let root = recording.root {
      taken.nodes[.root] = TakenCut.Node(.head, save: nil, on: root.on, attributes: root.attributes)
    }
    for place in recording.left { taken.names[place] = nil }
    // The tree no longer shows what an older version has already.
    let isNowhere = order.contains { $0 != own && made.groups[$0] == nil }
    let isForeign =
      !epochs.isEmpty || isNowhere || head != made.own ?? predecessors.head || made.renamesDisplaced
    return TakingRecord(
      cut: cut, epoch: isForeign ? last.next : nil, groups: versions, taken: taken)
  }

  private func note(
    _ edit: PathEdit, _ destination: TakenCut.Destination, in taken: inout TakenCut
  ) {
    if let place = edit.place {
      taken.names[place] = TakenCut.Name(destination, isThere: edit.isThere, on: edit.epoch)
    }
    guard edit.isThere, let number = edit.number, let node = edit.node,
      node.file != nil || node.hasNewAttributes
    else { return }
    // Names of a file that went to other versions have changes that say so.
    if let known = taken.nodes[number], known.destination == .head { return }
    taken.nodes[number] = TakenCut.Node(
      destination, save: edit.save, on: node.on, attributes: node.attributes,
      lacksExtended: node.lacksExtended)
  }
}

extension TakingRecord {
  /// The version made on the head; nil without one.
  package var own: VersionNumber? {
    groups.first { $0.epoch == nil }.map { VersionNumber($0.version) }
  }

  /// True if the head shows other names than the cut and the head before it.
  package var isForeign: Bool { epoch != nil }

  /// Returns the store's numbers of the versions that epochs mean from this cut on; 0 before the first version.
  /// `current` is the epoch of the tree before the head.
  package func epochs(after current: Epoch, head: VersionNumber?) -> [Epoch: UInt32] {
    var epochs: [Epoch: UInt32] = [:]
    for group in groups { epochs[group.epoch ?? current] = group.version }
    if let epoch { epochs[epoch] = head?.rawValue ?? 0 }
    return epochs
  }
}
