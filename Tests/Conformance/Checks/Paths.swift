import CShims
import Glibc

// What every call that takes a path says of bad ones.

/// A call with one path left open, and what must stand there for it to succeed.
private struct PathCall {
  var name: String
  /// True if the call makes its name, so that the name must not be there.
  var makes = false
  /// True if a symbolic link at the end of the path is followed.
  var follows = true
  /// What must stand at the name, where the call does not make it.
  var needs = Kind.regular
  var perform: (Place, Pointer) -> Int
}

nonisolated(unsafe) private let calls: [PathCall] = [
  PathCall(name: "open") { _, path in closing(Sys.open(path, O_RDONLY)) },
  PathCall(name: "creat", makes: true) { _, path in
    closing(Sys.open(path, O_WRONLY | O_CREAT | O_TRUNC))
  },
  PathCall(name: "stat") { _, path in call(SYS_faccessat, here, Int(bitPattern: path), 0) },
  PathCall(name: "access") { _, path in Sys.access(path, R_OK) },
  PathCall(name: "link from", follows: false) { place, path in Sys.link(path, place("new")) },
  PathCall(name: "link to", makes: true, follows: false) { place, path in
    _ = Sys.mknod(place("source"), 0o100644)
    return Sys.link(place("source"), path)
  },
  PathCall(name: "unlink", follows: false) { _, path in Sys.unlink(path) },
  PathCall(name: "rename from", follows: false) { place, path in Sys.rename(path, place("new")) },
  PathCall(name: "rename to", makes: true, follows: false) { place, path in
    _ = Sys.mknod(place("source"), 0o100644)
    return Sys.rename(place("source"), path)
  },
  PathCall(name: "mkdir", makes: true, follows: false) { _, path in Sys.mkdir(path) },
  PathCall(name: "rmdir", follows: false, needs: .directory) { _, path in Sys.rmdir(path) },
  PathCall(name: "symlink", makes: true, follows: false) { _, path in Sys.symlink("t", path) },
  PathCall(name: "readlink", follows: false, needs: .symlink) { _, path in Sys.readlink(path) },
  PathCall(name: "chmod") { _, path in Sys.chmod(path, 0o644) },
  PathCall(name: "chown") { _, path in Sys.chown(path, Int(geteuid()), Int(getegid())) },
  PathCall(name: "lchown", follows: false) { _, path in
    Sys.lchown(path, Int(geteuid()), Int(getegid()))
  },
  PathCall(name: "truncate") { _, path in Sys.truncate(path, 0) },
  PathCall(name: "utimensat") { _, path in Sys.utimes(path, .now, .now) },
  PathCall(name: "mknod", makes: true, follows: false) { _, path in Sys.mknod(path, 0o100644) },
  PathCall(name: "mkfifo", makes: true, follows: false) { _, path in Sys.mknod(path, 0o010644) },
  PathCall(name: "setxattr", follows: false) { _, path in Sys.setxattr(path, "user.a", [1]) },
]

private func closing(_ fd: Int) -> Int {
  if fd >= 0 { Sys.close(fd) }
  return fd
}

extension Place {
  /// Makes a call at a path that is good for it.
  fileprivate func at(_ one: PathCall, _ path: String) throws {
    for leftover in ["new", "source"] { _ = Sys.unlink(self(leftover)) }
    if !one.makes {
      switch one.needs {
      case .directory: try ok(Sys.mkdir(path))
      case .symlink: try ok(Sys.symlink("target", path))
      default: try ok(Sys.mknod(path, 0o100644))
      }
    }
    try ok(one.perform(self, path), one.name)
  }
}

func addPathChecks(_ suite: inout Suite) {
  for one in calls {
    suite.check("\(one.name): a missing directory on the way is ENOENT") { place in
      try fails(ENOENT, one.perform(place, place("missing/name")))
    }
    suite.check("\(one.name): a file on the way is ENOTDIR") { place in
      try place.file("file")
      try fails(ENOTDIR, one.perform(place, place("file/name")))
      try fails(ENOTDIR, one.perform(place, place("file/name/further")))
    }
    suite.check("\(one.name): a name of 256 bytes is ENAMETOOLONG") { place in
      try fails(ENAMETOOLONG, one.perform(place, place(String(repeating: "n", count: 256))))
    }
    suite.check("\(one.name): a component of 256 bytes is ENAMETOOLONG") { place in
      let name = String(repeating: "n", count: 256)
      try fails(ENAMETOOLONG, one.perform(place, place("\(name)/x")))
    }
    suite.check("\(one.name): a path of 4,096 bytes is ENAMETOOLONG, of 4,095 it is not") { place in
      // Of short components and of long ones: neither their number nor their size counts.
      let fill = place.path + "/" + String(repeating: "./", count: 2100)
      let short = String(fill.prefix(4093)) + (fill.prefix(4093).hasSuffix("/") ? "xy" : "/x")
      try place.at(one, short)
      try fails(ENAMETOOLONG, one.perform(place, short + "z"))
      var long = place.path + "/"
      while 4095 - long.utf8.count > 510 {
        long += String(repeating: "d", count: 255)
        try ok(Sys.mkdir(long))
        long += "/"
      }
      let rest = 4095 - long.utf8.count - 1
      long += String(repeating: "e", count: rest / 2)
      try ok(Sys.mkdir(long))
      long += "/" + String(repeating: "n", count: rest - rest / 2)
      try equal(long.utf8.count, 4095)
      try place.at(one, long)
      try fails(ENAMETOOLONG, one.perform(place, long + "z"))
    }
    suite.check("\(one.name): links in a circle are ELOOP") { place in
      try ok(Sys.symlink("two", place("one")))
      try ok(Sys.symlink("one", place("two")))
      try fails(ELOOP, one.perform(place, place("one/name")))
      if one.follows, !one.makes { try fails(ELOOP, one.perform(place, place("one"))) }
    }
    suite.check("\(one.name): a pointer to nowhere is EFAULT") { place in
      try fails(EFAULT, one.perform(place, nowhere))
    }
    suite.check("\(one.name): an empty path is ENOENT") { place in
      try fails(ENOENT, one.perform(place, ""))
    }
    suite.check("\(one.name): a name of 255 bytes is as good as any") { place in
      let name = String(repeating: "n", count: 255)
      try place.at(one, place(name))
    }
    suite.check("\(one.name): a directory that may not be searched is EACCES") { place in
      try place.directory("closed", mode: 0o755)
      if !one.makes { try place.node(one.needs, "closed/name", mode: 0o777) }
      try ok(Sys.chmod(place.path, 0o777))
      try ok(Sys.chmod(place("closed"), 0o600))
      try place.asUser(Place.stranger) {
        try fails(EACCES, one.perform(place, place("closed/name")))
      }
    }
  }
}
