public typealias CompletionHandler<T> = (Result<T, any Error>) -> Void

extension Result {
  public var value: Success? { try? get() }
  public var voidResult: Result<Void, any Error> { map { _ in }.mapError { $0 } }
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
