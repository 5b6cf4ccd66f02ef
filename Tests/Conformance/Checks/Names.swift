import CShims
import Glibc

func addNameChecks(_ suite: inout Suite) {
  let names: [(String, [UInt8])] = [
    ("bytes that are no UTF-8", [0xFF, 0xFE, 0x80]), ("a newline", Array("a\nb".utf8)),
    ("255 bytes", [UInt8](repeating: 0x6E, count: 255)), ("spaces at both ends", [32, 97, 32]),
    ("control characters", [1, 2, 27, 127]), ("a backslash", [0x5C]), ("a quote", [0x22, 0x27]),
    ("three dots", [46, 46, 46]), ("a tilde", [126]), ("a dash first", Array("-rf".utf8)),
    ("a glob", Array("*?[a]".utf8)), ("a colon", Array("C:".utf8)),
    ("an accent composed", [0xC3, 0xA9]), ("an accent of its own", [0x65, 0xCC, 0x81]),
    ("a percent sign", Array("%41%2F".utf8)), ("an emoji", [0xF0, 0x9F, 0x98, 0x80]),
    ("255 bytes that are no UTF-8", [UInt8](repeating: 0xF8, count: 255)),
  ]
  for (what, name) in names {
    suite.check("names: \(what)") { place in
      let path = Path(place.path).appending(name)
      let fd = try ok(Sys.open(path.bytes, O_CREAT | O_RDWR))
      try equal(Sys.write(fd, [65]), 1)
      Sys.close(fd)
      try require(Place.names(Path(place.path))?.contains(name) == true, "it is not listed")
      let again = try ok(Sys.open(path.bytes, O_RDONLY))
      try equal(Sys.read(again, 2), [65])
      Sys.close(again)
      try ok(Sys.rename(path.bytes, place("plain")))
      try ok(Sys.rename(place("plain"), path.bytes))
      try ok(Sys.unlink(path.bytes))
      try ok(Sys.mkdir(path.bytes))
      try ok(Sys.rmdir(path.bytes))
      try ok(Sys.symlink(path.bytes, place("link")))
    }
  }
  suite.check("names: composed and decomposed accents, upper and lower case are different names") {
    place in
    let root = Path(place.path)
    for name in [[0xC3, 0xA9], [0x65, 0xCC, 0x81], [0x61], [0x41]] as [[UInt8]] {
      Sys.close(try ok(Sys.open(root.appending(name).bytes, O_CREAT | O_EXCL | O_RDWR)))
    }
    try equal(Place.names(root)?.count, 6)
  }
  suite.check("names: 200 levels of directories") { place in
    let back = try place.open("", O_RDONLY | Linux.directory)
    defer { fchdir(Int32(back)) }
    try equal(chdir(place.path), 0)
    for level in 0..<200 {
      try ok(Sys.mkdir("level-\(level)"))
      try equal(chdir("level-\(level)"), 0)
    }
    Sys.close(try ok(Sys.open("bottom", O_CREAT | O_WRONLY)))
    try equal(fchdir(Int32(back)), 0)
    let path = (0..<200).map { "level-\($0)" }.joined(separator: "/")
    var status = stat()
    try ok(Sys.stat(place(path + "/bottom"), &status))
  }
  suite.check("names: a path of 4,095 bytes opens") { place in
    let back = try place.open("", O_RDONLY | Linux.directory)
    defer { fchdir(Int32(back)) }
    try equal(chdir(place.path), 0)
    let level = String(repeating: "d", count: 200)
    var path = ""
    while path.utf8.count + 201 < 4090 {
      try ok(Sys.mkdir(path + level))
      path += level + "/"
    }
    let name = String(repeating: "n", count: 4095 - path.utf8.count)
    Sys.close(try ok(Sys.open(path + name, O_CREAT | O_WRONLY)))
    var status = stat()
    try ok(Sys.stat(path + name, &status))
  }
}

