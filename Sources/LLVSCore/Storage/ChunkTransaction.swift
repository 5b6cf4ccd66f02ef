/// The transaction in which chunks are written: it knows those that it stored itself, which other
/// transactions cannot find before it commits.
package protocol ChunkTransaction: AnyObject {
  func newChunk(_ digest: Digest) -> Location?

  func remember(chunk digest: Digest, at location: Location)
}
