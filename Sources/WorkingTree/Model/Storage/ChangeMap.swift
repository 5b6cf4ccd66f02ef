package import Inodes

/// The changes of an overlay, by directory and name; copies are cheap (``SharedMap``).
package struct ChangeMap: Sendable {
  package typealias Element = (key: InodeName, value: NameChange)
  typealias Names = SharedMap<FileName, NameChange>
  private(set) var directories = SharedMap<InodeNumber, Names>()
  package private(set) var count = 0
  package init() {}
  package var isEmpty: Bool { count == 0 }

  /// - Complexity: O(1) on average; a change of a map that shares elements with a copy copies O(√*n*) at most.
  package subscript(place: InodeName) -> NameChange? {
    get { directories.read(place.directory) { $0[place.name] } }
    set {
      if let newValue {
        count += directories.change(place.directory, default: Names()) {
          Self.set(newValue, at: place.name, in: &$0)
        }
      } else if directories[place.directory]?[place.name] != nil {
        directories[place.directory]?[place.name] = nil
        count -= 1
        if directories[place.directory]?.isEmpty ?? false { directories[place.directory] = nil }
      }
    }
  }

  /// Returns the number of names added.
  private static func set(_ change: NameChange, at name: FileName, in names: inout Names) -> Int {
    let before = names.count
    names[name] = change
    return names.count - before
  }

  package func names(of directory: InodeNumber) -> ChangedNames {
    ChangedNames(names: directories[directory] ?? Names())
  }

  package var keys: some Sequence<InodeName> { lazy.map(\.key) }
  package var values: some Sequence<NameChange> { lazy.map(\.value) }
}

extension ChangeMap: Sequence {
  package struct Iterator: IteratorProtocol {
    fileprivate var directories: SharedMap<InodeNumber, Names>.Iterator
    fileprivate var directory = InodeNumber.root
    fileprivate var names = Names().makeIterator()

    package mutating func next() -> Element? {
      while true {
        if let (name, change) = names.next() {
          return (InodeName(directory: directory, name: name), change)
        }
        guard let next = directories.next() else { return nil }
        (directory, names) = (next.key, next.value.makeIterator())
      }
    }
  }

  package func makeIterator() -> Iterator { Iterator(directories: directories.makeIterator()) }
  package var underestimatedCount: Int { count }
}

extension ChangeMap: Equatable {
  package static func == (a: Self, b: Self) -> Bool {
    a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
  }
}

package struct ChangedNames: Sequence, Sendable {
  fileprivate let names: SharedMap<FileName, NameChange>
  package var count: Int { names.count }
  package var isEmpty: Bool { names.isEmpty }
  package func contains(_ name: FileName) -> Bool { names[name] != nil }

  package struct Iterator: IteratorProtocol {
    fileprivate var names: SharedMap<FileName, NameChange>.Iterator
    package mutating func next() -> FileName? { names.next()?.key }
  }

  package func makeIterator() -> Iterator { Iterator(names: names.makeIterator()) }
  package var underestimatedCount: Int { count }
}
