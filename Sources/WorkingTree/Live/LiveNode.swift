import Inodes
import LLVSCore

// Guarded by `LiveTree.lock`.
//
// The kernel decides how many nodes are in memory, so a node is small: what it has in common with most
// others stands in it in few bytes, what only changed, open or odd nodes have is behind ``LiveNode/extra``.
// The base's entry of a plain node is not kept but made up when asked for: its key is where the base has
// the node's name, its attributes are the node's own.

/// A file, link or directory of the live tree that the kernel knows, a handle holds, or a change touches.
///
/// 168 bytes, and 8 of the allocator's; a node that is none of these three is dropped and found again in the base.
final class LiveNode {
  /// What stat(2) shows, and what the journal and the store name it by.
  let inode: UInt64
  /// The directory that holds it; nil for the root and for nodes without a name.
  private(set) var parent: LiveNode?
  /// What the kernel remembers: look-ups minus forgets.
  var lookups: UInt64 = 0
  private var beside: Beside
  private var ownName: NameBytes
  private var packedEntry = PackedEntry()
  private var changed: PackedTime
  private var packedAttributes = PackedAttributes()
  let kind: EntryKind
  private var flags = PackedFlags()

  /// What stands beside the node, in the room of one reference: next to none that is plain has anything.
  private enum Beside {
    case nothing
    case directory(LiveDirectory)
    case extra(Extra)
  }

  /// What only changed and open nodes have, and what they had beside them before.
  private final class Extra {
    let directory: LiveDirectory?
    var file: LiveFile?
    var handles: Int32 = 0
    var writers: Int32 = 0
    var stamp: UInt64 = 0
    var born: Attributes.Time?
    var rare: Rare?
    var lowest: Lowest?

    init(_ directory: LiveDirectory?) { self.directory = directory }
  }

  /// What next to no node has.
  private final class Rare {
    var furtherNames = NodeNames()
    var entry: Entry?
    var attributes: Attributes?
    var zeroBytes: UInt64 = 0
    var kernelID: UInt64?
    var storedExtended: StoredExtended?
    var baseExtended: StoredExtended?

    var isEmpty: Bool {
      furtherNames.isEmpty && entry == nil && attributes == nil && zeroBytes == 0
        && kernelID == nil && storedExtended == nil && baseExtended == nil
    }
  }

  init(
    inode: UInt64, kind: EntryKind, parent: LiveNode?, name: [UInt8], entry: Entry?,
    attributes: Attributes, ctime: Attributes.Time, directory: LiveDirectory?
  ) {
    self.inode = inode
    self.kind = kind
    self.parent = parent
    ownName = NameBytes(name)
    changed = PackedTime(ctime)
    beside = directory.map { .directory($0) } ?? .nothing
    parent?.pins += 1
    self.attributes = attributes
    self.entry = entry
  }

  // MARK: - What most nodes do not have

  private var extra: Extra? {
    if case .extra(let extra) = beside { return extra }
    return nil
  }

  private var made: Extra {
    if let extra { return extra }
    let new = Extra(directory)
    beside = .extra(new)
    return new
  }

  private var madeRare: Rare {
    let extra = made
    if let rare = extra.rare { return rare }
    let new = Rare()
    extra.rare = new
    return new
  }

  /// The pending side of a directory; nil of all else.
  var directory: LiveDirectory? {
    switch beside {
    case .nothing: nil
    case .directory(let directory): directory
    case .extra(let extra): extra.directory
    }
  }

  /// The pending side; nil where the bytes are the base's.
  var file: LiveFile? {
    get { extra?.file }
    set { if newValue != nil || extra != nil { made.file = newValue } }
  }

  /// Open handles.
  var handles: Int32 {
    get { extra?.handles ?? 0 }
    set {
      made.handles = newValue
      if newValue == 0 {
        extra?.lowest = nil
        compact()
      }
    }
  }

  /// Handles that may write.
  var writers: Int32 {
    get { extra?.writers ?? 0 }
    set { made.writers = newValue }
  }

  /// The oldest epoch that anybody wrote on while others had the file open, and when that was last.
  struct Lowest {
    var epoch: UInt64
    var stamp: UInt64
  }

  /// What is in the file is no newer than this for those who had it open then: nil as a rule.
  var lowest: Lowest? {
    get { extra?.lowest }
    set { if newValue != nil || extra?.lowest != nil { made.lowest = newValue } }
  }

  /// Nodes whose ``parent`` this is.
  var pins: Int32 {
    get { directory?.pins ?? 0 }
    set { directory?.pins = newValue }
  }

  /// Grows with every change; tells an install whether a cut saw the newest state.
  var stamp: UInt64 {
    get { extra?.stamp ?? 0 }
    set { made.stamp = newValue }
  }

