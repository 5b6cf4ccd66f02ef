import Inodes

/// A dictionary of small values by inode number. A number is found by its hash alone, in one or two slots.
struct NumberMap<Value: Sendable>: Sendable {
  private struct Slot: Sendable {
    /// 0 if the slot is free.
    var number: UInt64 = 0
    var value: Value
  }

  /// Their number is a power of two. At least a quarter is free.
  private var slots: ContiguousArray<Slot> = []
  private(set) var count = 0
  /// The value of free slots.
  private let filler: Value
  private static var least: Int { 16 }

  init(filler: Value) { self.filler = filler }

  var isEmpty: Bool { count == 0 }
  var numbers: [InodeNumber] {
    slots.compactMap { $0.number == 0 ? nil : InodeNumber($0.number) }
  }

  private static func home(_ number: UInt64, _ mask: Int) -> Int {
    InodeNumber(number)._rawHashValue(seed: 0) & mask
  }

  /// The slot of a number, or the free one at which the search ends; needs a free slot.
  private func slot(of number: InodeNumber) -> Int {
    let mask = slots.count - 1
    return slots.withUnsafeBufferPointer { slots in
      var index = Self.home(number.rawValue, mask)
      while slots[index].number != 0, slots[index].number != number.rawValue {
        index = (index + 1) & mask
      }
      return index
    }
  }

  /// nil for a number without a value.
  private func index(of number: InodeNumber) -> Int? {
    guard count > 0, number.rawValue != 0 else { return nil }
    let index = slot(of: number)
    return slots[index].number == 0 ? nil : index
  }

  func contains(_ number: InodeNumber) -> Bool { index(of: number) != nil }

  /// - Complexity: O(1) on average.
  subscript(number: InodeNumber) -> Value? {
    get { index(of: number).map { slots[$0].value } }
    set {
      if let newValue {
        change(number, default: newValue) { $0 = newValue }
      } else if let index = index(of: number) {
        remove(at: index)
      }
    }
  }

  /// Changes the value of a number in place; nil without one.
  @discardableResult
  mutating func change<R>(_ number: InodeNumber, _ body: (inout Value) -> R) -> R? {
    index(of: number).map { body(&slots[$0].value) }
  }

  /// Changes the value of a number, which without one is `value`.
  @discardableResult
  mutating func change<R>(
    _ number: InodeNumber, default value: Value, _ body: (inout Value) -> R
  ) -> R {
    precondition(number.rawValue != 0, "an inode's number is not 0")
    if 4 * (count + 1) > 3 * slots.count { resize(to: max(Self.least, 2 * slots.count)) }
    let index = slot(of: number)
    if slots[index].number == 0 {
      slots[index] = Slot(number: number.rawValue, value: value)
      count += 1
    }
    return body(&slots[index].value)
  }

  /// Removes a slot, and moves back those behind it that it kept from their place.
  private mutating func remove(at index: Int) {
    let mask = slots.count - 1
    var (hole, next) = (index, (index + 1) & mask)
    while slots[next].number != 0 {
      let home = Self.home(slots[next].number, mask)
      // True if the home is not between the hole and the slot, around the end.
      if (next - home) & mask >= (next - hole) & mask {
        slots[hole] = slots[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    slots[hole] = Slot(value: filler)
    count -= 1
    if slots.count > Self.least, 8 * count < slots.count { resize(to: slots.count / 2) }
  }

  private mutating func resize(to size: Int) {
    let old = slots
    slots = ContiguousArray(repeating: Slot(value: filler), count: size)
    for slot in old where slot.number != 0 { slots[self.slot(of: InodeNumber(slot.number))] = slot }
  }
}
