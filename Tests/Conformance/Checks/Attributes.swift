import CShims
import Glibc

func addModeChecks(_ suite: inout Suite) {
  for kind in Kind.allCases where kind != .symlink {
    suite.check("chmod: sets the bits of \(kind.rawValue) and moves its ctime alone") { place in
      try place.node(kind, "n")
      try place.moves(mtime: false, ctime: true, of: "n") { try ok(Sys.chmod(place("n"), 0o754)) }
      try equal(try place.mode("n"), 0o754)
      try ok(Sys.chmod(place("n"), 0))
      try equal(try place.mode("n"), 0)
      try ok(Sys.chmod(place("n"), 0o1777))
      try equal(try place.mode("n"), 0o1777)
    }
    suite.check("umask: takes its bits from the mode of a new \(kind.rawValue)") { place in
      umask(0o027)
      defer { umask(0) }
      try place.node(kind, "n", mode: 0o777)
      try equal(try place.mode("n"), 0o750)
    }
  }
  suite.check("chmod: follows a symbolic link") { place in
    try place.file("f")
    try ok(Sys.symlink("f", place("l")))
    try ok(Sys.chmod(place("l"), 0o600))
    try equal(try place.mode("f"), 0o600)
  }
  suite.check("chmod: set-user-ID, set-group-ID and sticky bits are kept") { place in
    try place.file("f")
    try ok(Sys.chmod(place("f"), 0o7755))
    try equal(try place.mode("f"), 0o7755)
  }
  suite.check("chmod: fchmod works through any handle") { place in
    try place.file("f")
    try ok(Sys.fchmod(try place.open("f", O_RDONLY), 0o640))
    try equal(try place.mode("f"), 0o640)
  }
  suite.check("chmod: of somebody else's file is EPERM") { place in
    try place.file("f", mode: 0o777)
    try place.asUser(Place.stranger) { try fails(EPERM, Sys.chmod(place("f"), 0o600)) }
  }
  suite.check("chmod: the owner may, without write permission to the directory") { place in
    try place.needRoot()
    try place.file("f")
    try ok(Sys.chown(place("f"), Place.stranger, Place.stranger))
    try place.asUser(Place.stranger) { try ok(Sys.chmod(place("f"), 0o600)) }
    try equal(try place.mode("f"), 0o600)
  }
  suite.check("chmod: by one who is not in the group clears set-group-ID") { place in
    try place.needRoot()
    try place.file("f")
    try ok(Sys.chown(place("f"), Place.stranger, 0))
    try place.asUser(Place.stranger) { try ok(Sys.chmod(place("f"), 0o2755)) }
    try equal(try place.mode("f"), 0o755)
  }
}

