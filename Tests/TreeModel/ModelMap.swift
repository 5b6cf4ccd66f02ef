import LLVSCore
import TreeNames

/// What a key holds: a file's marks, which stand for its bytes, and its link id; or a directory's entry.
package struct ModelValue: Hashable {
  package var isDirectory = false
  package var marks: Set<Int> = []
  package var link: Int?

  package init(isDirectory: Bool = false, marks: Set<Int> = [], link: Int? = nil) {
    (self.isDirectory, self.marks, self.link) = (isDirectory, marks, link)
  }

  package static let directory = ModelValue(isDirectory: true)
}

/// A map of keys; that of a directory's entry ends with a slash.
package typealias ModelMap = [String: ModelValue]

/// What a path shows.
package struct ModelShown: Hashable {
  /// Nil for a directory.
  package var key: String?
  package var marks: Set<Int> = []
  package var link: Int?

  package var isDirectory: Bool { key == nil }
}

package enum ModelPath {
  package static func join(_ directory: String, _ name: String) -> String {
    directory.isEmpty ? name : directory + "/" + name
  }

  package static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  package static func name(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }

  package static func depth(_ path: String) -> Int { path.utf8.count { $0 == 0x2F } }

  package static func isAtOrBelow(_ path: String, _ above: String) -> Bool {
    path == above || path.hasPrefix(above + "/")
  }

  /// True if a path, or a directory above it, has a name.
  package static func isAtOrBelow(_ path: String, named name: String) -> Bool {
    path.split(separator: "/").contains { $0 == name }
  }

  /// Parents before what they hold.
  package static func precedes(_ a: String, _ b: String) -> Bool { (depth(a), a) < (depth(b), b) }
}

extension ModelMap {
  /// The directories that keys make.
  package var directories: Set<String> {
    var all: Set<String> = []
    for key in keys {
      var path = key.hasSuffix("/") ? String(key.dropLast()) : ModelPath.parent(key)
      while !path.isEmpty, all.insert(path).inserted { path = ModelPath.parent(path) }
    }
    return all
  }

  /// The tree that the map shows: a value whose name is a directory's has another.
  package var tree: [String: ModelShown] {
    let directories = directories
    var tree: [String: ModelShown] = [:]
    for path in directories { tree[path] = ModelShown() }
    var displaced: [String] = []
    for (key, value) in self where !key.hasSuffix("/") {
      if directories.contains(key) {
        displaced.append(key)
      } else {
        tree[key] = ModelShown(key: key, marks: value.marks, link: value.link)
      }
    }
    for key in displaced.sorted() {
      var count = 0
      var path = ""
      repeat {
        let name = DisplacedName.candidate(count, for: KeyCoding.key(ofPath: Array(key.utf8)))
        path = ModelPath.join(ModelPath.parent(key), String(decoding: name, as: UTF8.self))
        count += 1
      } while tree[path] != nil
      tree[path] = ModelShown(key: key, marks: self[key]?.marks ?? [], link: self[key]?.link)
    }
    return tree
  }

  package var marks: Set<Int> { values.reduce(into: []) { $0.formUnion($1.marks) } }

  package static func merged(base: ModelMap, _ own: ModelMap, _ other: ModelMap) -> ModelMap {
    var result: ModelMap = [:]
    for key in Set(own.keys).union(other.keys) {
      let (b, o, t) = (base[key], own[key], other[key])
      if o == t {
        result[key] = o
      } else if o == b {
        result[key] = t
      } else if t == b {
        result[key] = o
      } else if let o, let t, !o.isDirectory, !t.isDirectory {
        result[key] = ModelValue(
          marks: o.marks.union(t.marks), link: o.link == t.link ? o.link : o.link ?? t.link)
      } else {
        // A change wins over a removal.
        result[key] = o ?? t
      }
    }
    return result
  }
}

/// The versions of a store.
package struct ModelStore {
  package private(set) var maps: [ModelMap] = [[:]]
  package private(set) var ancestors: [Set<Int>] = [[0]]
  package var head = 0

  package init() {}

  package mutating func add(_ map: ModelMap, on predecessors: [Int]) -> Int {
    maps.append(map)
    let number = maps.count - 1
    ancestors.append(predecessors.reduce(into: [number]) { $0.formUnion(ancestors[$1]) })
    return number
  }

  package mutating func merge(_ a: Int, _ b: Int) -> Int {
    if ancestors[a].contains(b) { return a }
    if ancestors[b].contains(a) { return b }
    let base = ancestors[a].intersection(ancestors[b]).max() ?? 0
    return add(ModelMap.merged(base: maps[base], maps[a], maps[b]), on: [a, b])
  }

  package var marks: Set<Int> { maps.reduce(into: []) { $0.formUnion($1.marks) } }
}
