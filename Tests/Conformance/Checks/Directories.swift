import CShims
import Glibc

func addDirectoryChecks(_ suite: inout Suite) {
  suite.check("mkdir: makes an empty directory of the mode given") { place in
    try ok(Sys.mkdir(place("d"), 0o751))
    try equal(try place.status("d").st_mode, 0o040751)
    try equal(Place.names(Path(place("d")))?.count, 2)
  }
  for kind in Kind.allCases {
    suite.check("mkdir: over \(kind.rawValue) is EEXIST") { place in
      try place.node(kind, "n")
      try fails(EEXIST, Sys.mkdir(place("n")))
    }
    if kind != .directory {
      suite.check("rmdir: \(kind.rawValue) is ENOTDIR") { place in
        try place.node(kind, "n")
        try fails(ENOTDIR, Sys.rmdir(place("n")))
      }
    }
    suite.check("rmdir: a directory that holds \(kind.rawValue) is ENOTEMPTY") { place in
      try place.directory("d")
      try place.node(kind, "d/n")
      try fails([ENOTEMPTY, EEXIST], Sys.rmdir(place("d")))
      try require(place.exists("d/n"), "it is gone")
    }
  }
  suite.check("mkdir: a dangling link is EEXIST, and a trailing slash is not followed") { place in
    try ok(Sys.symlink("nothing", place("l")))
    try fails(EEXIST, Sys.mkdir(place("l")))
    try require(!place.exists("nothing"), "the target was made")
  }
  suite.check("mkdir: with a trailing slash works") { place in
    try ok(Sys.mkdir(place("d/")))
    try require(place.exists("d"), "it is not there")
  }
  suite.check("mkdir: moves the times of the directory above") { place in
    try place.directory("d")
    try place.moves(mtime: true, ctime: true, of: "d") { try ok(Sys.mkdir(place("d/e"))) }
  }
  suite.check("mkdir: a directory that may not be written is EACCES") { place in
    try place.asUser(Place.stranger) { try fails(EACCES, Sys.mkdir(place("d"))) }
  }
  suite.check("rmdir: takes an empty directory and moves the times above") { place in
    try place.directory("d")
    try place.directory("d/e")
    try place.moves(mtime: true, ctime: true, of: "d") { try ok(Sys.rmdir(place("d/e"))) }
    try require(!place.exists("d/e"), "it stays")
  }
  suite.check("rmdir: a link to a directory is ENOTDIR") { place in
    try place.directory("d")
    try ok(Sys.symlink("d", place("l")))
    try fails(ENOTDIR, Sys.rmdir(place("l")))
  }
  suite.check("rmdir: '.' is EINVAL, '..' is ENOTEMPTY") { place in
    try place.directory("d")
    try place.directory("d/e")
    try fails(EINVAL, Sys.rmdir(place("d/e/.")))
    try fails([ENOTEMPTY, EEXIST, EINVAL, EBUSY], Sys.rmdir(place("d/e/..")))
  }
  suite.check("rmdir: a directory that may not be written is EACCES") { place in
    try place.directory("d", mode: 0o777)
    try place.asUser(Place.stranger) { try fails(EACCES, Sys.rmdir(place("d"))) }
  }
  suite.check("rmdir: an open directory that is gone is empty, has no links and takes no names") {
    place in
    try place.directory("d")
    let fd = try place.open("d", O_RDONLY | Linux.directory)
    try ok(Sys.rmdir(place("d")))
    try equal(try place.status(fd).st_nlink, 0)
    try equal(try place.status(fd).st_mode & 0o170000, 0o040000)
    try fails(ENOENT, openAt(fd, "f", O_CREAT | O_WRONLY))
    try fails(ENOENT, openAt(fd, "f", O_RDONLY))
    try fails(ENOENT, "d".withCString { call(SYS_mkdirat, fd, Int(bitPattern: $0), 0o755) })
    try place.file("other")
    try fails(
      ENOENT,
      place("other").withCString { from in
        "f".withCString {
          call(SYS_linkat, here, Int(bitPattern: from), fd, Int(bitPattern: $0), 0)
        }
      })
    try equal(listed(fd), [])
  }
  suite.check("rmdir: a directory that is gone and is the working directory") { place in
    try place.directory("d")
    let back = try place.open("", O_RDONLY | Linux.directory)
    try equal(chdir(place("d")), 0)
    defer { fchdir(Int32(back)) }
    try ok(Sys.rmdir(place("d")))
    try fails(ENOENT, Sys.open("f", O_CREAT | O_WRONLY))
    try fails(ENOENT, Sys.mkdir("e"))
    try require(getcwd(nil, 0) == nil && errno == ENOENT, "getcwd")
  }
  suite.check("rmdir: a removed directory's fchmod and fstat still work") { place in
    try place.directory("d")
    let fd = try place.open("d", O_RDONLY | Linux.directory)
    try ok(Sys.rmdir(place("d")))
    try ok(Sys.fchmod(fd, 0o700))
    try equal(try place.status(fd).st_mode & 0o7777, 0o700)
  }
}

