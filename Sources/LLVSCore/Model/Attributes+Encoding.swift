import Platform

// The encoding of attributes in digest 1: fields of tag u8, u32 length, bytes, in ascending order
// of tags. Each tag occurs at most once, except that of extended attributes, which ascend by name.
// Equal attributes have one encoding. See docs/formats.md, "Digest 1".

extension Attributes {
  /// The greatest length of an extended attribute's name, in bytes.
  package static let maximumNameLength = 255
  /// The greatest length of an extended attribute's value, in bytes.
  package static let maximumValueLength = 65_536
  /// The greatest length of all fields together, in bytes.
  package static let maximumEncodedLength = 131_072

  private enum Tag {
    static let mode: UInt8 = 1
    static let mtime: UInt8 = 2
    static let uid: UInt8 = 3
    static let gid: UInt8 = 4
    static let device: UInt8 = 5
    static let linkID: UInt8 = 6
    static let extended: UInt8 = 7
  }

  package func encode(into bytes: inout ByteWriter) {
    func header(_ tag: UInt8, _ length: Int, _ bytes: inout ByteWriter) {
      bytes.append(tag)
      bytes.append(bigEndian: UInt32(length))
    }
    if let mode {
      header(Tag.mode, 4, &bytes)
      bytes.append(bigEndian: mode & 0o7777)
    }
    if let mtime {
      header(Tag.mtime, 12, &bytes)
      bytes.append(bigEndian: mtime.seconds)
      bytes.append(bigEndian: mtime.nanoseconds)
    }
    if let uid {
      header(Tag.uid, 4, &bytes)
      bytes.append(bigEndian: uid)
    }
    if let gid {
      header(Tag.gid, 4, &bytes)
      bytes.append(bigEndian: gid)
    }
    if let device {
      header(Tag.device, 8, &bytes)
      bytes.append(bigEndian: device.major)
      bytes.append(bigEndian: device.minor)
    }
    if let linkID {
      header(Tag.linkID, linkID.count, &bytes)
      bytes.append(contentsOf: linkID)
    }
    for attribute in extended {
      header(Tag.extended, 2 + attribute.name.count + attribute.value.count, &bytes)
      bytes.append(bigEndian: UInt16(truncatingIfNeeded: attribute.name.count))
      bytes.append(contentsOf: attribute.name)
      bytes.append(contentsOf: attribute.value)
    }
  }

  package var encoded: [UInt8] {
    var bytes = ByteWriter()
    encode(into: &bytes)
    return bytes.array
  }

  private var encodedLength: Int {
    var length = mode == nil ? 0 : 9
    if mtime != nil { length += 17 }
    if uid != nil { length += 9 }
    if gid != nil { length += 9 }
    if device != nil { length += 13 }
    if linkID != nil { length += 21 }
    for attribute in extended { length += 7 + attribute.name.count + attribute.value.count }
    return length
  }

  /// The reason why these attributes cannot be stored; nil if they can.
  package var fault: String? {
    if let mode, mode > 0o7777 { return "a mode beyond 07777" }
    if let mtime, mtime.nanoseconds >= 1_000_000_000 { return "nanoseconds beyond a second" }
    if let linkID, linkID.count != 16 { return "a link id that is not 16 bytes" }
    var last: [UInt8] = []
    for attribute in extended {
      guard Self.isName(attribute.name), last.lexicographicallyPrecedes(attribute.name) else {
        return "extended attributes with names out of order or that are not kept"
      }
      guard attribute.value.count <= Self.maximumValueLength else {
        return "an extended attribute over \(Self.maximumValueLength) bytes"
      }
      last = attribute.name
    }
    if encodedLength > Self.maximumEncodedLength {
      return "attributes over \(Self.maximumEncodedLength) bytes"
    }
    return nil
  }

  private static func isName(_ name: some Collection<UInt8>) -> Bool {
    name.count <= maximumNameLength && ExtendedName.isKept(name) && !name.contains(0)
  }

