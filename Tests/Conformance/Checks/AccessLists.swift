import CShims
import Glibc

// POSIX access control lists (acl(5)), by the extended attributes that setfacl(1) sets.

private let access = "system.posix_acl_access"
private let inherited = "system.posix_acl_default"

/// An entry of a list.
private enum Who {
  case owner, user(Int), owningGroup, group(Int), mask, other

  var tag: UInt16 {
    switch self {
    case .owner: 1
    case .user: 2
    case .owningGroup: 4
    case .group: 8
    case .mask: 16
    case .other: 32
    }
  }

  var id: UInt32 {
    switch self {
    case .user(let id), .group(let id): UInt32(id)
    default: .max
    }
  }
}

/// A list as linux/posix_acl_xattr.h has it.
private func list(_ entries: (Who, UInt16)...) -> [UInt8] {
  func little(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }
  return little(UInt32(2))
    + entries.flatMap { little($0.0.tag) + little($0.1) + little($0.0.id) }
}

private func set(_ place: Place, _ name: String, _ kind: String, _ list: [UInt8]) throws {
  try Feature.acl.needed(EOPNOTSUPP, Sys.setxattr(place(name), kind, list))
}

/// Runs a body with an umask of its own.
private func withMask(_ mask: UInt32, _ body: () throws -> Void) rethrows {
  let old = umask(mask)
  defer { umask(old) }
  try body()
}

func addAccessListChecks(_ suite: inout Suite) {
  addListChecks(&suite)
  addInheritanceChecks(&suite)
  addEnforcementChecks(&suite)
}

private func addListChecks(_ suite: inout Suite) {
  for kind in Kind.allCases where kind != .symlink {
    suite.check(
      "acl: a list of \(kind.rawValue) comes back, is listed, and its mask is the mode's group"
    ) {
      place in
      try place.node(kind, "n", mode: 0o750)
      let given = list(
        (.owner, 7), (.user(1000), 6), (.owningGroup, 5), (.group(1001), 4), (.mask, 6), (.other, 1)
      )
      try place.moves(mtime: false, ctime: true, of: "n") { try set(place, "n", access, given) }
      try equal(Sys.getxattr(place("n"), access), given)
      try equal(try place.mode("n"), 0o761)
      let names = String(decoding: Sys.listxattr(place("n")) ?? [], as: UTF8.self)
      try require(names.split(separator: "\0").contains { $0 == access }, "it is not listed")
    }
  }
  suite.check("acl: chmod changes the owner's, the mask's and the others' permissions") { place in
    try place.file("f")
    try set(
      place, "f", access,
      list((.owner, 6), (.user(1000), 7), (.owningGroup, 5), (.mask, 7), (.other, 4)))
    try ok(Sys.chmod(place("f"), 0o4521))
    try equal(
      Sys.getxattr(place("f"), access),
      list((.owner, 5), (.user(1000), 7), (.owningGroup, 5), (.mask, 2), (.other, 1)))
    try equal(try place.mode("f"), 0o4521)
  }
  suite.check("acl: a list that the mode says all of sets the mode, and is none") { place in
    try place.file("f")
    try set(
      place, "f", access,
      list((.owner, 6), (.user(1000), 7), (.owningGroup, 5), (.mask, 7), (.other, 4)))
    try ok(Sys.setxattr(place("f"), access, list((.owner, 7), (.owningGroup, 4), (.other, 2))))
    try equal(try place.mode("f"), 0o742)
    try require(Sys.getxattr(place("f"), access) == nil && errno == ENODATA, "it has one")
    try equal(Sys.listxattr(place("f")) ?? [1], [])
  }
  suite.check("acl: taking a list away leaves the mode, and twice is no error") { place in
    try place.file("f")
    try set(
      place, "f", access,
      list((.owner, 6), (.user(1000), 7), (.owningGroup, 1), (.mask, 4), (.other, 0)))
    for _ in 0..<2 { try ok(Sys.removexattr(place("f"), access)) }
    try equal(try place.mode("f"), 0o640)
    try require(Sys.getxattr(place("f"), access) == nil && errno == ENODATA, "it has one")
  }
  suite.check("acl: what is no list is EINVAL, a symbolic link has none, a file no default one") {
    place in
    try place.file("f", mode: 0o644)
    try place.directory("d")
    try ok(Sys.symlink("f", place("l")))
    let good = list((.owner, 7), (.user(1000), 7), (.owningGroup, 7), (.mask, 7), (.other, 0))
    try set(place, "d", inherited, good)
    let bad = [
      list((.owner, 7), (.owningGroup, 7)), list((.owner, 9), (.owningGroup, 7), (.other, 0)),
      list((.owner, 7), (.user(1000), 7), (.owningGroup, 7), (.other, 0)),
      list((.owner, 7), (.other, 0), (.owningGroup, 7)),
      list((.owner, 7), (.owner, 7), (.owningGroup, 7), (.other, 0)), Array(good.dropLast()),
      [3] + good.dropFirst(),
    ]
    for (index, list) in bad.enumerated() {
      // Of another version is EOPNOTSUPP.
      for name in [access, inherited] {
        let result = Sys.setxattr(place("d"), name, list)
        try fails(index == bad.count - 1 ? EOPNOTSUPP : EINVAL, result)
      }
    }
    try fails(EOPNOTSUPP, Sys.setxattr(place("l"), access, good))
    try fails(EACCES, Sys.setxattr(place("f"), inherited, good))
    try equal(try place.mode("f"), 0o644)
    try equal(Sys.getxattr(place("d"), inherited), good)
    try equal(try place.mode("d"), 0o755)
  }
  suite.check("acl: rename and link keep a list, and writing does") { place in
    try place.file("f")
    let given = list((.owner, 6), (.user(1000), 4), (.owningGroup, 4), (.mask, 4), (.other, 0))
    try set(place, "f", access, given)
    try ok(Sys.rename(place("f"), place("g")))
    try ok(Sys.link(place("g"), place("h")))
    let fd = try place.open("g", O_WRONLY | O_TRUNC)
    try equal(Sys.write(fd, [1]), 1)
    for name in ["g", "h"] { try equal(Sys.getxattr(place(name), access), given) }
  }
}

