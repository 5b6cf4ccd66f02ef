import LLVSCore

/// The names of noted bundles, and the numbers that the catalog gives them.
struct BundleNumbers {
  private var names: [Int64: BundleName] = [:]
  private var numbers: [BundleName: Int64] = [:]

  /// Adds a name.
  mutating func add(_ name: BundleName, _ number: Int64) {
    names[number] = name
    numbers[name] = number
  }

  /// Removes a name, if it is there.
  mutating func remove(_ name: BundleName) {
    guard let number = numbers.removeValue(forKey: name) else { return }
    names[number] = nil
  }

  func name(of number: Int64) -> BundleName? { names[number] }

  func number(of name: BundleName) -> Int64? { numbers[name] }
}
