import LLVS
import Testing

@testable import FileTree

@Test("An ordinary user's tree shows everything as his, and root's keeps the owners")
func ownersAreKeptByRootAlone() {
  let foreign = Attributes(uid: 7, gid: 8)
  let user = LiveTree.Defaults(uid: 1000, gid: 100)
  #expect(user.owner(foreign) == (1000, 100))
  #expect(!user.keepsOwners)
  let root = LiveTree.Defaults(uid: 0, gid: 0)
  #expect(root.owner(foreign) == (7, 8))
  #expect(root.owner(Attributes()) == (0, 0))
  // What a peer may send, and chown(2) could not undo.
  #expect(root.owner(Attributes(uid: .max, gid: .max)) == (0, 0))
}
