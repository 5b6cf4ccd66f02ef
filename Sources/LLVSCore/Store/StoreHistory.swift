/// The committed versions of a store, for histories and merges.
/// - Concurrency: any thread; the catalog has its own connections.
final class StoreHistory: HistorySource, VersionMaps, DocumentVersions {
  private let catalog: Catalog
  private let nodes: any NodeStorage
  private let cache: NodeCache
  private let contents: ContentStore
  let bases: VirtualBases
  let documentStates = DocumentStateCache()

  init(catalog: Catalog, nodes: any NodeStorage, contents: ContentStore, cache: NodeCache) {
    self.catalog = catalog
    self.contents = contents
    self.nodes = nodes
    self.cache = cache
    bases = VirtualBases(over: nodes)
  }

  func record(_ number: VersionNumber) throws(StoreError) -> VersionRecord {
    let found = try catalog.read { (database) throws(StoreError) in try database.version(number) }
    guard let found else { throw .corrupt("there is no version number \(number.rawValue)") }
    return found
  }

  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode {
    HistoryNode(try record(number))
  }

  func historyHeads() throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in try database.heads() }
  }

  func historyHeads(ofLine line: Branch?) throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in
      try database.heads(ofLine: line?.rawValue ?? VersionRecord.unnamedLine)
    }
  }

  func valueMap(ofVersion number: VersionNumber) throws(StoreError) -> ValueMap {
    map(try record(number).map)
  }

  func knownBases(over storage: any NodeStorage) -> KnownBases { KnownBases(bases.current()) }
  var documents: DocumentStates? { DocumentStates(source: self, cache: documentStates) }

  func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata {
    try contents.unpack(try record(number).packedMetadata)
  }

  func map(_ root: MapRoot) -> ValueMap { ValueMap(root: root, storage: nodes, cache: cache) }
}

extension HistoryNode {
  package init(_ record: VersionRecord) {
    self.init(
      number: record.number, id: record.id, first: record.first, second: record.second,
      generation: record.generation, timestamp: record.timestamp,
      line: record.line == VersionRecord.unnamedLine ? nil : Branch(rawValue: record.line),
      isAutomatic: record.flags.contains(.automatic), isVoid: record.flags.contains(.isVoid),
      hasEmptyRoots: record.flags.contains(.hasEmptyRoots))
    knowsDocuments = record.flags.contains(.knowsDocuments)
  }
}

extension Store {
  package func map(_ root: MapRoot) -> ValueMap { history.map(root) }
  /// The map of a version; an empty one for nil, the time before the first version.
  package func map(of record: VersionRecord?) -> ValueMap { history.map(record?.map ?? .empty) }
}
