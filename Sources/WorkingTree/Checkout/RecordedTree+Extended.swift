import Inodes
import LLVSCore
import TreeNames

extension RecordedTree {
  /// Returns all extended attributes that the head has of an inode whose rows lack some; else nil.
  /// - Throws: ``BaseError`` if the rows or the map cannot be read.
  func extended(of number: InodeNumber, in store: Store) throws(BaseError) -> [Attributes.Extended]?
  {
    guard let inode = try inode(number), inode.record.lacksExtended else { return nil }
    let path = try path(of: number)
    do throws(StoreError) {
      switch try TreeView(map: store.map(state.root)).find(path: path.bytes) {
      case .value(let entry)?, .directory(let entry?)?: return entry.attributes.extended
      case .directory(nil)?, nil: return nil
      }
    } catch { throw .store(error) }
  }
}
