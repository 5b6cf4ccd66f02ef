import Events
package import Inodes
package import TreeNames

extension TreeSession {
  /// As ``WorkingTree/read(_:at:into:accessing:)``; damage is logged once, with its path.
  package func read(
    _ number: InodeNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    accessing: Bool = true
  ) throws(FSError) -> Int {
    do throws(FSError) {
      return try files.read(number, at: offset, into: buffer, accessing: accessing)
    } catch { throw told(error, of: number) }
  }

  /// As ``WorkingTree/readlink(_:)``; damage is logged once, with its path.
  package func readlink(_ number: InodeNumber) throws(FSError) -> [UInt8] {
    do throws(FSError) { return try files.readlink(number) } catch { throw told(error, of: number) }
  }

  private func told(_ error: FSError, of number: InodeNumber) -> FSError {
    guard let reason = error.damage else { return error }
    let path = try? files.path(of: number)
    damage.tell(reason, of: path.map { String(decoding: $0.bytes, as: UTF8.self) })
    return error
  }
}
