import LLVSCore
internal import Synchronization

/// The versions in a remote's bundles of which some are not in the store, as a source.
///
/// If a version is in several bundles the first copy is used; if that is refused, the next.
final class BundleRemoteSource: VersionSource {
  /// The changes of a version in a bundle of either version.
  enum Changes: ChangeSource {
    case first(BundleChanges)
    case second(Bundle2Changes)

    func read<Sink: WireValueSink>(
      into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
    ) throws(StoreError) {
      switch self {
      case .first(let changes): try changes.read(into: sink, body)
      case .second(let changes): try changes.read(into: sink, body)
      }
    }
  }

  private struct Place {
    let bundle: Int
    let index: Int
  }

  /// A bundle whose versions are looked at.
  struct Unread {
    let name: BundleName
    /// The ids of the versions, in order.
    let ids: [Version.ID]
    /// In a bundle of version 2, the entries of these versions.
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
      switch try session.opened(name) {
      case .first(let bundle):
        unread.append(Unread(name: name, ids: bundle.entries.map(\.id), entries: []))
      case .second(let bundle):
        let entries = try bundle.entries().filter { $0.id != nil }
        unread.append(Unread(name: name, ids: entries.compactMap(\.id), entries: entries))
      }
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
    _ place: Place, _ bundle: Bundle2Reader
  ) throws(StoreError) -> Bundle2Reader.Description {
    let unread = unread[place.bundle]
    return try bundle.description(of: unread.entries[place.index]) { distance in
      distance <= UInt64(place.index) ? unread.ids[place.index - Int(distance)] : nil
    }
  }

  func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let place = places[id]?.first else { return nil }
    switch try opened(place) {
    case .first(let bundle): return try bundle.version(place.index)
    case .second(let bundle): return try description(place, bundle).version
    }
  }

  func changes(of id: Version.ID) throws(StoreError) -> Changes? {
    guard let place = places[id]?.first else { return nil }
    switch try opened(place) {
    case .first(let bundle): return .first(try bundle.changes(place.index))
    case .second(let bundle):
      let changes = try changes(id, place, bundle)
      // A version of which bytes are nowhere waits.
      return try changes.isComplete() ? .second(changes) : nil
    }
  }

  private func changes(
    _ id: Version.ID, _ place: Place, _ bundle: Bundle2Reader
  ) throws(StoreError) -> Bundle2Changes {
    let known = try table(place, bundle)
    return Bundle2Changes(
      bundle, known.table, numbers: known.numbers, try description(place, bundle).changes, fetcher,
      label: bundle.label(id))
  }

  private func table(_ place: Place, _ bundle: Bundle2Reader) throws(StoreError) -> Table {
    if let known = last.withLock({ $0 }), known.bundle == place.bundle { return known }
    let table = try bundle.table()
    let numbers = Dictionary(zip(table.items, 0...)) { first, _ in first }
    let new = Table(bundle: place.bundle, table: table, numbers: numbers)
    last.withLock { $0 = new }
    return new
  }

  private func opened(_ place: Place) throws(StoreError) -> OpenedBundle {
    try session.opened(unread[place.bundle].name)
  }

  func contentDigest(of id: Version.ID) throws(StoreError) -> Digest? {
    guard let place = places[id]?.first, case .second(let bundle) = try opened(place) else {
      return nil
    }
    return try description(place, bundle).contentDigest
  }

  func label(_ id: Version.ID) -> String {
    guard let place = places[id]?.first else { return "version \(id.rawValue)" }
    return "\(unread[place.bundle].name.object): version \(id.rawValue)"
  }

  func changesLabel(_ id: Version.ID) -> String { label(id) }

  func isNamed(_ reason: String) -> Bool {
    reason.hasPrefix("\(BundleFormat.directory)/")
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