func addExtendedChecks(_ suite: inout Suite) {
  suite.check("xattr: set, read, list and remove") { place in
    try place.file("f")
    try ok(Sys.setxattr(place("f"), "user.one", [1, 2, 3]))
    try ok(Sys.setxattr(place("f"), "user.two", []))
    try equal(Sys.getxattr(place("f"), "user.one"), [1, 2, 3])
    try equal(Sys.getxattr(place("f"), "user.two"), [])
    let names = Set((Sys.listxattr(place("f")) ?? []).split(separator: 0).map { Array($0) })
    try equal(names, [Array("user.one".utf8), Array("user.two".utf8)])
    try ok(Sys.removexattr(place("f"), "user.one"))
    try require(Sys.getxattr(place("f"), "user.one") == nil && errno == ENODATA, "it stays")
  }
  suite.check("xattr: XATTR_CREATE and XATTR_REPLACE together are ENODATA or EEXIST") { place in
    try place.file("f")
    try fails(ENODATA, Sys.setxattr(place("f"), "user.a", [1], 3))
    try ok(Sys.setxattr(place("f"), "user.a", [1]))
    try fails(EEXIST, Sys.setxattr(place("f"), "user.a", [2], 3))
    try fails(EINVAL, Sys.setxattr(place("f"), "user.a", [2], 4))
    try equal(Sys.getxattr(place("f"), "user.a"), [1])
  }
  suite.check("xattr: XATTR_CREATE is EEXIST, XATTR_REPLACE ENODATA") { place in
    try place.file("f")
    try fails(ENODATA, Sys.setxattr(place("f"), "user.a", [1], 2))
    try ok(Sys.setxattr(place("f"), "user.a", [1], 1))
    try fails(EEXIST, Sys.setxattr(place("f"), "user.a", [2], 1))
    try ok(Sys.setxattr(place("f"), "user.a", [3], 2))
    try equal(Sys.getxattr(place("f"), "user.a"), [3])
  }
  suite.check("xattr: moves ctime alone") { place in
    try place.file("f")
    try place.moves(mtime: false, ctime: true, of: "f") {
      try ok(Sys.setxattr(place("f"), "user.a", [1]))
    }
    try place.moves(mtime: false, ctime: true, of: "f") {
      try ok(Sys.removexattr(place("f"), "user.a"))
    }
  }
  suite.check("xattr: too little room is ERANGE, none asks for the size") { place in
    try place.file("f")
    try ok(Sys.setxattr(place("f"), "user.a", [1, 2, 3]))
    try require(Sys.getxattr(place("f"), "user.a", room: 2) == nil && errno == ERANGE, "no ERANGE")
    try require(Sys.getxattr(place("f"), "user.a", room: 0) != nil, "no size")
  }
  suite.check("xattr: removing what is not there is ENODATA") { place in
    try place.file("f")
    try fails(ENODATA, Sys.removexattr(place("f"), "user.a"))
  }
  suite.check("xattr: user attributes of links, FIFOs and sockets are EPERM") { place in
    for kind in [Kind.symlink, .fifo, .socket] {
      try place.node(kind, "\(kind)")
      try fails(EPERM, Sys.setxattr(place("\(kind)"), "user.a", [1]))
    }
  }
  suite.check("xattr: a directory has them too") { place in
    try place.directory("d")
    try ok(Sys.setxattr(place("d"), "user.a", [1]))
    try equal(Sys.getxattr(place("d"), "user.a"), [1])
  }
  suite.check("xattr: an unknown name space is EOPNOTSUPP") { place in
    try place.file("f")
    try fails(EOPNOTSUPP, Sys.setxattr(place("f"), "nonsense.a", [1]))
  }
  suite.check("xattr: a name space without a name is EINVAL") { place in
    try place.file("f")
    try fails(EINVAL, Sys.setxattr(place("f"), "user.", [1]))
    try fails(EINVAL, Sys.removexattr(place("f"), "user."))
    try require(Sys.getxattr(place("f"), "user.") == nil && errno == EINVAL, "it is read")
  }
  suite.check("xattr: a name over 255 bytes is ERANGE") { place in
    try place.file("f")
    let name = "user." + String(repeating: "n", count: 251)
    try fails(ERANGE, Sys.setxattr(place("f"), name, [1]))
  }
  suite.check("xattr: needs the permission to read or write: EACCES") { place in
    try place.file("f", mode: 0o600)
    try ok(Sys.setxattr(place("f"), "user.a", [1]))
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.setxattr(place("f"), "user.a", [2]))
      try require(Sys.getxattr(place("f"), "user.a") == nil && errno == EACCES, "it is read")
    }
  }
  suite.check("xattr: of a sticky directory are its owner's to change: EPERM") { place in
    try place.directory("d")
    try ok(Sys.chmod(place("d"), 0o1777))
    try place.file("d/f", mode: 0o666)
    try ok(Sys.setxattr(place("d"), "user.a", [1]))
    try place.asUser(Place.stranger) {
      try fails(EPERM, Sys.setxattr(place("d"), "user.a", [2]))
      try fails(EPERM, Sys.setxattr(place("d"), "user.b", [2]))
      try fails(EPERM, Sys.removexattr(place("d"), "user.a"))
      try equal(Sys.getxattr(place("d"), "user.a"), [1])
      // What is in it is not meant.
      try ok(Sys.setxattr(place("d/f"), "user.a", [2]))
    }
    try ok(Sys.chmod(place("d"), 0o777))
    try place.asUser(Place.stranger) {
      try ok(Sys.setxattr(place("d"), "user.a", [2]))
      try ok(Sys.removexattr(place("d"), "user.a"))
    }
  }
  suite.check("ACLs: an access list is enforced, or refused with EOPNOTSUPP") { place in
    try place.file("f", mode: 0o600)
    // Version 2; owner rw, the stranger r, group none, mask r, others none.
    var list: [UInt8] = [2, 0, 0, 0]
    func add(_ tag: UInt16, _ bits: UInt16, _ id: UInt32) {
      withUnsafeBytes(of: tag.littleEndian) { list += $0 }
      withUnsafeBytes(of: bits.littleEndian) { list += $0 }
      withUnsafeBytes(of: id.littleEndian) { list += $0 }
    }
    add(1, 6, .max)
    add(2, 4, UInt32(Place.stranger))
    add(4, 0, .max)
    add(16, 4, .max)
    add(32, 0, .max)
    let result = Sys.setxattr(place("f"), "system.posix_acl_access", list)
    if result < 0 { return try fails(EOPNOTSUPP, result) }
    try place.asUser(Place.stranger) {
      Sys.close(try ok(Sys.open(place("f"), O_RDONLY)))
      try fails(EACCES, Sys.open(place("f"), O_WRONLY))
    }
  }
}
