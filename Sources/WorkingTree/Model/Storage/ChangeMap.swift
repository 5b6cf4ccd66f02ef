package import Inodes

/// The changes of an overlay, by directories and the names in them, of which copies are cheap: see ``SharedMap``.
package struct ChangeMap: Sendable {
  /// A place and what is there.
  package typealias Element = (key: InodeName, value: NameChange)
  typealias Names = SharedMap<FileName, NameChange>

  private(set) var directories = SharedMap<InodeNumber, Names>()
  /// The number of changes.
  package private(set) var count = 0

  package init() {}

  /// True if there are no changes.
  package var isEmpty: Bool { count == 0 }

  /// The change at a place; nil if there is none.
  ///
  /// - Complexity: O(1) on average; a change of a map that shares its elements with a copy copies O(√*n*) at most.
  package subscript(place: InodeName) -> NameChange? {
    get { directories.read(place.directory) { $0[place.name] } }
    set {
      if let newValue {
        count += Self.set(
          newValue, at: place.name, in: &directories[place.directory, default: Names()])
      } else if directories[place.directory]?[place.name] != nil {
        directories[place.directory]?[place.name] = nil
        count -= 1
        if directories[place.directory]?.isEmpty ?? false { directories[place.directory] = nil }
      }
    }
  }

  /// Returns the number of names that came.
  private static func set(_ change: NameChange, at name: FileName, in names: inout Names) -> Int {
    let before = names.count
    names[name] = change
    return names.count - before
  }

  /// Returns the names of a directory at which there are changes.
  package func names(of directory: InodeNumber) -> ChangedNames {
    ChangedNames(names: directories[directory] ?? Names())
  }

  /// The places.
  package var keys: some Sequence<InodeName> { lazy.map(\.key) }

  /// The changes.
  package var values: some Sequence<NameChange> { lazy.map(\.value) }
}

extension ChangeMap: Sequence {
  /// Changes one after the other, those of a directory together.
  package struct Iterator: IteratorProtocol {
    fileprivate var directories: SharedMap<InodeNumber, Names>.Iterator
    fileprivate var directory = InodeNumber.root
    fileprivate var names = Names().makeIterator()

    /// Returns the next place and its change.
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

  /// Returns the changes one after the other, as they are now.
  package func makeIterator() -> Iterator { Iterator(directories: directories.makeIterator()) }

  package var underestimatedCount: Int { count }
}

extension ChangeMap: Equatable {
  /// Returns true if two maps have the same changes, in any order.
  package static func == (a: Self, b: Self) -> Bool {
    a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
  }
}

/// The names of a directory at which there are changes.
package struct ChangedNames: Sequence, Sendable {
  fileprivate let names: SharedMap<FileName, NameChange>

  /// The number of names.
  package var count: Int { names.count }

  /// True if there are no names.
  package var isEmpty: Bool { names.isEmpty }

  /// Returns true if there is a change at a name.
  package func contains(_ name: FileName) -> Bool { names[name] != nil }

  /// Names one after the other.
  package struct Iterator: IteratorProtocol {
    fileprivate var names: SharedMap<FileName, NameChange>.Iterator

    /// Returns the next name.
    package mutating func next() -> FileName? { names.next()?.key }
  }

  /// Returns the names one after the other, as they are now.
  package func makeIterator() -> Iterator { Iterator(names: names.makeIterator()) }

  package var underestimatedCount: Int { count }
}
