internal import SwiftSyntax
internal import SwiftSyntaxBuilder
internal import SwiftSyntaxMacros

/// Writes the extension of `@MergeableModel`: the merge of each stored property, and the columns for them.
struct MergeableModelMacro {
  struct NotAStruct: Error, CustomStringConvertible {
    let description =
      "@MergeableModel is for structs: the properties of others are not merged one by one"
  }
}

extension MergeableModelMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard let model = declaration.as(StructDeclSyntax.self) else { throw NotAStruct() }
    let properties = StoredProperty.all(of: model)
    // A witness must be as visible as its type: the default is enough unless the type is public or package.
    let access =
      model.modifiers.map(\.name.text).first { $0 == "public" || $0 == "package" }
      .map { "\($0) " } ?? ""
    // Without the conformance the program has written one of its own.
    let conformance = protocols.isEmpty ? "" : ": LLVSModel.Mergeable"
    let merges = properties.map { property in
      "result.\(property.name) = try LLVSModel.mergeProperty("
        + "self.\(property.name), other.\(property.name), commonAncestor.\(property.name))"
    }
    let salvages = properties.map { property in
      "result.\(property.name) = try LLVSModel.salvageProperty("
        + "self.\(property.name), other.\(property.name))"
    }
    let variable = properties.isEmpty ? "let" : "var"
    func body(_ lines: [String]) -> String {
      (["\(variable) result = self"] + lines + ["return result"])
        .map { "    \($0)\n" }.joined()
    }
    let text = """
      extension \(type.trimmedDescription)\(conformance) {
        \(access)func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self {
      \(body(merges))  }
        \(access)func salvaging(from other: Self) throws -> Self {
      \(body(salvages))  }
        \(access)static var sqliteSchema: LLVSModel.ModelSchema {
      \(ModelColumnText.schema(of: properties))
        }
      }
      """
    return [try ExtensionDeclSyntax("\(raw: text)")]
  }
}
