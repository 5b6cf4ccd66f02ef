#if LLVS_HAS_MACROS
  /// Makes a struct ``Mergeable``: each stored variable is merged by ``mergeProperty(_:_:_:)``.
  ///
  /// It writes `merged(withSubordinate:commonAncestor:)`, `salvaging(from:)` and
  /// `static var sqliteSchema`, a ``ModelSchema`` with a column for each stored variable whose type
  /// is written down. Constants, computed variables and those of the type itself are left out.
  @attached(
    extension, conformances: Mergeable,
    names: named(merged(withSubordinate:commonAncestor:)), named(salvaging(from:)),
    named(sqliteSchema))
  public macro MergeableModel() =
    #externalMacro(module: "LLVSModelMacros", type: "MergeableModelMacro")
#endif
