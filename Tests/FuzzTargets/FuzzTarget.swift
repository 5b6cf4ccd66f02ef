/// A decoder of bytes from outside, and what must hold of whatever it makes of them.
///
/// The same functions run under libFuzzer (`mount-scripts/fuzz`) and in the tests, over the saved corpus
/// and over seeds that are changed at random. A target never fails for bytes that are refused: it fails
/// when something is taken that does not hold, or when the process dies.
package enum FuzzTarget: String, CaseIterable, Sendable {
  case version, changes, attributes, mapNode, record, journal, replay, control, ignore, text, json
  case settings, names, bundle, objectList, multistatus, address, bundleDirectory
  case document

  /// Something was taken that must not be, or is not what was put in.
  package struct Failure: Error, CustomStringConvertible {
    package var description: String
  }

  /// Runs the decoder over bytes.
  ///
  /// - Throws: ``Failure`` where a property does not hold.
  package func run(_ bytes: [UInt8]) throws(Failure) {
    switch self {
    case .version: try WireTargets.version(bytes)
    case .changes: try WireTargets.changes(bytes)
    case .attributes: try WireTargets.attributes(bytes)
    case .mapNode: try RecordTargets.mapNode(bytes)
    case .record: try RecordTargets.record(bytes)
    case .journal: try JournalTargets.records(bytes)
    case .replay: try JournalTargets.replay(bytes)
    case .control: try WordTargets.control(bytes)
    case .ignore: try WordTargets.ignore(bytes)
    case .text: try MergeTargets.text(bytes)
    case .json: try MergeTargets.json(bytes)
    case .settings: try WordTargets.settings(bytes)
    case .names: try WordTargets.names(bytes)
    case .bundle: try BundleTargets.bundle(bytes)
    case .objectList: try RemoteTargets.objectList(bytes)
    case .multistatus: try RemoteTargets.multistatus(bytes)
    case .address: try RemoteTargets.address(bytes)
    case .bundleDirectory: try BundleTargets.directory(bytes)
    case .document: try RecordTargets.document(bytes)
    }
  }

  /// Bytes that are taken, for a fuzzer to begin with.
  package var seeds: [[UInt8]] {
    switch self {
    case .version: WireTargets.versionSeeds
    case .changes: WireTargets.changeSeeds
    case .attributes: WireTargets.attributeSeeds
    case .mapNode: RecordTargets.nodeSeeds
    case .record: RecordTargets.recordSeeds
    case .journal: JournalTargets.recordSeeds
    case .replay: JournalTargets.replaySeeds
    case .control: WordTargets.controlSeeds
    case .ignore: WordTargets.ignoreSeeds
    case .text: MergeTargets.textSeeds
    case .json: MergeTargets.jsonSeeds
    case .settings: WordTargets.settingSeeds
    case .names: WordTargets.nameSeeds
    case .bundle: BundleTargets.bundleSeeds
    case .objectList: RemoteTargets.objectListSeeds
    case .multistatus: RemoteTargets.multistatusSeeds
    case .address: RemoteTargets.addressSeeds
    case .bundleDirectory: BundleTargets.directorySeeds
    case .document: RecordTargets.documentSeeds
    }
  }
}

/// Throws with a sentence where a property does not hold.
func expect(_ isTrue: Bool, _ sentence: @autoclosure () -> String) throws(FuzzTarget.Failure) {
  guard isTrue else { throw FuzzTarget.Failure(description: sentence()) }
}

/// The parts of bytes between a byte that separates them.
func parts(_ bytes: [UInt8], at separator: UInt8 = 0xFF, atMost count: Int) -> [[UInt8]] {
  var found = bytes.split(
    separator: separator, maxSplits: count - 1, omittingEmptySubsequences: false
  ).map { Array($0) }
  while found.count < count { found.append([]) }
  return found
}
