/// A function that gets the outcome of work that ended.
public typealias CompletionHandler<T> = (Result<T, any Error>) -> Void

extension Result {
  /// The value of a success; nil for a failure.
  public var value: Success? { try? get() }

  /// The same outcome without the value.
  public var voidResult: Result<Void, any Error> { map { _ in }.mapError { $0 } }

  /// True for a success.
  public var isSuccess: Bool { if case .success = self { true } else { false } }
}

extension ClosedRange where Bound == Int {
  /// Returns the range in parts of a length; the last one may be shorter.
  public func split(intoRangesOfLength size: Int) -> [ClosedRange<Int>] {
    stride(from: lowerBound, through: upperBound, by: size).map {
      $0...Swift.min($0 + size - 1, upperBound)
    }
  }
}
