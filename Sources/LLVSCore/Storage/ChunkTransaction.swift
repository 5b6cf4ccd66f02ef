/// Lists the chunks that the transaction stored, which others cannot find yet.
package protocol ChunkTransaction: AnyObject {
  func newChunk(_ digest: Digest) -> Location?
  func remember(chunk digest: Digest, at location: Location)
}
