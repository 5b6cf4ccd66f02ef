/// The transaction in which chunks are written: it knows those that it stored itself, which other
/// transactions cannot find before it commits.
package protocol ChunkTransaction: AnyObject {
  /// The location of a chunk that this transaction stored; nil for any other.
  func newChunk(_ digest: Digest) -> Location?

  /// Remembers a chunk that this transaction stored.
  func remember(chunk digest: Digest, at location: Location)
}