  /// Its names besides ``name``, where it has several; see LiveTree+Links.
  var furtherNames: NodeNames { extra?.rare?.furtherNames ?? NodeNames() }

  /// Changes ``furtherNames`` in place, without a copy of tens of thousands.
  func changeFurtherNames<Result>(_ body: (inout NodeNames) -> Result) -> Result {
    body(&madeRare.furtherNames)
  }

  /// Bytes of its value in the base that are zeros and take no room.
  var zeroBytes: UInt64 {
    get { extra?.rare?.zeroBytes ?? 0 }
    set { if newValue != 0 || extra?.rare != nil { madeRare.zeroBytes = newValue } }
  }

  /// What the kernel names it by: the inode number, unless a merge gave its name other bytes while the
  /// kernel knew it; see LiveTree+Replace.
  var kernelID: UInt64 {
    get { extra?.rare?.kernelID ?? inode }
    set { if newValue != kernelID { madeRare.kernelID = newValue == inode ? nil : newValue } }
  }

  var ctime: Attributes.Time {
    get { changed.time }
    set {
      // Until the first change it came to be when it last changed.
      if extra?.born == nil, newValue != ctime { made.born = ctime }
      changed = PackedTime(newValue)
    }
  }

  /// When it came to be as far as this tree knows: its mtime where none was recorded.
  var born: Attributes.Time {
    get { extra?.born ?? ctime }
    set { if newValue != born { made.born = newValue } }
  }

  /// Whether it takes no more memory than itself and a long name.
  var isPlain: Bool { extra == nil }

  /// Gives back the memory that only a changed, open or odd node needs; to be called where a node may
  /// have become plain. What is seen of the node stays what it is.
  func compact() {
    guard let extra else { return }
    if let rare = extra.rare {
      if let entry = rare.entry, canPack(entry) { self.entry = entry }
      if rare.isEmpty { extra.rare = nil }
    }
    guard extra.rare == nil, extra.file == nil, extra.handles == 0, extra.writers == 0,
      extra.stamp == 0 || !isTouched,
      // Shown only where no mtime is recorded.
      extra.born == nil || extra.born == ctime || packedAttributes.hasTime
    else { return }
    beside = extra.directory.map { .directory($0) } ?? .nothing
  }

  // MARK: - Flags

  /// Stands in its parent's overrides.
  var isTouched: Bool {
    get { flags[.touched] }
    set { flags[.touched] = newValue }
  }

  /// The journal knows it.
  var isJournaled: Bool {
    get { flags[.journaled] }
    set { flags[.journaled] = newValue }
  }

  /// Attributes differ from the base's.
  var attributesChanged: Bool {
    get { flags[.attributesChanged] }
    set { flags[.attributesChanged] = newValue }
  }

  /// The mtime was set by utimensat(2).
  var explicitTime: Bool {
    get { flags[.explicitTime] }
    set { flags[.explicitTime] = newValue }
  }

  /// The base has another number at its name: the next head that is set must learn this one.
  var renewsInode: Bool {
    get { flags[.renewsInode] }
    set { flags[.renewsInode] = newValue }
  }

  /// Renamed since the base: it stands at another name than there.
  var isMoved: Bool {
    get { flags[.moved] }
    set { flags[.moved] = newValue }
  }

  private var form: PackedFlags.EntryForm {
    get { flags.form }
    set { flags.form = newValue }
  }

  // MARK: - Attributes and entry

  /// Without the extended ones where ``storedExtended`` says where those are.
  var attributes: Attributes {
    get { extra?.rare?.attributes ?? packedAttributes.attributes }
    set {
      // A packed entry has the node's attributes: it must keep those that it has.
      if form == .packed, newValue != attributes { keepWhole(entry) }
      if let packed = PackedAttributes(newValue) {
        packedAttributes = packed
        extra?.rare?.attributes = nil
      } else {
        madeRare.attributes = newValue
      }
    }
  }

  /// True if ``attributes`` have extended attributes. Access control lists are always among them, also
  /// where ``storedExtended`` has the others.
  var hasACL: Bool { extra?.rare?.attributes?.extended.isEmpty == false }

  /// Where its extended attributes are, which are long and in a version; nil where they are in
  /// ``attributes``.
  var storedExtended: StoredExtended? {
    get { extra?.rare?.storedExtended }
    set { if newValue != nil || extra?.rare != nil { madeRare.storedExtended = newValue } }
  }

  /// The same of ``entry``.
  var baseExtended: StoredExtended? {
    get { extra?.rare?.baseExtended }
    set { if newValue != nil || extra?.rare != nil { madeRare.baseExtended = newValue } }
  }

