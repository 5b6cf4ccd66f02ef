import LLVSCore
import Synchronization

/// Counts what is asked of a history.
final class CountingSource: HistorySource {
  private let source: any HistorySource
  private let count = Atomic<Int>(0)

  init(_ source: any HistorySource) {
    self.source = source
  }

  var reads: Int { count.load(ordering: .relaxed) }

  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode {
    count.add(1, ordering: .relaxed)
    return try source.historyNode(number)
  }

  func historyHeads() throws(StoreError) -> [VersionNumber] { try source.historyHeads() }

  func historyHeads(ofLine line: Branch?) throws(StoreError) -> [VersionNumber] {
    try source.historyHeads(ofLine: line)
  }
}
