import CShims
import Glibc

/// A lock of a range, from its start; a length of 0 reaches to the end, however far that moves.
private func range(
  _ type: Int32, _ start: Int = 0, _ count: Int = 0, whence: Int32 = SEEK_SET
) -> flock {
  var result = flock()
  result.l_type = Int16(type)
  result.l_whence = Int16(whence)
  result.l_start = start
  result.l_len = count
  return result
}

/// Takes or gives back a lock.
private func lock(
  _ fd: Int, _ command: Int32, _ type: Int32, _ start: Int = 0, _ count: Int = 0,
  whence: Int32 = SEEK_SET
) -> Int {
  var range = range(type, start, count, whence: whence)
  return Sys.lock(fd, command, &range)
}

/// What is in the way of a lock.
private func holder(
  _ fd: Int, _ type: Int32, _ start: Int = 0, _ count: Int = 0, _ command: Int32 = F_GETLK
) throws -> flock {
  var range = range(type, start, count)
  try ok(Sys.lock(fd, command, &range))
  return range
}

/// Expects what is in the way of a write lock of a range: a kind, from where, how long, and whose.
private func held(
  _ fd: Int, _ start: Int, _ count: Int, by expected: (Int32, Int, Int, pid_t)?,
  line: UInt = #line
) throws {
  let found = try holder(fd, F_WRLCK, start, count)
  guard let expected else { return try equal(Int32(found.l_type), F_UNLCK, line: line) }
  try equal(
    [Int(found.l_type), found.l_start, found.l_len, Int(found.l_pid), Int(found.l_whence)],
    [Int(expected.0), expected.1, expected.2, Int(expected.3), Int(SEEK_SET)], line: line)
}

/// A process that takes locks, says so, and keeps them until it is told to go on.
private struct Keeper {
  let child: Child
  let goes: Bell

  init(_ place: Place, _ name: String = "f", _ body: (Int) throws -> Void) throws {
    let (has, goes) = (try place.bell(), try place.bell())
    child = try Child {
      let fd = try ok(Sys.open(place(name), O_RDWR))
      try body(fd)
      has.ring()
      try goes.wait()
    }
    self.goes = goes
    if !has.rings(within: 20_000) { try child.finish() }
  }

  func end() throws {
    goes.ring()
    try child.finish()
  }
}

func addLockChecks(_ suite: inout Suite) {
  addHandleLockChecks(&suite)
  addRangeLockChecks(&suite)
  addWaitingLockChecks(&suite)
}

private func addHandleLockChecks(_ suite: inout Suite) {
  /// True if a lock of another open file could be had.
  func isFree(_ fd: Int) throws -> Bool {
    Int32(try holder(fd, F_WRLCK, 0, 0, Linux.getOFDLock).l_type) == F_UNLCK
  }
  suite.check("locks: a POSIX lock keeps others off and goes when any handle of the file closes") {
    place in
    try place.file("f")
    let one = try place.open("f", O_RDWR)
    let other = try place.open("f", O_RDWR)
    try ok(lock(one, F_SETLK, F_WRLCK))
    try require(!(try isFree(other)), "the lock keeps nobody off")
    Sys.close(try ok(Sys.open(place("f"), O_RDONLY)))
    try require(try isFree(other), "the lock outlives a close")
  }
  suite.check("locks: a lock of an open file stays while that is open") { place in
    try place.file("f")
    let one = try ok(Sys.open(place("f"), O_RDWR))
    let other = try place.open("f", O_RDWR)
    try ok(lock(one, Linux.setOFDLock, F_WRLCK))
    Sys.close(try ok(Sys.open(place("f"), O_RDONLY)))
    try require(!(try isFree(other)), "the lock went with another handle")
    try fails([EAGAIN, EACCES], lock(other, Linux.setOFDLock, F_WRLCK))
    Sys.close(one)
    try require(try isFree(other), "the lock outlives its file")
  }
  suite.check("locks: a lock of an open file is a child's too, and nobody's process") { place in
    try place.file("f")
    let one = try place.open("f", O_RDWR)
    let other = try place.open("f", O_RDWR)
    try ok(lock(one, Linux.setOFDLock, F_WRLCK, 10, 5))
    try equal(try holder(other, F_WRLCK).l_pid, -1)
    try Child {
      try ok(lock(one, Linux.setOFDLock, F_UNLCK, 12, 3))
      try fails([EAGAIN, EACCES], lock(other, Linux.setOFDLock, F_WRLCK, 10, 1))
      try fails([EAGAIN, EACCES], lock(other, F_SETLK, F_RDLCK, 10, 1))
    }.finish()
    try ok(lock(other, Linux.setOFDLock, F_WRLCK, 12, 3))
    try fails([EAGAIN, EACCES], lock(other, Linux.setOFDLock, F_WRLCK, 11, 1))
  }
  suite.check("locks: a lock of an open file with a process named is EINVAL") { place in
    try place.file("f")
    var range = range(F_WRLCK)
    range.l_pid = getpid()
    try fails(EINVAL, Sys.lock(try place.open("f", O_RDWR), Linux.setOFDLock, &range))
  }
  suite.check("locks: flock excludes, shares and goes with the last handle") { place in
    try place.file("f")
    let one = try ok(Sys.open(place("f"), O_RDWR))
    let two = try place.open("f", O_RDWR)
    try ok(call(SYS_flock, one, Int(LOCK_EX)))
    try fails(EAGAIN, call(SYS_flock, two, Int(LOCK_EX | LOCK_NB)))
    try fails(EAGAIN, call(SYS_flock, two, Int(LOCK_SH | LOCK_NB)))
    try ok(call(SYS_flock, one, Int(LOCK_SH)))
    try ok(call(SYS_flock, two, Int(LOCK_SH | LOCK_NB)))
    Sys.close(one)
    try ok(call(SYS_flock, two, Int(LOCK_EX | LOCK_NB)))
  }
  suite.check("locks: flock waits, and what a child has of a handle is the same lock") { place in
    try place.file("f")
    let one = try ok(Sys.open(place("f"), O_RDWR))
    try ok(call(SYS_flock, one, Int(LOCK_EX)))
    let has = try place.bell()
    let waiter = try Child {
      Sys.close(one)
      let other = try ok(Sys.open(place("f"), O_RDONLY))
      try ok(call(SYS_flock, other, Int(LOCK_EX)))
      has.ring()
    }
    try require(!has.rings(within: 100), "two have it")
    try Child { try ok(call(SYS_flock, one, Int(LOCK_UN))) }.finish()
    try has.wait()
    try waiter.finish()
    Sys.close(one)
  }
  suite.check("locks: flock and POSIX locks know nothing of each other") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    let keeper = try Keeper(place) { try ok(call(SYS_flock, $0, Int(LOCK_EX))) }
    try ok(lock(fd, F_SETLK, F_WRLCK))
    try keeper.end()
  }
}

