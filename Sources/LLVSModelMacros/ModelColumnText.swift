internal import SwiftSyntax

/// The columns of a model's table, as Swift.
enum ModelColumnText {
  /// Types with a column of their own, by the name that is written.
  private static let kinds: [String: String] = [
    "String": "text", "Bool": "boolean", "Date": "date", "UUID": "uuid", "Data": "blob",
    "Double": "real", "Float": "real", "Int": "integer", "Int8": "integer", "Int16": "integer",
    "Int32": "integer", "Int64": "integer", "UInt8": "integer", "UInt16": "integer",
    "UInt32": "integer",
  ]

  static func schema(of properties: [StoredProperty]) -> String {
    var (columns, untyped, asJSON): ([String], [String], [String]) = ([], [], [])
    for property in properties {
      let name = property.name.filter { $0 != "`" }
      guard let type = property.type else {
        untyped.append("\"\(name)\"")
        continue
      }
      let kind = kind(of: type)
      columns.append(
        "LLVSModel.ModelColumn(propertyName: \"\(name)\", columnName: \"\(columnName(name))\", "
          + "storage: .\(kind ?? "json"))")
      let line = type.trimmedDescription.split(whereSeparator: \.isNewline).joined(separator: " ")
      if kind == nil { asJSON.append("\"\(name)\": #\"\(line)\"#") }
    }
    func list(_ texts: [String], _ empty: String = "[]") -> String {
      texts.isEmpty ? empty : "[\n" + texts.map { "        \($0),\n" }.joined() + "      ]"
    }
    return """
          LLVSModel.ModelSchema(
            columns: \(list(columns)),
            propertiesWithoutColumns: \(list(untyped)),
            propertiesStoredAsJSON: \(list(asJSON, "[:]")))
      """
  }

  /// The kind of a type's column, of an optional the wrapped type's.
  private static func kind(of type: TypeSyntax) -> String? {
    if let optional = type.as(OptionalTypeSyntax.self) { return kind(of: optional.wrappedType) }
    if let forced = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return kind(of: forced.wrappedType)
    }
    if let member = type.as(MemberTypeSyntax.self) {
      let module = member.baseType.trimmedDescription
      guard ["Swift", "Foundation"].contains(module), member.genericArgumentClause == nil else {
        return nil
      }
      return kinds[member.name.text]
    }
    guard let name = type.as(IdentifierTypeSyntax.self) else { return nil }
    if let arguments = name.genericArgumentClause {
      guard name.name.text == "Optional", arguments.arguments.count == 1,
        let inner = arguments.arguments.first, case .type(let wrapped) = inner.argument
      else { return nil }
      return kind(of: wrapped)
    }
    return kinds[name.name.text]
  }

  /// `updatedAt` as `updated_at`, with an underscore behind a word of SQLite's.
  private static func columnName(_ name: String) -> String {
    let letters = Array(name.unicodeScalars)
    var column = ""
    for (index, letter) in letters.enumerated() {
      let isStart =
        index > 0 && letter.properties.isUppercase
        && (!letters[index - 1].properties.isUppercase
          || (index + 1 < letters.count && letters[index + 1].properties.isLowercase))
      if isStart, letters[index - 1] != "_" { column += "_" }
      let isPlain =
        letter.isASCII && (letter.properties.isAlphabetic || ("0"..."9").contains(letter))
      column += isPlain ? letter.properties.lowercaseMapping : "_"
    }
    return keywords.contains(column) ? "\(column)_" : column
  }

  /// The words of SQLite (sqlite.org/lang_keywords.html), and the column that every table has.
  private static let keywords: Set<String> = Set(
    """
    abort action add after all alter always analyze and as asc attach autoincrement before begin
    between by cascade case cast check collate column commit conflict constraint create cross
    current current_date current_time current_timestamp database default deferrable deferred delete
    desc detach distinct do drop each else end escape except exclude exclusive exists explain fail
    filter first following for foreign from full generated glob group groups having if ignore
    immediate in index indexed initially inner insert instead intersect into is isnull join key last
    left like limit llvs_id match materialized natural no not nothing notnull null nulls of offset on
    or order others outer over partition plan pragma preceding primary query raise range recursive
    references regexp reindex release rename replace restrict returning right rollback row rows
    savepoint select set table temp temporary then ties to transaction trigger unbounded union unique
    update using vacuum values view virtual when where window with without
    """.split(whereSeparator: \.isWhitespace).map(String.init))
}
