#if LLVS_HAS_MACROS
  /// Makes a struct ``Mergeable``: each stored variable is merged by ``mergeProperty(_:_:_:)``.
  ///
  /// It generates `merged(withSubordinate:commonAncestor:)`, `salvaging(from:)` and `static var sqliteSchema`, a
  /// ``ModelSchema`` with a column for each stored variable with a written type. Constants, computed variables and
  /// static ones are omitted.
  @attached(
    extension, conformances: Mergeable,
    names: named(merged(withSubordinate:commonAncestor:)), named(salvaging(from:)),
    named(sqliteSchema))
  public macro MergeableModel() =
    #externalMacro(module: "LLVSModelMacros", type: "MergeableModelMacro")
#endif
