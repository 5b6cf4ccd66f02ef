/// A type whose values are merged property by property.
///
/// ``merged(withSubordinate:commonAncestor:)`` is written with one ``mergeProperty(_:_:_:)`` for each
/// stored property; a ``MergeableArbiter`` calls it where both sides of a merge changed a value.
public protocol Mergeable: Equatable {
  /// Returns what both made of a common ancestor: what one of them changed is taken from it, and where
  /// both changed the same, this one's.
  ///
  /// - Parameters:
  ///   - other: the other value, which gives way.
  ///   - commonAncestor: what both came from.
  /// - Returns: the merged value.
  /// - Throws: what ends the merge of which this is a part.
  func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self

  /// Returns what becomes of two values that come from nothing in common; this one, unless the type knows
  /// better.
  func salvaging(from other: Self) throws -> Self
}

extension Mergeable {
  /// Returns this value.
  public func salvaging(from other: Self) throws -> Self { self }
}

/// Merges one property: the subordinate's value where the dominant one left it as it was.
public func mergeProperty<T: Equatable>(
  _ dominant: T, _ subordinate: T, _ ancestor: T
) throws -> T {
  dominant == ancestor ? subordinate : dominant
}

/// Merges one property whose type says how.
public func mergeProperty<T: Mergeable>(
  _ dominant: T, _ subordinate: T, _ ancestor: T
) throws -> T {
  try dominant.merged(withSubordinate: subordinate, commonAncestor: ancestor)
}

/// Decides one property of values that come from nothing in common: the dominant one's.
public func salvageProperty<T: Equatable>(_ dominant: T, _ subordinate: T) throws -> T {
  dominant
}

/// Decides one property, whose type says how, of values that come from nothing in common.
public func salvageProperty<T: Mergeable>(_ dominant: T, _ subordinate: T) throws -> T {
  try dominant.salvaging(from: subordinate)
}

/// Something that may be absent: an absence is a value like any other, and a change wins over it.
extension Optional: Mergeable where Wrapped: Mergeable {
  /// Returns the merge of what is there; where one side took it away, nothing, unless the other changed it.
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

  /// Returns what both become where both are there; else this one.
  public func salvaging(from other: Self) throws -> Self {
    guard let dominant = self, let subordinate = other else { return self }
    return try dominant.salvaging(from: subordinate)
  }
}