private func addRangeLockChecks(_ suite: inout Suite) {
  suite.check("locks: F_GETLK says whose lock is in the way, of which kind and range") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    let keeper = try Keeper(place) {
      try ok(lock($0, F_SETLK, F_WRLCK, 10, 20))
      try ok(lock($0, F_SETLK, F_RDLCK, 50, 5))
    }
    let id = keeper.child.id
    try held(fd, 0, 0, by: (F_WRLCK, 10, 20, id))
    try held(fd, 29, 1, by: (F_WRLCK, 10, 20, id))
    try held(fd, 40, 100, by: (F_RDLCK, 50, 5, id))
    try held(fd, 0, 10, by: nil)
    try held(fd, 30, 20, by: nil)
    try equal(Int32(try holder(fd, F_RDLCK, 50, 5).l_type), F_UNLCK)
    try keeper.end()
    try held(fd, 0, 0, by: nil)
  }
  suite.check("locks: giving back the middle of a range leaves both ends") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    let keeper = try Keeper(place) {
      try ok(lock($0, F_SETLK, F_WRLCK, 0, 100))
      try ok(lock($0, F_SETLK, F_UNLCK, 40, 20))
    }
    let id = keeper.child.id
    try held(fd, 0, 50, by: (F_WRLCK, 0, 40, id))
    try held(fd, 50, 50, by: (F_WRLCK, 60, 40, id))
    try ok(lock(fd, F_SETLK, F_WRLCK, 40, 20))
    try fails([EAGAIN, EACCES], lock(fd, F_SETLK, F_WRLCK, 39, 1))
    try fails([EAGAIN, EACCES], lock(fd, F_SETLK, F_RDLCK, 60, 1))
    try keeper.end()
  }
  suite.check("locks: ranges that touch or overlap become one") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    let keeper = try Keeper(place) {
      try ok(lock($0, F_SETLK, F_WRLCK, 0, 50))
      try ok(lock($0, F_SETLK, F_WRLCK, 50, 50))
      try ok(lock($0, F_SETLK, F_WRLCK, 80, 40))
    }
    try held(fd, 110, 1, by: (F_WRLCK, 0, 120, keeper.child.id))
    try keeper.end()
  }
  suite.check("locks: a read lock of the middle of a write lock makes three") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    let keeper = try Keeper(place) {
      try ok(lock($0, F_SETLK, F_WRLCK, 0, 100))
      try ok(lock($0, F_SETLK, F_RDLCK, 40, 20))
    }
    let id = keeper.child.id
    try held(fd, 0, 10, by: (F_WRLCK, 0, 40, id))
    try held(fd, 45, 1, by: (F_RDLCK, 40, 20, id))
    try held(fd, 60, 0, by: (F_WRLCK, 60, 40, id))
    try ok(lock(fd, F_SETLK, F_RDLCK, 40, 20))
    try fails([EAGAIN, EACCES], lock(fd, F_SETLK, F_WRLCK, 40, 20))
    try fails([EAGAIN, EACCES], lock(fd, F_SETLK, F_RDLCK, 30, 20))
    try keeper.end()
  }
  suite.check("locks: a length of 0 reaches to where the file will end, a negative one back") {
    place in
    try place.file("f", "0123456789")
    let fd = try place.open("f", O_RDWR)
    let keeper = try Keeper(place) {
      try ok(lock($0, F_SETLK, F_WRLCK, 100, 0))
      try ok(lock($0, F_SETLK, F_RDLCK, 50, -10))
      try ok(lock($0, F_SETLK, F_WRLCK, -2, 2, whence: SEEK_END))
      try ok(Sys.seek($0, 20, SEEK_SET))
      try ok(lock($0, F_SETLK, F_WRLCK, 1, 3, whence: SEEK_CUR))
    }
    let id = keeper.child.id
    try held(fd, 1 << 50, 1, by: (F_WRLCK, 100, 0, id))
    try held(fd, 30, 50, by: (F_RDLCK, 40, 10, id))
    try held(fd, 0, 15, by: (F_WRLCK, 8, 2, id))
    try held(fd, 15, 10, by: (F_WRLCK, 21, 3, id))
    try keeper.end()
  }
  suite.check("locks: a range before the start is EINVAL, the handle's mode counts: EBADF") {
    place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    try fails(EINVAL, lock(fd, F_SETLK, F_WRLCK, -1, 1))
    try fails(EINVAL, lock(fd, F_SETLK, F_WRLCK, 5, -6))
    try fails(EINVAL, lock(fd, F_SETLK, 77))
    try fails(EBADF, lock(try place.open("f", O_RDONLY), F_SETLK, F_WRLCK))
    try fails(EBADF, lock(try place.open("f", O_WRONLY), F_SETLK, F_RDLCK))
  }
  suite.check("locks: a process's own are not a child's, and go when it ends") { place in
    try place.file("f")
    let fd = try place.open("f", O_RDWR)
    try ok(lock(fd, F_SETLK, F_WRLCK))
    let parent = getpid()
    try Child {
      try held(fd, 0, 0, by: (F_WRLCK, 0, 0, parent))
      try fails([EAGAIN, EACCES], lock(fd, F_SETLK, F_WRLCK))
    }.finish()
    try ok(lock(fd, F_SETLK, F_UNLCK))
    try Child { try ok(lock(fd, F_SETLK, F_WRLCK)) }.finish()
    try ok(lock(fd, F_SETLK, F_WRLCK))
  }
  suite.check("locks: hold for every name of a file") { place in
    try place.file("f")
    try ok(Sys.link(place("f"), place("g")))
    let keeper = try Keeper(place, "g") { try ok(lock($0, F_SETLK, F_WRLCK)) }
    try fails([EAGAIN, EACCES], lock(try place.open("f", O_RDWR), F_SETLK, F_RDLCK))
    try keeper.end()
  }
}

