import Inodes
import LLVSCore

// Changes of a node in place, because a copy would share its lists and a change would copy those too.

extension PendingNode {
  /// Notes changed bytes, or names in a directory.
  mutating func noteBytes(_ time: Attributes.Time, _ stamp: ChangeStamp) {
    attributes.mtime = time
    hasSetTime = false
    changed = time
    self.stamp = stamp
  }

  /// Adds a name, and `id` unless the file has one.
  mutating func gain(
    _ place: InodeName, _ id: [UInt8], _ time: Attributes.Time, _ stamp: ChangeStamp
  ) {
    if attributes.linkID == nil {
      attributes.linkID = id
      hasNewAttributes = true
    }
    append(place)
    changed = time
    self.stamp = stamp
  }

  private mutating func append(_ place: InodeName) {
    positions.indices?[place] = names.count
    let known = positions
    positions = NamePositions()
    names.append(place)
    positions = known
  }

  mutating func lose(_ place: InodeName, _ time: Attributes.Time, _ stamp: ChangeStamp) {
    remove(place)
    changed = time
    self.stamp = stamp
  }

  private mutating func remove(_ place: InodeName) {
    if names.count < Self.manyNames {
      names.removeAll { $0 == place }
    } else {
      removeOfMany(place)
    }
  }

  /// From this number of names on the list is not searched: a file may have 65,000.
  private static let manyNames = 64

  private mutating func removeOfMany(_ place: InodeName) {
    var indices =
      positions.indices
      ?? Dictionary(
        names.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
    // The last reference to the indices, so that a change of the list copies nothing.
    positions.indices = nil
    if let index = indices.removeValue(forKey: place) {
      names.swapAt(index, names.count - 1)
      names.removeLast()
      if index < names.count { indices[names[index]] = index }
    }
    positions.indices = indices
  }

  mutating func move(
    _ from: InodeName, _ to: InodeName, _ time: Attributes.Time, _ stamp: ChangeStamp
  ) {
    remove(from)
    remove(to)
    append(to)
    changed = time
    self.stamp = stamp
    // What a head changed at the old name does not concern the new one; the change of the old name has it.
    if names.count == 1 { setEpoch(nil) }
  }

  private mutating func setEpoch(_ epoch: Epoch?) {
    on = epoch
    file?.saved?.on = epoch
    file?.counted?.on = epoch
  }

  /// Removes the new attributes with the last name.
  mutating func becomeOrphan(_ reason: Orphan) {
    hasNewAttributes = false
    names = []
    orphan = reason
  }

  /// Keeps a directory that the head lost for what is pending in it, with no attributes of its own.
  mutating func hold(at place: InodeName) {
    names = [place]
    let time = attributes.mtime
    attributes = Attributes()
    attributes.mtime = time
    (hasNewAttributes, hasSetTime) = (false, false)
  }

  /// Returns false for a directory.
  mutating func alter(
    _ flags: Change.WriteFlags, _ seen: Epoch?, _ time: Attributes.Time, _ stamp: ChangeStamp,
    _ body: (inout FileContent) -> Void
  ) -> Bool {
    // A comparison with nil would copy the file.
    guard !isDirectory, case .some = file else { return false }
    on = on.older(seen)
    if hasSetTime { keepSetTime() }
    file?.alter(flags, time, body)
    noteBytes(time, stamp)
    return true
  }

  /// The time that utimensat(2) gave the earlier bytes stays theirs.
  private mutating func keepSetTime() {
    guard let file, file.saved == nil, !file.isUnsaved else { return }
    self.file?.saved = PendingFile.Save(
      content: file.content, mtime: attributes.mtime, time: changed, on: on,
      hasSetTime: true, isFirm: true)
  }

  /// Returns false if everything was saved already.
  mutating func save(
    _ time: Attributes.Time, _ stamp: ChangeStamp, isFirm: Bool, settle: UInt64
  ) -> Bool {
    guard let isUnsaved = file?.isUnsaved else { return false }
    guard isUnsaved else {
      if isFirm, file?.saved != nil { file?.saved?.isFirm = true }
      return false
    }
    file?.save(
      mtime: attributes.mtime, time, on: on, hasSetTime: hasSetTime, isFirm: isFirm, settle: settle)
    self.stamp = stamp
    return true
  }

  mutating func set(
    _ new: Attributes, _ time: Attributes.Time, _ stamp: ChangeStamp, setsTime: Bool
  ) {
    if setsTime || new.mtime != attributes.mtime { hasSetTime = true }
    attributes = new
    // Attributes go with the last name.
    hasNewAttributes = orphan == nil
    if let isUnsaved = file?.isUnsaved, !isUnsaved {
      file?.saved?.mtime = new.mtime
      file?.saved?.hasSetTime = hasSetTime
    }
    changed = time
    self.stamp = stamp
  }
}

extension PendingFile {
  fileprivate mutating func alter(
    _ flags: Change.WriteFlags, _ time: Attributes.Time, _ body: (inout FileContent) -> Void
  ) {
    if !isUnsaved, saved?.broken == nil { saved?.broken = time }
    let isFirst = !isUnsaved || isNeverSaved && content.size == 0
    isSteady = (isSteady || isFirst) && flags.contains(.steady)
    isMapped = isMapped || flags.contains(.mapped)
    isUnsaved = true
    body(&content)
  }

  fileprivate mutating func save(
    mtime: Attributes.Time?, _ time: Attributes.Time, on: Epoch?, hasSetTime: Bool,
    isFirm: Bool, settle: UInt64
  ) {
    if let last = saved, last.isFirm || last.hadQuiet(of: settle) { counted = last }
    saved = PendingFile.Save(
      content: content, mtime: mtime, time: time, on: on, hasSetTime: hasSetTime,
      isFirm: isFirm, isSteady: isSteady)
    isUnsaved = false
    isNeverSaved = false
    isMapped = false
    isSteady = true
  }
}
