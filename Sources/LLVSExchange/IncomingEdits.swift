import LLVSCore

/// The edits by which a received version changes a map, in the map's order.
/// At most one frame and one value's attributes are in memory: a few bytes may unpack to a thousand times more.
/// - Concurrency: for one thread at a time.
final class IncomingEdits {
  private let installer: VersionInstaller
  private let base: ValueMap
  private let number: VersionNumber
  private let changes: [Key: VersionInstaller.Change]
  private var changed: ArraySlice<Key>
  private var values: AttributeReader
  private var directories: AttributeReader
  private var value: AttributeItem?
  private var directory: AttributeItem?
  /// The bytes of all extended attributes so far, with names.
  private(set) var extendedLength = 0
  private(set) var keys: [Key] = []

  init(
    _ installer: VersionInstaller, _ changes: [Key: VersionInstaller.Change],
    _ metadata: Version.Metadata, over base: ValueMap, _ number: VersionNumber
  ) throws(StoreError) {
    self.installer = installer
    self.changes = changes
    self.base = base
    self.number = number
    changed = changes.keys.sorted()[...]
    values = AttributeReader(.values, of: metadata)
    directories = AttributeReader(.directories, of: metadata)
    value = try values.next()
    directory = try directories.next()
    try countExtended(value)
    try countExtended(directory)
  }

  /// Returns the next edit; throws ``StoreError/invalid(_:)`` with the fault of the version.
  func next() throws(StoreError) -> MapEdit? {
    while let edit = try step() {
      guard let edit = edit.made else { continue }
      if keys.last != edit.key { keys.append(edit.key) }
      return edit
    }
    return nil
  }

  /// The result for a key; the edit may be nil.
  private struct Step {
    var made: MapEdit?
  }

  private func step() throws(StoreError) -> Step? {
    let key: Key
    switch (changed.first, value?.key) {
    case (let a?, let b?): key = min(a, b)
    case (let a?, nil): key = a
    case (nil, let b?): key = b
    case (nil, nil):
      guard let item = directory else { return nil }
      return Step(made: try edit(ofDirectory: item))
    }
    // A value comes before the directory of the same key.
    if let item = directory, item.key < key { return Step(made: try edit(ofDirectory: item)) }
    return Step(made: try edit(ofValue: key))
  }

  private func edit(ofValue key: Key) throws(StoreError) -> MapEdit? {
    var edit: MapEdit?
    if changed.first == key {
      changed.removeFirst()
      if let change = changes[key] { edit = try installer.edit(of: change, over: base, number) }
    }
    guard let item = value, item.key == key else { return edit }
    value = try values.next()
    try countExtended(value)
    let found: Entry?
    switch edit {
    case .put(let entry): found = entry
    case .remove: found = nil
    case nil: found = try base.entry(at: key)
    }
    guard let kind = item.kind, var entry = found else {
      throw .invalid("it has attributes for \(key.rawValue), where it has no value")
    }
    guard entry.kind != kind || entry.attributes != item.attributes else { return edit }
    entry.kind = kind
    entry.attributes = item.attributes
    if entry.storedVersion != number { entry.revision = try installer.transaction.allotRevisions() }
    return .put(entry)
  }

  private func edit(ofDirectory item: AttributeItem) throws(StoreError) -> MapEdit? {
    directory = try directories.next()
    try countExtended(directory)
    let old = try base.entry(at: item.key, directory: true)
    guard item.kind != nil else { return old == nil ? nil : .remove(item.key, directory: true) }
    guard old?.attributes != item.attributes else { return nil }
    let transaction = installer.transaction
    return .put(
      Entry(
        key: item.key, kind: .directory, attributes: item.attributes,
        stored: StoredContent(length: 0, digest: .ofNothing, content: .none),
        storedVersion: old?.storedVersion ?? number, revision: try transaction.allotRevisions()))
  }

  private func countExtended(_ item: AttributeItem?) throws(StoreError) {
    guard let attributes = item?.attributes, !attributes.extended.isEmpty else { return }
    extendedLength += attributes.extendedLength
    guard extendedLength <= AttributeList.maximumExtended else {
      throw .invalid(
        "it has extended attributes of more than \(AttributeList.maximumExtended) bytes")
    }
  }
}