  /// Reads fields that fill all of `bytes`; nil if they are no valid encoding.
  package init?(decoding bytes: UnsafeRawBufferPointer) {
    self.init(bytes) { attributes, name, value in
      attributes.extended.append(Extended(name: Array(name), value: Array(value)))
    }
  }

  /// Returns true if bytes are the encoding of attributes; does not copy the values of extended ones.
  static func isEncoding(_ bytes: UnsafeRawBufferPointer) -> Bool {
    Attributes(bytes) { _, _, _ in } != nil
  }

  private init?(
    _ bytes: UnsafeRawBufferPointer,
    _ addExtended: (inout Attributes, UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
  ) {
    self.init()
    guard bytes.count <= Self.maximumEncodedLength else { return nil }
    var reader = ByteReader(bytes)
    var lastTag: UInt8 = 0
    var lastName: UnsafeRawBufferPointer?
    while reader.remaining > 0 {
      guard let tag = reader.integer(UInt8.self), let length = reader.integer(UInt32.self),
        tag > lastTag || (tag == Tag.extended && lastTag == Tag.extended),
        let field = reader.take(Int(length))
      else { return nil }
      if tag == Tag.extended {
        guard let (name, value) = Self.extended(field, after: lastName) else { return nil }
        addExtended(&self, name, value)
        lastName = name
      } else if !setField(tag, field) {
        return nil
      }
      lastTag = tag
    }
  }

  /// The offset of the first extended attribute that a shortened entry lacks, in checked fields, and the number of
  /// bytes of all names and values from there on; nil if there are none.
  static func extendedPart(of fields: UnsafeRawBufferPointer) -> (offset: Int, length: Int)? {
    var reader = ByteReader(fields)
    var found: (offset: Int, length: Int)?
    while reader.remaining > 0 {
      let offset = reader.offset
      guard let tag = reader.integer(UInt8.self), let length = reader.integer(UInt32.self),
        let field = reader.take(Int(length))
      else { return nil }
      if tag == Tag.extended, found != nil || !staysInShortened(field) {
        // The two bytes of the name's length are not counted.
        found = (found?.offset ?? offset, (found?.length ?? 0) + Int(length) - 2)
      }
    }
    return found
  }

  private static func staysInShortened(_ field: UnsafeRawBufferPointer) -> Bool {
    let length = Int(field.bigEndian(UInt16.self, at: 0))
    return staysInShortened(field.part(2, length), valueLength: field.count - 2 - length)
  }

  private mutating func setField(_ tag: UInt8, _ field: UnsafeRawBufferPointer) -> Bool {
    switch (tag, field.count) {
    case (Tag.mode, 4):
      let value = field.bigEndian(UInt32.self, at: 0)
      guard value <= 0o7777 else { return false }
      mode = value
    case (Tag.mtime, 12):
      let nanoseconds = field.bigEndian(UInt32.self, at: 8)
      guard nanoseconds < 1_000_000_000 else { return false }
      mtime = Time(seconds: field.bigEndian(Int64.self, at: 0), nanoseconds: nanoseconds)
    case (Tag.uid, 4): uid = field.bigEndian(UInt32.self, at: 0)
    case (Tag.gid, 4): gid = field.bigEndian(UInt32.self, at: 0)
    case (Tag.device, 8):
      device = Device(
        major: field.bigEndian(UInt32.self, at: 0), minor: field.bigEndian(UInt32.self, at: 4))
    case (Tag.linkID, 16): linkID = Array(field)
    default: return false
    }
    return true
  }

  /// Splits the field of an extended attribute; nil if it is invalid or its name is not after `last`.
  private static func extended(
    _ field: UnsafeRawBufferPointer, after last: UnsafeRawBufferPointer?
  ) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
    guard field.count >= 2 else { return nil }
    let nameLength = Int(field.bigEndian(UInt16.self, at: 0))
    guard field.count >= 2 + nameLength,
      field.count - 2 - nameLength <= maximumValueLength
    else { return nil }
    let name = field.part(2, nameLength)
    guard isName(name) else { return nil }
    if let last, last.compare(to: name) >= 0 { return nil }
    return (name, field.part(2 + nameLength, field.count - 2 - nameLength))
  }
}
