import Inodes
import LLVSCore
import Testing

@testable import WorkingTree

@Test("An ordinary user's tree shows everything as his, and root's keeps the owners")
func ownersAreKeptByRootAlone() {
  let foreign = Attributes(uid: 7, gid: 8)
  let user = AttributeDefaults(uid: 1000, gid: 100)
  #expect(user.owner(foreign) == (1000, 100))
  #expect(!user.keepsOwners)
  let root = AttributeDefaults(uid: 0, gid: 0)
  #expect(root.owner(foreign) == (7, 8))
  #expect(root.owner(Attributes()) == (0, 0))
  // What a peer may send, and chown(2) could not undo.
  #expect(root.owner(Attributes(uid: .max, gid: .max)) == (0, 0))
}

@Test("A set-user-ID bit acts for the owner who allowed it, and root's tree gives none to root")
func setUserIDNeedsAnOwner() {
  let user = AttributeDefaults(uid: 1000, gid: 100)
  let root = AttributeDefaults(uid: 0, gid: 0)
  // What an ordinary user allows he allows in his own name, whoever was recorded.
  for recorded: UInt32? in [nil, 0, 7] {
    var his = Attributes(mode: 0o6755, uid: recorded, gid: recorded)
    user.nameOwner(in: &his, of: .regular)
    #expect(his.uid == 1000 && his.gid == 100)
    #expect(root.mode(his, of: .regular) == 0o6755 && root.owner(his) == (1000, 100))
  }
  // As trees of ordinary users recorded it before.
  let unnamed = Attributes(mode: 0o6755)
  #expect(user.mode(unnamed, of: .regular) == 0o6755)
  #expect(root.mode(unnamed, of: .regular) == 0o755)
  #expect(root.mode(unnamed, of: .directory) == 0o6755)
  var own = unnamed
  root.nameOwner(in: &own, of: .regular)
  #expect(own.uid == 0 && root.mode(own, of: .regular) == 0o6755)
  var plain = Attributes(mode: 0o755)
  root.nameOwner(in: &plain, of: .regular)
  user.nameOwner(in: &plain, of: .regular)
  #expect(plain == Attributes(mode: 0o755))
}