private func addInheritanceChecks(_ suite: inout Suite) {
  let given = list(
    (.owner, 7), (.user(1000), 7), (.owningGroup, 5), (.group(1001), 6), (.mask, 7), (.other, 5))
  suite.check("acl: a file made in a directory with a default list gets it, whatever the umask") {
    place in
    try place.directory("d")
    try set(place, "d", inherited, given)
    try withMask(0o077) {
      try place.file("d/f", mode: 0o664)
      try place.node(.fifo, "d/fifo", mode: 0o664)
    }
    for name in ["d/f", "d/fifo"] {
      try equal(
        Sys.getxattr(place(name), access),
        list(
          (.owner, 6), (.user(1000), 7), (.owningGroup, 5), (.group(1001), 6), (.mask, 6),
          (.other, 4)))
      try equal(try place.mode(name), 0o664)
      try require(Sys.getxattr(place(name), inherited) == nil, "it has a default list")
    }
  }
  suite.check("acl: a directory made there gets both, and so on below") { place in
    try place.directory("d")
    try set(place, "d", inherited, given)
    try withMask(0o077) {
      try place.directory("d/e", mode: 0o750)
      try place.directory("d/e/f", mode: 0o777)
    }
    try equal(Sys.getxattr(place("d/e"), inherited), given)
    try equal(
      Sys.getxattr(place("d/e"), access),
      list(
        (.owner, 7), (.user(1000), 7), (.owningGroup, 5), (.group(1001), 6), (.mask, 5), (.other, 0)
      ))
    try equal(try place.mode("d/e"), 0o750)
    try equal(Sys.getxattr(place("d/e/f"), access), given)
    try equal(try place.mode("d/e/f"), 0o775)
  }
  suite.check("acl: a default list that the mode says all of is the mode of what is made") {
    place in
    try place.directory("d")
    try set(place, "d", inherited, list((.owner, 7), (.owningGroup, 4), (.other, 1)))
    try withMask(0o077) { try place.file("d/f", mode: 0o666) }
    try equal(try place.mode("d/f"), 0o640)
    try require(Sys.getxattr(place("d/f"), access) == nil && errno == ENODATA, "it has a list")
  }
  suite.check("acl: without a default list the umask counts, and a link gets none") { place in
    try place.directory("d")
    try withMask(0o027) {
      try place.file("f", mode: 0o666)
      try place.directory("e", mode: 0o777)
      try place.node(.fifo, "fifo", mode: 0o666)
    }
    try equal(try ["f", "e", "fifo"].map { try place.mode($0) }, [0o640, 0o750, 0o640])
    try set(place, "d", inherited, given)
    try ok(Sys.symlink("target", place("d/l")))
    try equal(Sys.listxattr(place("d/l")) ?? [1], [])
  }
}

