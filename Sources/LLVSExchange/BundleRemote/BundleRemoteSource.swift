import LLVSCore
internal import Synchronization

/// The versions in a remote's bundles of which some are not in the store, as a source.
///
/// If a version is in several bundles the first copy is used; if that is refused, the next.
final class BundleRemoteSource: VersionSource {
  private struct Place {
    let bundle: Int
    let index: Int
  }

  /// A bundle whose versions are looked at.
  struct Unread {
    let name: BundleName
    /// The ids of the versions, in order.
    let ids: [Version.ID]
    /// The entries of these versions.
    let entries: [OutlineEntry]
  }

  private let session: BundleSession
  private let fetcher: ItemFetcher
  let unread: [Unread]
  private var places: [Version.ID: [Place]] = [:]
  /// The table of the bundle that was read last; a leaf lock.
  private let last = Mutex<Table?>(nil)

  private struct Table: Sendable {
    let bundle: Int
    let table: BundleTable
    let numbers: [BundleItem: Int]
  }

  /// Opens the bundles of which not all versions are in the store.
  init(_ session: BundleSession) throws(StoreError) {
    self.session = session
    fetcher = ItemFetcher(session)
    var unread: [Unread] = []
    for name in try session.unread() {
      try session.control.check()
      let entries = try session.opened(name).entries().filter { $0.id != nil }
      unread.append(Unread(name: name, ids: entries.compactMap(\.id), entries: entries))
    }
    self.unread = unread
    for (number, bundle) in unread.enumerated() {
      for (index, id) in bundle.ids.enumerated() {
        places[id, default: []].append(Place(bundle: number, index: index))
      }
    }
  }

  private init(_ session: BundleSession, _ unread: [Unread], _ places: [Version.ID: [Place]]) {
    self.session = session
    fetcher = ItemFetcher(session)
    self.unread = unread
    self.places = places
  }

  /// Returns a source of the copies that one of the unread bundles has.
  func alone(_ number: Int) -> BundleRemoteSource {
    var places: [Version.ID: [Place]] = [:]
    for (index, id) in unread[number].ids.enumerated() {
      places[id, default: []].append(Place(bundle: number, index: index))
    }
    return BundleRemoteSource(session, unread, places)
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
    let new = Table(bundle: place.bundle, table: table, numbers: numbers)
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

  func isNamed(_ reason: String) -> Bool {
    reason.hasPrefix("\(BundleFormat.folder)/")
  }

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
