import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange

/// A view of a remote that grows bundle by bundle.
@Suite("A view of a remote", .timeLimit(.minutes(1)))
struct RemoteViewTests {
  private func name(_ writer: String, _ sequence: UInt64) -> BundleName {
    BundleName(
      writer: writer, sequence: sequence, length: 100,
      hash: Digest.of(Array("\(writer)\(sequence)".utf8)))
  }

  @Test(
    "bundles that are added one after the other make the view that all at once make",
    arguments: 0..<40)
  func added(_ seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let writers = ["A", "B", "C"]
    var bundles: [KnownBundle] = []
    for writer in writers {
      for sequence in 0..<UInt64(12) where UInt8.random(in: 0..<4, using: &random) > 0 {
        var bundle = KnownBundle(name: name(writer, sequence))
        if UInt8.random(in: 0..<12, using: &random) == 0 {
          bundle.reading = UInt8.random(in: 0..<2, using: &random) == 0 ? .malformed : .unknown
        } else {
          // Now and then of another writer, of itself alone, or of more than there is.
          for other in writers where other == writer || UInt8.random(in: 0..<8, using: &random) == 0
          {
            let kept = (0...sequence).filter { _ in UInt8.random(in: 0..<5, using: &random) > 0 }
            bundle.claims.append(
              BundleClaim(writer: other, upTo: sequence, kept: SequenceRuns(kept)))
          }
        }
        bundles.append(bundle)
      }
    }
    let whole = RemoteView(bundles)
    bundles.shuffle(using: &random)
    let first = bundles.prefix(Int.random(in: 0...bundles.count, using: &random))
    var grown = RemoteView(first)
    for bundle in bundles.dropFirst(first.count) { grown.add(bundle) }
    #expect(grown.names == whole.names)
    #expect(grown.unknown == whole.unknown)
    for writer in writers {
      #expect(grown.missing(of: writer) == whole.missing(of: writer))
      #expect(grown.isAdopted(writer) == whole.isAdopted(writer))
      for sequence in 0..<UInt64(13) {
        let name = name(writer, sequence)
        #expect(grown.names.contains(name) == whole.names.contains(name))
        #expect(grown.reading(of: name) == whole.reading(of: name))
        #expect(grown.counts(name) == whole.counts(name), "\(writer) \(sequence)")
        #expect(grown.isAnnounced(name) == whole.isAnnounced(name), "\(writer) \(sequence)")
        #expect(Set(grown.announcing(name)) == Set(whole.announcing(name)))
      }
    }
  }
}