private func addEnforcementChecks(_ suite: inout Suite) {
  let stranger = Place.stranger
  suite.check("acl: who is named may do what the list and the mask allow, and no more") { place in
    try place.file("f", "text", mode: 0o600)
    try place.needLists()
    let cases: [(list: [UInt8], reads: Bool, writes: Bool)] = [
      (
        list((.owner, 6), (.user(stranger), 4), (.owningGroup, 0), (.mask, 6), (.other, 0)), true,
        false
      ),
      (
        list((.owner, 6), (.user(stranger), 6), (.owningGroup, 0), (.mask, 6), (.other, 0)), true,
        true
      ),
      (
        list((.owner, 6), (.user(stranger), 6), (.owningGroup, 0), (.mask, 2), (.other, 6)), false,
        true
      ),
      (
        list((.owner, 6), (.user(stranger), 0), (.owningGroup, 6), (.mask, 6), (.other, 6)), false,
        false
      ),
      (
        list((.owner, 6), (.owningGroup, 0), (.group(stranger), 4), (.mask, 4), (.other, 6)), true,
        false
      ),
      (list((.owner, 6), (.user(1), 6), (.owningGroup, 0), (.mask, 6), (.other, 0)), false, false),
    ]
    for (index, one) in cases.enumerated() {
      try set(place, "f", access, one.list)
      try place.asUser(stranger) {
        for (flags, isAllowed) in [(O_RDONLY, one.reads), (O_WRONLY, one.writes)] {
          let fd = Sys.open(place("f"), flags)
          try require(fd >= 0 || errno == EACCES, "\(errorName(errno))")
          try require((fd >= 0) == isAllowed, "case \(index), flags \(flags)")
          if fd >= 0 { Sys.close(fd) }
        }
      }
    }
  }
  suite.check("acl: a directory's list says who may walk it and make names there") { place in
    try place.directory("d", mode: 0o700)
    try place.file("d/f", "text", mode: 0o644)
    try place.needLists()
    try place.asUser(stranger) { try fails(EACCES, Sys.open(place("d/f"), O_RDONLY)) }
    try set(
      place, "d", access,
      list((.owner, 7), (.user(stranger), 1), (.owningGroup, 0), (.mask, 7), (.other, 0)))
    try place.asUser(stranger) {
      Sys.close(try ok(Sys.open(place("d/f"), O_RDONLY)))
      try fails(EACCES, Sys.open(place("d/g"), O_WRONLY | O_CREAT))
    }
    try set(
      place, "d", access,
      list((.owner, 7), (.user(stranger), 7), (.owningGroup, 0), (.mask, 7), (.other, 0)))
    try place.asUser(stranger) {
      Sys.close(try ok(Sys.open(place("d/g"), O_WRONLY | O_CREAT)))
      try ok(Sys.unlink(place("d/f")))
    }
  }
  suite.check("acl: only the owner gives a list, and a stranger's group bit goes with it") {
    place in
    try place.file("f", mode: 0o666)
    try place.file("own", mode: 0o755)
    try place.needLists()
    let given = list((.owner, 7), (.user(1), 5), (.owningGroup, 5), (.mask, 5), (.other, 5))
    try ok(Sys.chown(place("own"), stranger, 7))
    try ok(Sys.chmod(place("own"), 0o2755))
    try place.asUser(stranger) {
      try fails(EPERM, Sys.setxattr(place("f"), access, given))
      try ok(Sys.setxattr(place("own"), access, given))
    }
    try equal(try place.mode("own"), 0o755)
    try ok(Sys.chmod(place("own"), 0o2755))
    try place.asUser(stranger, groups: [7]) { try ok(Sys.setxattr(place("own"), access, given)) }
    try equal(try place.mode("own"), 0o2755)
  }
}

extension Place {
  /// Skips the check where lists are not kept, or where nobody else is let in, so that nobody is to be kept out.
  fileprivate func needLists() throws {
    try asUser(Place.stranger) {}
    try file("probe")
    try Feature.acl.needed(
      EOPNOTSUPP,
      Sys.setxattr(self("probe"), access, list((.owner, 7), (.owningGroup, 4), (.other, 2))))
  }
}
