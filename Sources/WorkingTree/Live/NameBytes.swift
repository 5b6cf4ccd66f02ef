/// The bytes of a name, up to 22 of them in place: most names need no memory of their own.
struct NameBytes {
  /// How many bytes stand in place.
  static let shortLimit = 22

  /// 22 bytes and their count.
  private struct Short {
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt32 = 0
    var fourth: UInt16 = 0
    var count: UInt8 = 0
  }

  private enum Form {
    case short(Short)
    case long([UInt8])
  }

  private let form: Form

  init(_ bytes: [UInt8]) {
    guard bytes.count <= Self.shortLimit else {
      form = .long(bytes)
      return
    }
    var short = Short()
    withUnsafeMutableBytes(of: &short) { $0.copyBytes(from: bytes) }
    short.count = UInt8(bytes.count)
    form = .short(short)
  }

  /// Calls `body` with the bytes, valid only meanwhile.
  @inline(__always)
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
    switch form {
    case .short(let short):
      withUnsafeBytes(of: short) {
        body(UnsafeRawBufferPointer(rebasing: $0[..<Int(short.count)]))
      }
    case .long(let bytes): bytes.withUnsafeBytes(body)
    }
  }

  var count: Int {
    switch form {
    case .short(let short): Int(short.count)
    case .long(let bytes): bytes.count
    }
  }

  var array: [UInt8] {
    if case .long(let bytes) = form { return bytes }
    return withBytes { Array($0) }
  }

  static func == (name: NameBytes, bytes: [UInt8]) -> Bool {
    if case .long(let own) = name.form { return own == bytes }
    return name.withBytes { own in own.count == bytes.count && own.elementsEqual(bytes) }
  }
}