private func addWaitingLockChecks(_ suite: inout Suite) {
  for (name, command) in [("F_SETLKW", F_SETLKW), ("F_OFD_SETLKW", Linux.setOFDLockWait)] {
    suite.check("locks: \(name) waits until the range is given back") { place in
      try place.file("f")
      let keeper = try Keeper(place) { try ok(lock($0, F_SETLK, F_WRLCK, 0, 100)) }
      let has = try place.bell()
      let waiter = try Child {
        let fd = try ok(Sys.open(place("f"), O_RDWR))
        try ok(lock(fd, command, F_WRLCK, 200, 1))
        has.ring()
        try ok(lock(fd, command, F_RDLCK, 50, 100))
        has.ring()
      }
      try has.wait()
      try require(!has.rings(within: 150), "two have it")
      try keeper.end()
      try has.wait()
      try waiter.finish()
    }
  }
  suite.check("locks: a signal ends the wait for one: EINTR") { place in
    try place.file("f")
    let keeper = try Keeper(place) { try ok(lock($0, F_SETLK, F_WRLCK)) }
    let ready = try place.bell()
    let waiter = try Child {
      // Without SA_RESTART, which signal(3) would set.
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in }
      sigaction(SIGUSR1, &action, nil)
      let fd = try ok(Sys.open(place("f"), O_RDWR))
      ready.ring()
      try fails(EINTR, lock(fd, F_SETLKW, F_WRLCK))
      ready.ring()
    }
    try ready.wait()
    // Until it hits: the process may be on its way into the wait still.
    for _ in 0..<100 where !ready.rings(within: 50) { kill(waiter.id, SIGUSR1) }
    try waiter.finish()
    try keeper.end()
  }
  suite.check("locks: of two that wait for each other one is told: EDEADLK") { place in
    try place.file("f")
    let (ready, has) = (try place.bell(), try place.bell())
    let fd = try place.open("f", O_RDWR)
    try ok(lock(fd, F_SETLK, F_WRLCK, 1, 1))
    let other = try Child {
      try ok(lock(fd, F_SETLK, F_WRLCK, 0, 1))
      ready.ring()
      try ok(lock(fd, F_SETLKW, F_WRLCK, 1, 1))
      has.ring()
    }
    try ready.wait()
    try require(!has.rings(within: 150), "two have it")
    try fails(EDEADLK, lock(fd, F_SETLKW, F_WRLCK, 0, 1))
    try ok(lock(fd, F_SETLK, F_UNLCK, 1, 1))
    try has.wait()
    try other.finish()
  }
}
