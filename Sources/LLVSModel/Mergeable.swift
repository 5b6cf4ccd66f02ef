/// A type whose values are merged property by property, by ``mergeProperty(_:_:_:)`` for each.
public protocol Mergeable: Equatable {
  /// Returns the merge of two values of a common ancestor; if both changed a property, this one's value wins.
  /// - Throws: any error, which ends the merge.
  func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self
  /// Returns the merge of two values without a common ancestor, by default this one.
  /// - Throws: any error, which ends the merge.
  func salvaging(from other: Self) throws -> Self
}

extension Mergeable {
  public func salvaging(from other: Self) throws -> Self { self }
}

/// Merges one property: the dominant value, unless only the subordinate one was changed.
/// - Throws: nothing; it may in the original.
public func mergeProperty<T: Equatable>(
  _ dominant: T, _ subordinate: T, _ ancestor: T
) throws -> T {
  dominant == ancestor ? subordinate : dominant
}

/// Merges one property whose type is mergeable itself.
/// - Throws: the error of the type.
public func mergeProperty<T: Mergeable>(
  _ dominant: T, _ subordinate: T, _ ancestor: T
) throws -> T {
  try dominant.merged(withSubordinate: subordinate, commonAncestor: ancestor)
}

/// Merges one property of two values without a common ancestor: the dominant value.
/// - Throws: nothing; it may in the original.
public func salvageProperty<T: Equatable>(_ dominant: T, _ subordinate: T) throws -> T { dominant }

/// Merges one property, whose type is mergeable itself, of two values without a common ancestor.
/// - Throws: the error of the type.
public func salvageProperty<T: Mergeable>(_ dominant: T, _ subordinate: T) throws -> T {
  try dominant.salvaging(from: subordinate)
}

/// A change wins over a removal.
extension Optional: Mergeable where Wrapped: Mergeable {
  /// Returns the merge; nil if one side removed the value and the other did not change it.
  /// - Throws: the error of the type.
  public func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self {
    guard let ancestor = commonAncestor else {
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

  public func salvaging(from other: Self) throws -> Self {
    guard let dominant = self, let subordinate = other else { return self }
    return try dominant.salvaging(from: subordinate)
  }
}
