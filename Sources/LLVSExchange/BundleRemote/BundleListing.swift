import LLVSCore
import ObjectStores

/// A list of a remote's bundles.
struct BundleListing: Sendable {
  /// The bundles that have the length in their name, by writer and in the order of writing.
  let names: [BundleName]
  /// The names of those that have another length.
  let torn: [String]
  /// When each of ``names`` was last written by the remote's clock, where that is told.
  private let times: [Int64?]
  /// When the list was asked for, on the clock that goes on while the machine sleeps.
  let asked: UInt64
  /// The same in seconds since 1970.
  let now: Int64

  /// The newest time of a bundle by the remote's clock; nil where that is not told.
  var newest: Int64? { times.compactMap(\.self).max() }
  /// The bytes of all bundles.
  var total: UInt64 { names.reduce(0) { $0 &+ $1.length } }

  /// Returns when a bundle was last written by the remote's clock; nil where that is not told.
  ///
  /// - Complexity: O(log *n*) in the number of bundles.
  func modified(_ name: BundleName) -> Int64? {
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if names[middle] < name { low = middle + 1 } else { high = middle }
    }
    return low < names.count && names[low] == name ? times[low] : nil
  }

  /// Lists the bundles of a remote. Objects with other names are no bundles.
  init(_ objects: any ObjectStore, clock: BundleClock) throws(StoreError) {
    guard let prefix = ObjectPrefix(folder: BundleFormat.folder) else {
      preconditionFailure("the folder of bundles is a name")
    }
    (asked, now) = (clock.boottime(), clock.now())
    let listed = try asking { () throws(RemoteError) in try objects.all(prefix) }
    var whole: [(name: BundleName, time: Int64?)] = []
    whole.reserveCapacity(listed.count)
    var torn: Set<String> = []
    for object in listed {
      guard let name = BundleName(object.name.last) else { continue }
      if object.length == name.length {
        whole.append((name, object.modified))
      } else {
        torn.insert(name.text)
      }
    }
    whole.sort { $0.name < $1.name }
    var (names, times): ([BundleName], [Int64?]) = ([], [])
    names.reserveCapacity(whole.count)
    times.reserveCapacity(whole.count)
    // Two objects of one name are one: some remotes have such.
    for (name, time) in whole where name != names.last {
      names.append(name)
      times.append(time)
    }
    (self.names, self.times) = (names, times)
    self.torn = torn.isEmpty ? [] : torn.subtracting(names.map(\.text)).sorted()
  }
}

extension BundleName {
  /// The name of the object.
  var object: ObjectName {
    guard let name = ObjectName("\(BundleFormat.folder)/\(text)") else {
      preconditionFailure("a bundle's name is an object's")
    }
    return name
  }
}
