import LLVSCore
import ObjectStores
internal import Platform

struct BundleListing: Sendable {
  /// The bundles that have the length in their name, in order.
  let names: [BundleName]
  /// The names of those that have another length.
  let torn: [String]
  /// When each of ``names`` was written by the remote's clock; nil where it does not say.
  private let times: [Int64?]
  /// When the list was asked for, on the clock that goes on while the machine sleeps.
  let asked: UInt64
  let now: Int64
  /// When the server answered, by its own clock in seconds since 1970; nil where it does not say.
  let date: Int64?
  var newest: Int64? { times.compactMap(\.self).max() }
  var total: UInt64 { names.reduce(0) { $0 &+ $1.length } }

  /// - Complexity: O(log *n*) in the number of bundles.
  func modified(_ name: BundleName) -> Int64? {
    let index = names.partitioningIndex { !($0 < name) }
    return index < names.count && names[index] == name ? times[index] : nil
  }

  /// Lists the bundles of a remote. Objects with other names are no bundles.
  init(_ objects: any ObjectStore, clock: BundleClock) throws(StoreError) {
    guard let prefix = ObjectPrefix(folder: BundleFormat.folder) else {
      preconditionFailure("the folder of bundles is a name")
    }
    (asked, now) = (clock.boottime(), clock.now())
    let listed = try asking { () throws(RemoteError) in try objects.all(prefix) }
    date = objects.serverTime
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
    // Some remotes list two objects of one name.
    for (name, time) in whole where name != names.last {
      names.append(name)
      times.append(time)
    }
    (self.names, self.times) = (names, times)
    self.torn = torn.isEmpty ? [] : torn.subtracting(names.map(\.text)).sorted()
  }
}

extension BundleName {
  var object: ObjectName {
    guard let name = ObjectName("\(BundleFormat.folder)/\(text)") else {
      preconditionFailure("a bundle's name is an object's")
    }
    return name
  }
}