func addOwnerChecks(_ suite: inout Suite) {
  for kind in Kind.allCases {
    suite.check("chown: gives \(kind.rawValue) to another user and moves its ctime alone") {
      place in
      try place.node(kind, "n")
      try place.asUser(0) {
        try place.moves(mtime: false, ctime: true, of: "n") {
          try ok(Sys.lchown(place("n"), 123, 456))
        }
        let status = try place.status("n")
        try equal(status.st_uid, 123)
        try equal(status.st_gid, 456)
      }
    }
    suite.check("chown: -1 leaves the owner or the group of \(kind.rawValue)") { place in
      try place.node(kind, "n")
      try place.asUser(0) {
        try ok(Sys.lchown(place("n"), 123, 456))
        try ok(Sys.lchown(place("n"), -1, 7))
        try equal(try place.status("n").st_uid, 123)
        try equal(try place.status("n").st_gid, 7)
        try ok(Sys.lchown(place("n"), 8, -1))
        try equal(try place.status("n").st_uid, 8)
        try equal(try place.status("n").st_gid, 7)
      }
    }
  }
  for kind in Kind.allCases {
    suite.check("chown: -1 for both leaves the owner of \(kind.rawValue), and moves its ctime") {
      place in
      try place.node(kind, "n")
      let before = try place.status("n")
      try place.moves(mtime: false, ctime: true, of: "n") {
        try ok(Sys.lchown(place("n"), -1, -1))
      }
      let after = try place.status("n")
      try equal([after.st_uid, after.st_gid], [before.st_uid, before.st_gid])
      try equal(after.st_mode, before.st_mode)
    }
  }
  suite.check("chown: -1 for both clears set-user-ID and set-group-ID of a program") { place in
    try place.file("f")
    try ok(Sys.chmod(place("f"), 0o6755))
    try ok(Sys.chown(place("f"), -1, -1))
    try equal(try place.mode("f"), 0o755)
    try place.directory("d")
    try ok(Sys.chmod(place("d"), 0o2755))
    try ok(Sys.chown(place("d"), -1, -1))
    try equal(try place.mode("d"), 0o2755)
  }
  suite.check("chown: follows a symbolic link, lchown does not") { place in
    try place.file("f")
    try ok(Sys.symlink("f", place("l")))
    try place.asUser(0) {
      try ok(Sys.chown(place("l"), 11, 12))
      try ok(Sys.lchown(place("l"), 21, 22))
      try equal(try place.status("f").st_uid, 11)
      try equal(try place.status("l").st_uid, 21)
    }
  }
  suite.check("chown: an ordinary user cannot give files away: EPERM") { place in
    try place.needRoot()
    try place.file("f")
    try ok(Sys.chown(place("f"), Place.stranger, Place.stranger))
    try place.asUser(Place.stranger) {
      try fails(EPERM, Sys.chown(place("f"), 1, -1))
      try fails(EPERM, Sys.chown(place("f"), -1, 1))
      try ok(Sys.chown(place("f"), Place.stranger, Place.stranger))
    }
  }
  suite.check("chown: an owner may give a file to a group he is in") { place in
    try place.needRoot()
    try place.file("f")
    try ok(Sys.chown(place("f"), Place.stranger, Place.stranger))
    try place.asUser(Place.stranger, groups: [4242]) {
      try ok(Sys.chown(place("f"), -1, 4242))
      try fails(EPERM, Sys.chown(place("f"), -1, 4243))
    }
    try equal(try place.status("f").st_gid, 4242)
  }
  suite.check("chown: of somebody else's file is EPERM, also to what it is") { place in
    try place.file("f", mode: 0o777)
    try place.asUser(Place.stranger) {
      try fails(EPERM, Sys.chown(place("f"), Place.stranger, Place.stranger))
    }
  }
  suite.check("chown: by an ordinary owner clears set-user-ID and set-group-ID of a program") {
    place in
    try place.needRoot()
    try place.file("f")
    try ok(Sys.chown(place("f"), Place.stranger, Place.stranger))
    try ok(Sys.chmod(place("f"), 0o6755))
    try place.asUser(Place.stranger, groups: [4242]) { try ok(Sys.chown(place("f"), -1, 4242)) }
    try equal(try place.mode("f"), 0o755)
  }
  suite.check("chown: by root clears set-user-ID and set-group-ID of a program") { place in
    try place.file("f")
    try place.asUser(0) {
      try ok(Sys.chmod(place("f"), 0o6755))
      try ok(Sys.chown(place("f"), 5, 5))
      try equal(try place.mode("f"), 0o755)
    }
  }
  suite.check("owners: what a user makes is his and his group's") { place in
    try ok(Sys.chmod(place.path, 0o777))
    try place.asUser(Place.stranger, group: 4242) {
      for kind in Kind.allCases where !kind.needsRoot {
        try place.node(kind, "\(kind)")
        let status = try place.status("\(kind)")
        try equal(status.st_uid, UInt32(Place.stranger))
        try equal(status.st_gid, 4242)
      }
    }
  }
  suite.check("owners: in a set-group-ID directory what is made has its group, directories its bit")
  { place in
    try place.directory("d")
    try place.asUser(0) {
      try ok(Sys.chown(place("d"), -1, 777))
      try ok(Sys.chmod(place("d"), 0o2777))
    }
    try place.asUser(Place.stranger) {
      try place.file("d/f")
      try place.directory("d/e", mode: 0o755)
    }
    try equal(try place.status("d/f").st_gid, 777)
    try equal(try place.mode("d/f"), 0o644)
    try equal(try place.status("d/e").st_gid, 777)
    try equal(try place.mode("d/e"), 0o2755)
  }
  suite.check("owners: set-group-ID of a file made in a group its maker is not in is cleared") {
    place in
    try place.directory("d")
    try place.asUser(0) {
      try ok(Sys.chown(place("d"), -1, 777))
      try ok(Sys.chmod(place("d"), 0o2777))
    }
    try place.asUser(Place.stranger) {
      Sys.close(try ok(Sys.open(place("d/f"), O_CREAT | O_WRONLY, 0o2755)))
    }
    try equal(try place.mode("d/f"), 0o755)
  }
  suite.check("owners: writing by another clears set-user-ID and set-group-ID") { place in
    try place.file("f")
    try ok(Sys.chmod(place("f"), 0o6777))
    try place.asUser(Place.stranger) {
      let fd = try ok(Sys.open(place("f"), O_WRONLY))
      try equal(Sys.write(fd, [65]), 1)
      Sys.close(fd)
    }
    try equal(try place.mode("f"), 0o777)
  }
  suite.check("owners: truncating by another clears set-user-ID and set-group-ID") { place in
    try place.file("f", "text")
    try ok(Sys.chmod(place("f"), 0o6777))
    try place.asUser(Place.stranger) { try ok(Sys.truncate(place("f"), 1)) }
    try equal(try place.mode("f"), 0o777)
  }
}

