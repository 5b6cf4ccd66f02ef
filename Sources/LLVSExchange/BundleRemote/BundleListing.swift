import LLVSCore
import ObjectStores

/// A list of a remote's bundles.
struct BundleListing: Sendable {
  /// The bundles that have the length in their name, by writer and in the order of writing.
  let names: [BundleName]
  /// The names of those that have another length.
  let torn: [String]
  /// When each was last written by the remote's clock, where that is told.
  let modified: [BundleName: Int64]
  /// When the list was asked for, on the clock that goes on while the machine sleeps.
  let asked: UInt64
  /// The same in seconds since 1970.
  let now: Int64

  /// The newest time of a bundle by the remote's clock; nil where that is not told.
  var newest: Int64? { modified.values.max() }
  /// The bytes of all bundles.
  var total: UInt64 { names.reduce(0) { $0 &+ $1.length } }

  /// Lists the bundles of a remote. Objects with other names are no bundles.
  init(_ objects: any ObjectStore, clock: BundleClock) throws(StoreError) {
    guard let prefix = ObjectPrefix(folder: BundleFormat.directory) else {
      preconditionFailure("the folder of bundles is a name")
    }
    (asked, now) = (clock.boottime(), clock.now())
    let listed = try asking { () throws(RemoteError) in try objects.all(prefix) }
    var names: Set<BundleName> = []
    var torn: Set<String> = []
    var modified: [BundleName: Int64] = [:]
    for object in listed {
      guard let name = BundleName(object.name.last) else { continue }
      // Two objects of one name are one: some remotes have such.
      if object.length == name.length {
        names.insert(name)
        if let time = object.modified { modified[name] = time }
      } else {
        torn.insert(name.text)
      }
    }
    self.names = names.sorted()
    self.torn = torn.subtracting(names.map(\.text)).sorted()
    self.modified = modified
  }
}

extension BundleName {
  /// The name of the object.
  var object: ObjectName {
    guard let name = ObjectName("\(BundleFormat.directory)/\(text)") else {
      preconditionFailure("a bundle's name is an object's")
    }
    return name
  }
}
