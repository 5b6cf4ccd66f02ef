import CShims
import Glibc

func addNodeChecks(_ suite: inout Suite) {
  for kind in Kind.allCases where kind != .directory && kind != .symlink {
    suite.check("mknod: makes \(kind.rawValue)") { place in
      try place.node(kind, "n", mode: 0o640)
      let status = try place.status("n")
      try equal(status.st_mode, kind.typeBits | 0o640)
      try equal(status.st_nlink, 1)
      if kind.needsRoot { try equal(status.st_rdev, 1 << 8 | 3) }
    }
    suite.check("mknod: \(kind.rawValue) moves the directory's times") { place in
      try place.directory("d")
      if kind.needsRoot { try place.needRoot() }
      try place.moves(mtime: true, ctime: true, of: "d") { try place.node(kind, "d/n") }
    }
    for there in Kind.allCases {
      suite.check("mknod: \(kind.rawValue) where \(there.rawValue) is, is EEXIST") { place in
        try place.node(there, "n")
        if kind.needsRoot { try place.needRoot() }
        try fails(EEXIST, Sys.mknod(place("n"), Int(kind.typeBits) | 0o644, 1 << 8 | 3))
      }
    }
  }
  suite.check("mknod: a device by an ordinary user is EPERM") { place in
    try ok(Sys.chmod(place.path, 0o777))
    try place.asUser(Place.stranger) {
      try fails(EPERM, Sys.mknod(place("n"), 0o020644, 1 << 8 | 3))
      try fails(EPERM, Sys.mknod(place("n"), 0o060644, 1 << 8 | 3))
      try ok(Sys.mknod(place("fifo"), 0o010644))
    }
  }
  suite.check("mknod: a directory by mknod is EPERM, an unknown kind EINVAL") { place in
    try fails([EPERM, EINVAL], Sys.mknod(place("d"), 0o040755))
    try fails(EINVAL, Sys.mknod(place("x"), 0o170644))
  }
  suite.check("mknod: big device numbers come back") { place in
    try place.needRoot()
    let number = 0xABC << 8 | 0x78 | 0x12345 << 20 & 0xFFF0_0000
    try ok(Sys.mknod(place("n"), 0o020644, number))
    try equal(try place.status("n").st_rdev, UInt(number))
  }
  suite.check("mknod: a FIFO has no size and takes no truncate: EINVAL") { place in
    try place.node(.fifo, "n")
    try equal(try place.status("n").st_size, 0)
    try fails(EINVAL, Sys.truncate(place("n"), 1))
  }
  suite.check("symlink: holds its target to the byte, with the target's length as size") { place in
    for target in ["t", "a/b/../c", String(repeating: "x", count: 255), " ", "/"] {
      try ok(Sys.symlink(target, place("l")))
      try equal(try place.status("l").st_size, target.utf8.count)
      var room = [UInt8](repeating: 0, count: 5000)
      let got = place("l").withCString { path in
        room.withUnsafeMutableBytes {
          call(SYS_readlinkat, here, Int(bitPattern: path), Int(bitPattern: $0.baseAddress), 5000)
        }
      }
      try equal(room.prefix(max(0, got)), Array(target.utf8)[...])
      try ok(Sys.unlink(place("l")))
    }
  }
  suite.check("symlink: a target of 4,095 bytes works, of 4,096 it is ENAMETOOLONG") { place in
    try ok(Sys.symlink(String(repeating: "a/", count: 2047) + "b", place("l")))
    try equal(try place.status("l").st_size, 4095)
    try fails(ENAMETOOLONG, Sys.symlink(String(repeating: "a/", count: 2048), place("m")))
  }
  suite.check("symlink: an empty target is ENOENT") { place in
    try fails(ENOENT, Sys.symlink("", place("l")))
  }
  for kind in Kind.allCases {
    suite.check("symlink: over \(kind.rawValue) is EEXIST") { place in
      try place.node(kind, "n")
      try fails(EEXIST, Sys.symlink("t", place("n")))
    }
    if kind != .symlink {
      suite.check("readlink: of \(kind.rawValue) is EINVAL") { place in
        try place.node(kind, "n")
        try fails(EINVAL, Sys.readlink(place("n")))
      }
    }
  }
  suite.check("symlink: has mode 777 whatever the umask") { place in
    umask(0o077)
    defer { umask(0) }
    try ok(Sys.symlink("t", place("l")))
    try equal(try place.status("l").st_mode, 0o120777)
  }
  suite.check("symlink: 40 links in a row are followed, 41 are ELOOP") { place in
    try place.file("0", "text")
    for index in 1...41 { try ok(Sys.symlink("\(index - 1)", place("\(index)"))) }
    try equal(try place.text("40"), "text")
    try fails(ELOOP, Sys.open(place("41"), O_RDONLY))
  }
  suite.check("symlink: moves the directory's times") { place in
    try place.directory("d")
    try place.moves(mtime: true, ctime: true, of: "d") { try ok(Sys.symlink("t", place("d/l"))) }
  }
}