func openAt(_ directory: Int, _ name: String, _ flags: Int32, _ mode: Int = 0o644) -> Int {
  name.withCString { call(SYS_openat, directory, Int(bitPattern: $0), Int(flags), mode) }
}

/// The names that a directory's descriptor lists, without `.` and `..`.
func listed(_ fd: Int) -> [[UInt8]]? {
  let copy = dup(Int32(fd))
  guard let stream = fdopendir(copy) else { return nil }
  defer { closedir(stream) }
  rewinddir(stream)
  var found: [[UInt8]] = []
  while let item = readdir(stream) {
    let name = Place.name(of: item)
    if name != [0x2E], name != [0x2E, 0x2E] { found.append(name) }
  }
  return found
}

func addListingChecks(_ suite: inout Suite) {
  suite.check("readdir: lists every name once, and '.' and '..'") { place in
    for index in 0..<300 { try place.file("f\(index)") }
    let names = Place.names(Path(place.path)) ?? []
    try equal(names.count, 302)
    try equal(Set(names).count, 302)
    try require(names.contains([0x2E]) && names.contains([0x2E, 0x2E]), "no '.' or '..'")
  }
  suite.check("readdir: d_ino and d_type are what stat says") { place in
    for kind in Kind.allCases where !kind.needsRoot { try place.node(kind, "\(kind)") }
    guard let stream = opendir(place.path) else { throw failure("opendir") }
    defer { closedir(stream) }
    var seen = 0
    while let item = readdir(stream) {
      let name = String(decoding: Place.name(of: item), as: UTF8.self)
      if name == ".." { continue }
      let status = try place.status(name == "." ? "" : name)
      try equal(UInt(item.pointee.d_ino), status.st_ino)
      if item.pointee.d_type != 0 {
        try equal(UInt32(item.pointee.d_type) << 12, status.st_mode & 0o170000)
      }
      seen += 1
    }
    try equal(seen, 6)
  }
  suite.check("stat: '..' is the directory above") { place in
    try place.directory("d")
    try equal(try place.status("d/..").st_ino, try place.status("").st_ino)
  }
  suite.check("readdir: telldir and seekdir find each place again") { place in
    for index in 0..<500 { try place.file("name-\(index)") }
    guard let stream = opendir(place.path) else { throw failure("opendir") }
    defer { closedir(stream) }
    var places: [(Int, [UInt8])] = []
    while true {
      let at = telldir(stream)
      guard let item = readdir(stream) else { break }
      places.append((at, Place.name(of: item)))
    }
    try equal(places.count, 502)
    for (at, name) in places.reversed() {
      seekdir(stream, at)
      guard let item = readdir(stream) else { throw failure("readdir after seekdir") }
      try equal(Place.name(of: item), name)
    }
  }
  suite.check("readdir: from a place of telldir what stays is listed once, while names come and go")
  { place in
    for index in 0..<600 { try place.file("name-\(index)") }
    guard let stream = opendir(place.path) else { throw failure("opendir") }
    defer { closedir(stream) }
    var places: [(Int, [UInt8])] = []
    while true {
      let at = telldir(stream)
      guard let item = readdir(stream) else { break }
      places.append((at, Place.name(of: item)))
    }
    for index in 0..<600 {
      if index % 3 == 0 { try ok(Sys.unlink(place("name-\(index)"))) }
      if index % 4 == 0 { try place.file("more-\(index)") }
    }
    let stays = Set((0..<600).filter { $0 % 3 != 0 }.map { Array("name-\($0)".utf8) })
    for start in stride(from: 599, through: 0, by: -37) {
      seekdir(stream, places[start].0)
      var found: [[UInt8]: Int] = [:]
      while let item = readdir(stream) { found[Place.name(of: item), default: 0] += 1 }
      for (_, name) in places[start...] where stays.contains(name) { try equal(found[name], 1) }
      for (_, name) in places[..<start] where stays.contains(name) { try equal(found[name], nil) }
      try require(found.values.allSatisfy { $0 == 1 }, "a name is listed twice")
    }
  }
  suite.check("readdir: rewinddir sees what was made since") { place in
    try place.file("a")
    guard let stream = opendir(place.path) else { throw failure("opendir") }
    defer { closedir(stream) }
    while readdir(stream) != nil {}
    try place.file("b")
    rewinddir(stream)
    var names: Set<[UInt8]> = []
    while let item = readdir(stream) { names.insert(Place.name(of: item)) }
    try equal(names.count, 4)
  }
  suite.check("readdir: what is neither made nor removed meanwhile is listed exactly once") {
    place in
    for index in 0..<1000 { try place.file("stay-\(index)") }
    let counts = try countNames(in: place) { index in
      guard index % 10 == 0, index < 2000 else { return }
      try place.file("come-\(index)")
      if index >= 100 { try ok(Sys.unlink(place("come-\(index - 100)"))) }
    }
    for index in 0..<1000 { try equal(counts[Array("stay-\(index)".utf8)], 1) }
  }
  suite.check("readdir: what stays is listed exactly once, while others list what they change") {
    place in
    for index in 0..<3000 { try place.file("stay-\(index)") }
    for index in 0..<300 { try place.file("go-\(index)") }
    _ = Place.names(Path(place.path))
    let counts = try countNames(in: place) { index in
      guard index % 1000 == 500, index < 3000 else { return }
      for name in 0..<100 {
        try ok(Sys.unlink(place("go-\(index / 1000 * 100 + name)")))
        if index < 2000 { try place.file("come-\(index)-\(name)") }
      }
      try require((Place.names(Path(place.path))?.count ?? 0) >= 3002, "others see less")
    }
    for index in 0..<3000 { try equal(counts[Array("stay-\(index)".utf8)], 1) }
    try require(counts.values.allSatisfy { $0 == 1 }, "a name is listed twice")
  }
  suite.check("readdir: removing every name while listing removes all") { place in
    try place.directory("d")
    for index in 0..<1000 { try place.file("d/\(index)") }
    guard let stream = opendir(place("d")) else { throw failure("opendir") }
    defer { closedir(stream) }
    while let item = readdir(stream) {
      let name = String(decoding: Place.name(of: item), as: UTF8.self)
      if name != ".", name != ".." { try ok(Sys.unlink(place("d/\(name)"))) }
    }
    try ok(Sys.rmdir(place("d")))
  }
  suite.check("readdir: a directory that may not be read is EACCES") { place in
    try place.directory("d", mode: 0o711)
    try place.asUser(Place.stranger) {
      try fails(EACCES, Sys.open(place("d"), O_RDONLY | Linux.directory))
    }
  }
  suite.check("readdir: listing changes neither mtime nor ctime") { place in
    try place.directory("d")
    try place.file("d/f")
    try place.moves(mtime: false, ctime: false, of: "d") { _ = Place.names(Path(place("d"))) }
  }
}

/// How often each name is met in one reading of a directory, while something is done at each.
private func countNames(
  in place: Place, doing body: (_ index: Int) throws -> Void
) throws -> [[UInt8]: Int] {
  guard let stream = opendir(place.path) else { throw failure("opendir") }
  defer { closedir(stream) }
  var counts: [[UInt8]: Int] = [:]
  var index = 0
  while let item = readdir(stream) {
    counts[Place.name(of: item), default: 0] += 1
    try body(index)
    index += 1
  }
  return counts
}
