internal import SwiftSyntax

struct StoredProperty {
  let name: String
  /// The type; nil where it is not written down, since a macro sees nothing but the text.
  let type: TypeSyntax?

  /// Returns the stored variables; those in `#if` are left out, because the macro cannot decide it.
  static func all(of model: StructDeclSyntax) -> [StoredProperty] {
    model.memberBlock.members.flatMap { member -> [StoredProperty] in
      guard let declaration = member.decl.as(VariableDeclSyntax.self),
        declaration.bindingSpecifier.tokenKind == .keyword(.var),
        !declaration.modifiers.contains(where: { $0.name.tokenKind == .keyword(.static) })
      else { return [] }
      // `var a, b: Int` gives both the type that is behind the last one.
      var type: TypeSyntax?
      return declaration.bindings.reversed().compactMap { binding -> StoredProperty? in
        if let written = binding.typeAnnotation?.type {
          type = written.trimmed
        } else if binding.initializer != nil {
          type = nil
        }
        guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self),
          !isComputed(binding)
        else { return nil }
        return StoredProperty(name: pattern.identifier.text, type: type)
      }.reversed()
    }
  }

  /// Observers, `willSet` and `didSet`, leave a property a stored one.
  private static func isComputed(_ binding: PatternBindingSyntax) -> Bool {
    switch binding.accessorBlock?.accessors {
    case nil: false
    case .getter: true
    case .accessors(let accessors):
      accessors.contains { accessor in
        accessor.accessorSpecifier.tokenKind != .keyword(.willSet)
          && accessor.accessorSpecifier.tokenKind != .keyword(.didSet)
      }
    // The toolchain's library may get new kinds; unknown ones are not merged.
    @unknown default: true
    }
  }
}