  /// Takes an entry of the base and its attributes.
  func take(_ entry: KeptEntry) {
    (storedExtended, baseExtended) = (entry.extended, entry.extended)
    // In this order an entry like its node packs.
    attributes = entry.entry.attributes
    self.entry = entry.entry
  }

  /// What the base holds for it; nil for a node that is not in the base. Without its extended attributes where
  /// ``baseExtended`` says where those are.
  var entry: Entry? {
    get {
      switch form {
      case .none: nil
      case .whole: extra?.rare?.entry
      case .packed:
        Entry(
          key: Key(bytes: basePath ?? name), kind: kind, attributes: packedAttributes.attributes,
          stored: packedEntry.stored, storedVersion: packedEntry.storedVersion, inode: inode,
          revision: packedEntry.revision)
      }
    }
    set {
      guard let newValue, canPack(newValue) else { return keepWhole(newValue) }
      packedEntry = PackedEntry(newValue)
      form = .packed
      extra?.rare?.entry = nil
    }
  }

  private func keepWhole(_ entry: Entry?) {
    if let entry { madeRare.entry = entry } else { extra?.rare?.entry = nil }
    form = entry == nil ? .none : .whole
    packedEntry = PackedEntry()
  }

  /// The bytes that the base holds for it.
  var stored: StoredContent? {
    switch form {
    case .none: nil
    case .packed: packedEntry.stored
    case .whole: extra?.rare?.entry?.stored
    }
  }

  /// Whether the base's entry has a time of its own.
  var recordsTime: Bool {
    form == .packed ? packedAttributes.hasTime : extra?.rare?.entry?.attributes.mtime != nil
  }

  /// Whether the base holds something for it.
  var isInBase: Bool { form != .none }

  /// Whether the base's entry says its number: that of a directory which only names below it imply may be
  /// another after the next mount.
  var hasBaseNumber: Bool {
    switch form {
    case .none: false
    case .packed: true
    case .whole: extra?.rare?.entry?.inode == inode
    }
  }

  /// Whether an entry can be made up from the rest of the node.
  private func canPack(_ entry: Entry) -> Bool {
    entry.inode == inode && entry.kind == kind && PackedEntry.holds(entry)
      && extra?.rare?.attributes == nil
      && extra?.rare?.furtherNames.isEmpty ?? true && packedAttributes.isEqual(entry.attributes)
      && isBasePath(entry.key.bytes)
  }

  /// Where the base has a node that was not moved.
  private var basePath: [UInt8]? {
    guard let above = parent?.directory?.basePath else { return nil }
    var path: [UInt8] = []
    path.reserveCapacity(above.count + 1 + ownName.count)
    path.append(contentsOf: above)
    if !above.isEmpty { path.append(0x2F) }
    ownName.withBytes { path.append(contentsOf: $0) }
    return path
  }

  private func isBasePath(_ path: [UInt8]) -> Bool {
    guard let above = parent?.directory?.basePath else { return false }
    let start = above.isEmpty ? 0 : above.count + 1
    guard path.count == start + ownName.count, above.isEmpty || path[above.count] == 0x2F else {
      return false
    }
    return path.withUnsafeBytes { path in
      ownName.withBytes { $0.elementsEqual(path[start...]) }
        && above.withUnsafeBytes { $0.elementsEqual(path[..<above.count]) }
    }
  }

  // MARK: - Names

  /// Its name in ``parent``.
  var name: [UInt8] { ownName.array }

  func isNamed(_ name: [UInt8]) -> Bool { ownName == name }

  /// Calls `body` with the bytes of its name.
  func withName<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { ownName.withBytes(body) }

  /// Gives a node of one name another place, or none.
  func move(to newParent: LiveNode?, as newName: [UInt8]) {
    // What the base has of it stays where it is.
    if form == .packed { keepWhole(entry) }
    parent?.pins -= 1
    parent = newParent
    ownName = NameBytes(newName)
    newParent?.pins += 1
  }

  /// Leaves its place when it is dropped from memory.
  func leave() {
    parent?.pins -= 1
    parent = nil
    if form == .packed { keepWhole(nil) }
  }

  // MARK: - Bytes

  /// The bytes as they stand.
  var content: FileContent {
    if let file { return file.content }
    guard let stored else { return FileContent() }
    return FileContent(stored: stored)
  }

  /// How many of the bytes take room.
  var storedSize: UInt64 {
    if let file { return file.content.stored(zerosInBase: zeroBytes) }
    return size > zeroBytes ? size - zeroBytes : 0
  }

  /// The bytes' count as they stand.
  var size: UInt64 {
    if let file { return file.content.size }
    return form == .packed ? packedEntry.length : stored?.length ?? 0
  }
}
