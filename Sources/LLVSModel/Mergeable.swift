/// A type whose values are merged property by property.
///
/// ``merged(withSubordinate:commonAncestor:)`` is written with a call of ``mergeProperty(_:_:_:)``
/// for each stored property; a ``MergeableArbiter`` calls it where both sides of a merge changed a
/// value.
public protocol Mergeable: Equatable {
  /// Returns the merge of this value and another that were both made from a common ancestor: a
  /// property that one of them changed is taken from that one, and a property that both changed is
  /// taken from this one.
  ///
  /// - Parameters:
  ///   - other: the other, subordinate value: where both changed a property, its change is dropped.
  ///   - commonAncestor: the value that both were made from.
  /// - Returns: the merged value.
  /// - Throws: any error; it ends the merge that asked for this.
  func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self

  /// Returns the merge of two values that have no common ancestor: this value, unless the type
  /// implements it differently.
  func salvaging(from other: Self) throws -> Self
}

extension Mergeable {
  /// Returns this value.
  public func salvaging(from other: Self) throws -> Self { self }
}

/// Merges one property: the dominant value, or the subordinate one where only that was changed.
public func mergeProperty<T: Equatable>(
  _ dominant: T, _ subordinate: T, _ ancestor: T
) throws -> T {
  dominant == ancestor ? subordinate : dominant
}

/// Merges one property whose type is mergeable itself.
public func mergeProperty<T: Mergeable>(
  _ dominant: T, _ subordinate: T, _ ancestor: T
) throws -> T {
  try dominant.merged(withSubordinate: subordinate, commonAncestor: ancestor)
}

/// Merges one property of two values without a common ancestor: the dominant value.
public func salvageProperty<T: Equatable>(_ dominant: T, _ subordinate: T) throws -> T {
  dominant
}

/// Merges one property, whose type is mergeable itself, of two values without a common ancestor.
public func salvageProperty<T: Mergeable>(_ dominant: T, _ subordinate: T) throws -> T {
  try dominant.salvaging(from: subordinate)
}

/// An optional is merged as its value is; nil is a value like any other, and a change wins over a
/// removal.
extension Optional: Mergeable where Wrapped: Mergeable {
  /// Returns the merge of both values; nil where one side removed the value and the other did not
  /// change it.
  public func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self {
    guard let ancestor = commonAncestor else {
      // Added by one side, or by both.
      return self == nil ? other : try salvaging(from: other)
    }
    switch (self, other) {
    case (let dominant?, let subordinate?):
      return try dominant.merged(withSubordinate: subordinate, commonAncestor: ancestor)
    case (let dominant?, nil): return dominant == ancestor ? nil : dominant
    case (nil, let subordinate?): return subordinate == ancestor ? nil : subordinate
    case (nil, nil): return nil
    }
  }

  /// Returns the merge of both values where both are there; otherwise this one, nil included.
  public func salvaging(from other: Self) throws -> Self {
    guard let dominant = self, let subordinate = other else { return self }
    return try dominant.salvaging(from: subordinate)
  }
}