func addPermissionChecks(_ suite: inout Suite) {
  let kinds: [(String, Int, Bool, Bool)] = [
    ("its owner", 0, true, false), ("its group", 1, false, true), ("others", 2, false, false),
  ]
  for (who, place3, isOwner, isGroup) in kinds {
    for bits in 0..<8 {
      suite.check("access: mode \(bits) for \(who)") { place in
        let shift = 6 - 3 * place3
        // Everybody else may do all, so that only the right bits can explain the answer.
        let mode = (0o777 & ~(7 << shift)) | bits << shift
        try place.file("f", "text")
        try place.asUser(0) {
          try ok(Sys.chown(place("f"), isOwner ? Place.stranger : 7, isGroup ? 4242 : 8))
          try ok(Sys.chmod(place("f"), mode))
        }
        try place.asUser(Place.stranger, groups: [4242]) {
          for (bit, flags) in [(4, O_RDONLY), (2, O_WRONLY)] {
            let fd = Sys.open(place("f"), flags)
            if bits & bit != 0 {
              Sys.close(try ok(fd))
            } else {
              try fails(EACCES, fd)
            }
          }
          for bit in [R_OK, W_OK, X_OK] {
            let result = Sys.access(place("f"), bit)
            if bits & Int(bit) != 0 { try ok(result) } else { try fails(EACCES, result) }
          }
          try ok(Sys.access(place("f"), F_OK))
        }
      }
    }
  }
  suite.check("access: root needs an execute bit to execute, and nothing else") { place in
    try place.file("f", mode: 0)
    try place.asUser(0) {
      try ok(Sys.access(place("f"), R_OK | W_OK))
      try fails(EACCES, Sys.access(place("f"), X_OK))
      try ok(Sys.chmod(place("f"), 0o001))
      try ok(Sys.access(place("f"), X_OK))
    }
  }
  suite.check("access: a wrong mode is EINVAL") { place in
    try place.file("f")
    try fails(EINVAL, Sys.access(place("f"), 64))
  }
  suite.check("access: a missing name is ENOENT, a dangling link too") { place in
    try fails(ENOENT, Sys.access(place("f"), F_OK))
    try ok(Sys.symlink("nothing", place("l")))
    try fails(ENOENT, Sys.access(place("l"), F_OK))
  }
  suite.check("open: O_CREAT of an existing file needs no write permission to the directory") {
    place in
    try place.file("f", mode: 0o666)
    try place.asUser(Place.stranger) {
      Sys.close(try ok(Sys.open(place("f"), O_RDWR | O_CREAT)))
      try fails(EACCES, Sys.open(place("g"), O_RDWR | O_CREAT))
    }
  }
  suite.check("open: O_TRUNC needs write permission even for reading") { place in
    try place.file("f", "text", mode: 0o444)
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.open(place("f"), O_RDONLY | O_TRUNC))
    }
    try equal(try place.text("f"), "text")
  }
  suite.check("truncate: needs write permission: EACCES") { place in
    try place.file("f", "text", mode: 0o644)
    try place.asUser(Place.stranger) { try fails(EACCES, Sys.truncate(place("f"), 0)) }
  }
  suite.check("execute: a file without an execute bit is EACCES") { place in
    let program = try copyProgram(place, "true")
    try ok(Sys.chmod(program, 0o644))
    var child: pid_t = 0
    let words = [strdup(program), nil]
    defer { free(words[0]) }
    let result = posix_spawn(&child, program, nil, nil, words, environ)
    if result == 0 {
      var status: Int32 = 0
      waitpid(child, &status, 0)
      try equal(status >> 8 & 0xFF, 127)
    } else {
      try equal(result, EACCES)
    }
  }
  for verb in ["unlink", "rename", "rename over", "rmdir"] {
    suite.check("sticky directory: \(verb) needs the file's or the directory's owner: EPERM") {
      place in
      try place.directory("d")
      try place.node(verb == "rmdir" ? .directory : .regular, "d/f", mode: 0o777)
      try place.asUser(0) {
        try ok(Sys.chmod(place("d"), 0o1777))
        try ok(Sys.chown(place("d/f"), 7, 7))
      }
      func attempt() -> Int {
        switch verb {
        case "unlink": Sys.unlink(place("d/f"))
        case "rename": Sys.rename(place("d/f"), place("d/g"))
        case "rmdir": Sys.rmdir(place("d/f"))
        default: Sys.rename(place("d/mine"), place("d/f"))
        }
      }
      try place.asUser(Place.stranger) {
        if verb == "rename over" { try place.file("d/mine") }
        try fails(EPERM, attempt())
      }
      try place.asUser(0) { try ok(Sys.lchown(place("d/f"), Place.stranger, 7)) }
      try place.asUser(Place.stranger) { try ok(attempt()) }
    }
    suite.check("sticky directory: \(verb) by the directory's owner works") { place in
      try place.directory("d")
      try place.node(verb == "rmdir" ? .directory : .regular, "d/f", mode: 0o777)
      try place.asUser(0) {
        try ok(Sys.chmod(place("d"), 0o1777))
        try ok(Sys.chown(place("d"), Place.stranger, 7))
        try ok(Sys.chown(place("d/f"), 7, 7))
      }
      try place.asUser(Place.stranger) {
        switch verb {
        case "unlink": try ok(Sys.unlink(place("d/f")))
        case "rename": try ok(Sys.rename(place("d/f"), place("d/g")))
        case "rmdir": try ok(Sys.rmdir(place("d/f")))
        default:
          try place.file("d/mine")
          try ok(Sys.rename(place("d/mine"), place("d/f")))
        }
      }
    }
  }
}
