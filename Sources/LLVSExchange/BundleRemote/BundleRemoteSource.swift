import LLVSCore
internal import Synchronization

/// The versions in a remote's bundles of which some are not in the store, as a source.
/// If a version is in several bundles the first copy is used; if that is refused, the next.
final class BundleRemoteSource: VersionSource {
  private struct Place {
    let bundle: Int
    let index: Int
  }

  struct Unread {
    let name: BundleName
    let ids: [Version.ID]
    let entries: [OutlineEntry]
  }

  private let session: BundleSession
  private let fetcher: ItemFetcher
  let unread: [Unread]
  private var places: [Version.ID: [Place]] = [:]
  private let last = Mutex<Table?>(nil)
  private typealias Table = (bundle: Int, table: BundleTable, numbers: [BundleItem: Int])

  /// Opens the bundles that are not in the store; with `names`, only those among them.
  convenience init(_ session: BundleSession, of names: [BundleName]? = nil) throws(StoreError) {
    var unread: [Unread] = []
    let wanted = names.map { Set($0) }
    for name in try session.unread() where wanted?.contains(name) != false {
      try session.control.check()
      do throws(StoreError) {
        let entries = try session.opened(name).entries().filter { $0.id != nil }
        unread.append(Unread(name: name, ids: entries.compactMap(\.id), entries: entries))
      } catch .invalid(let reason) {
        // Its bytes have changed since `verify` read it.
        try session.noteUnreadable(name, reason)
      }
    }
    self.init(session, unread)
    for number in unread.indices { place(number) }
  }

  private init(_ session: BundleSession, _ unread: [Unread]) {
    self.session = session
    fetcher = ItemFetcher(session)
    self.unread = unread
  }

  /// All bundles that are new to the session; this source may have a part of them.
  var length: UInt64 { max(session.newLength, unread.reduce(0) { $0 &+ $1.name.length }) }

  func alone(_ number: Int) -> BundleRemoteSource {
    let source = BundleRemoteSource(session, unread)
    source.place(number)
    return source
  }

  private func place(_ number: Int) {
    for (index, id) in unread[number].ids.enumerated() {
      places[id, default: []].append(Place(bundle: number, index: index))
    }
  }

  func versionIDs() -> [Version.ID] {
    var listed: Set<Version.ID> = []
    return unread.flatMap(\.ids).filter { listed.insert($0).inserted }
  }

  private func description(
    _ place: Place, _ bundle: BundleReader
  ) throws(StoreError) -> BundleReader.Description {
    let unread = unread[place.bundle]
    return try bundle.description(of: unread.entries[place.index]) { distance in
      distance <= UInt64(place.index) ? unread.ids[place.index - Int(distance)] : nil
    }
  }

  func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let place = places[id]?.first else { return nil }
    return try description(place, opened(place)).version
  }

  func changes(of id: Version.ID) throws(StoreError) -> BundleChanges? {
    guard let place = places[id]?.first else { return nil }
    let bundle = try opened(place)
    let known = try table(place, bundle)
    let changes = BundleChanges(
      bundle, known.table, numbers: known.numbers, try description(place, bundle).changes, fetcher,
      label: bundle.label(id))
    // A version waits while some of its bytes are in no bundle.
    return try changes.isComplete() ? changes : nil
  }

  private func table(_ place: Place, _ bundle: BundleReader) throws(StoreError) -> Table {
    if let known = last.withLock({ $0 }), known.bundle == place.bundle { return known }
    let table = try bundle.table()
    let numbers = Dictionary(zip(table.items, 0...)) { first, _ in first }
    let new: Table = (place.bundle, table, numbers)
    last.withLock { $0 = new }
    return new
  }

  private func opened(_ place: Place) throws(StoreError) -> BundleReader {
    try session.opened(unread[place.bundle].name)
  }

  func contentDigest(of id: Version.ID) throws(StoreError) -> Digest? {
    guard let place = places[id]?.first else { return nil }
    return try description(place, opened(place)).contentDigest
  }

  func label(_ id: Version.ID) -> String {
    guard let place = places[id]?.first else { return "version \(id.rawValue)" }
    return "\(unread[place.bundle].name.object): version \(id.rawValue)"
  }

  func changesLabel(_ id: Version.ID) -> String { label(id) }

  /// Drops the refused copies of versions that have others, and returns true if there were any.
  func useOtherCopies(of ids: [Version.ID]) -> Bool {
    var isAny = false
    for id in ids {
      guard let known = places[id], known.count > 1 else { continue }
      places[id] = Array(known.dropFirst())
      isAny = true
    }
    return isAny
  }
}
