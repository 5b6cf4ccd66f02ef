import LLVSCore
internal import Platform

/// The bundles of a folder that a store has not read before, as a source of versions.
///
/// If a version is in several bundles the first copy is used; if that is refused, the next.
final class BundleSource: VersionSource {
  private struct Place {
    let bundle: Int
    let index: Int
  }

  /// All bundles that have the length in their name, read before or not.
  let names: [BundleName]
  /// The bundles that were opened.
  let bundles: [BundleReader]
  /// The files that are whole and are not bundles.
  let faults: [ExchangeReport.Fault]
  /// The files that are torn.
  let torn: [ExchangeReport.Fault]
  /// The bundles that were listed whole and could not be read so: torn all the same, or gone.
  let lost: [BundleName]
  private var places: [Version.ID: [Place]] = [:]

  /// Opens the bundles of a folder that the store has not read.
  init(
    _ folder: BundleFolder, for store: Store, control: ExchangeControl
  ) throws(StoreError) {
    let (names, unfinished) = try folder.list()
    self.names = names
    let unread = try store.unread(names)
    let cache = BundleCache()
    let opened = try Threads.map(unread.count, width: folder.isNear ? 1 : 4) {
      (index) throws(StoreError) -> Result<BundleReader?, ExchangeReport.Fault> in
      try BundleSource.open(unread[index], in: folder, cache, control)
    }
    var (bundles, faults) = ([BundleReader](), [ExchangeReport.Fault]())
    var torn = unfinished.map { BundleSource.torn($0) }
    var lost: [BundleName] = []
    for (name, outcome) in zip(unread, opened) {
      switch outcome {
      case .success(let bundle?): bundles.append(bundle)
      case .success(nil):
        lost.append(name)
        torn.append(BundleSource.torn(name.text))
      case .failure(let fault): faults.append(fault)
      }
    }
    self.bundles = bundles
    self.faults = faults
    self.torn = torn
    self.lost = lost
    for (number, bundle) in bundles.enumerated() {
      for (index, entry) in bundle.entries.enumerated() {
        places[entry.id, default: []].append(Place(bundle: number, index: index))
      }
    }
  }

  private static func open(
    _ name: BundleName, in folder: BundleFolder, _ cache: BundleCache, _ control: ExchangeControl
  ) throws(StoreError) -> Result<BundleReader?, ExchangeReport.Fault> {
    do throws(StoreError) {
      return .success(try folder.open(name, cache: cache, control: control))
    } catch {
      guard case .invalid(let reason) = error else { throw error }
      return .failure(ExchangeReport.Fault(id: Version.ID(name.text), reason: reason))
    }
  }

  private static func torn(_ name: String) -> ExchangeReport.Fault {
    ExchangeReport.Fault(
      id: Version.ID(name), reason: "\(BundleFormat.directory)/\(name): it is not whole")
  }

  func versionIDs() -> [Version.ID] {
    var listed: Set<Version.ID> = []
    return bundles.flatMap(\.entries).map(\.id).filter { listed.insert($0).inserted }
  }

  func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let place = places[id]?.first else { return nil }
    return try bundles[place.bundle].version(place.index)
  }

  func changes(of id: Version.ID) throws(StoreError) -> BundleChanges? {
    guard let place = places[id]?.first else { return nil }
    return try bundles[place.bundle].changes(place.index)
  }

  func label(_ id: Version.ID) -> String {
    guard let place = places[id]?.first else { return "version \(id.rawValue)" }
    return bundles[place.bundle].label(place.index)
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
