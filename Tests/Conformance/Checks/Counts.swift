import CShims
import Glibc

extension Place {
  /// The subdirectories that the link count of a directory tells.
  fileprivate func count(_ path: String, line: UInt = #line) throws -> Int {
    let links = Int(try status(path).st_nlink)
    guard links != 1 || Feature.required.contains(.counts) else {
      throw Skipped(reason: "there is no \(Feature.counts.rawValue) of subdirectories")
    }
    try require(links >= 2, "a directory of \(links) links", line: line)
    return links - 2
  }
}

/// Link counts of directories: 2, and one for each subdirectory.
func addCountChecks(_ suite: inout Suite) {
  suite.check("links: a new directory has two") { place in
    try place.directory("d")
    try equal(try place.count("d"), 0)
  }
  suite.check("links: mkdir and rmdir count above, and nowhere else") { place in
    try place.directory("d")
    let before = try place.count("")
    try place.directory("d/e")
    try place.directory("d/e/f")
    try equal(try place.count("d"), 1)
    try equal(try place.count("d/e"), 1)
    try equal(try place.count(""), before)
    try ok(Sys.rmdir(place("d/e/f")))
    try equal(try place.count("d/e"), 0)
    try ok(Sys.rmdir(place("d/e")))
    try equal(try place.count("d"), 0)
  }
  for kind in Kind.allCases where kind != .directory {
    suite.check("links: \(kind.rawValue) does not count above") { place in
      try place.directory("d")
      try place.directory("d/e")
      try place.node(kind, "d/n")
      try equal(try place.count("d"), 1)
      try ok(Sys.unlink(place("d/n")))
      try equal(try place.count("d"), 1)
    }
    suite.check("links: RENAME_EXCHANGE of \(kind.rawValue) and a directory counts on both sides") {
      place in
      for name in ["d", "e", "d/n"] { try place.directory(name) }
      try place.node(kind, "e/n")
      try ok(Sys.rename(place("d/n"), place("e/n"), Linux.exchange))
      try equal(try place.count("d"), 0)
      try equal(try place.count("e"), 1)
    }
  }
  suite.check("links: rename of a directory takes its count along") { place in
    for name in ["d", "e", "d/n"] { try place.directory(name) }
    try ok(Sys.rename(place("d/n"), place("d/m")))
    try equal(try place.count("d"), 1)
    try ok(Sys.rename(place("d/m"), place("e/n")))
    try equal(try place.count("d"), 0)
    try equal(try place.count("e"), 1)
  }
  suite.check("links: rename over an empty directory leaves one") { place in
    for name in ["d", "e", "d/n", "e/n"] { try place.directory(name) }
    try ok(Sys.rename(place("d/n"), place("e/n")))
    try equal(try place.count("d"), 0)
    try equal(try place.count("e"), 1)
  }
  suite.check("links: a refused mkdir, rmdir or rename counts nothing") { place in
    for name in ["d", "d/n", "d/n/f", "d/m", "d/m/f"] { try place.directory(name) }
    try fails(EEXIST, Sys.mkdir(place("d/n")))
    try fails([ENOTEMPTY, EEXIST], Sys.rmdir(place("d/n")))
    try fails([ENOTEMPTY, EEXIST], Sys.rename(place("d/n"), place("d/m")))
    try equal(try place.count("d"), 2)
  }
  suite.check("links: three hundred subdirectories are counted") { place in
    try place.directory("d")
    for index in 0..<300 { try place.directory("d/\(index)") }
    try equal(try place.count("d"), 300)
    for index in 0..<100 { try ok(Sys.rmdir(place("d/\(index)"))) }
    try equal(try place.count("d"), 200)
  }
  suite.check("links: an open directory tells them too, and none once it is removed") { place in
    try place.directory("d")
    try place.directory("d/e")
    let fd = try ok(Sys.open(place("d"), O_RDONLY))
    defer { Sys.close(fd) }
    if try place.count("d") == 1 { try equal(try place.status(fd).st_nlink, 3) }
    try ok(Sys.rmdir(place("d/e")))
    try ok(Sys.rmdir(place("d")))
    try equal(try place.status(fd).st_nlink, 0)
  }
}
