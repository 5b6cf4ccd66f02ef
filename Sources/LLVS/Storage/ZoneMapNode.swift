/// A node of a map: the root lists the leaves by the first two characters of keys, a leaf the values.
struct ZoneMapNode: Codable {
  static let rootKey = "__llvs_root"

  struct Children: Codable {
    var nodes: [ZoneReference]?
    var values: [Pair]?
  }

  struct Pair: Codable {
    struct Key: Codable {
      var keyString: String
    }

    var key: Key
    var valueReference: Value.Reference
  }

  var reference: ZoneReference
  var children: Children
}
