extension RandomAccessCollection {
  /// Returns the index of the first element for which the predicate is true, after those for which it is false.
  /// Inlinable, so that callers in other modules get a loop without a closure.
  /// - Complexity: O(log *n*) calls of the predicate.
  @inlinable
  package func partitioningIndex<Failure>(
    where belongsBehind: (Element) throws(Failure) -> Bool
  ) throws(Failure) -> Index {
    var low = startIndex
    var count = self.count
    while count > 0 {
      let half = count / 2
      let middle = index(low, offsetBy: half)
      if try belongsBehind(self[middle]) {
        count = half
      } else {
        low = index(after: middle)
        count -= half + 1
      }
    }
    return low
  }
}
