import TestSupport
import Testing

extension Mounted {
  /// Several programs that list one directory while another changes it.
  @Suite(.serialized) struct ConcurrentListingTests {
    /// Lists a directory in small parts, as programs with little memory do.
    private static let script = #"""
      room = ctypes.create_string_buffer(4096)
      def names(path, pause):
          found = []
          directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
          while True:
              got = libc.getdents64(directory, room, 4096)
              if got <= 0: break
              at = 0
              while at < got:
                  length = int.from_bytes(room.raw[at + 16:at + 18], 'little')
                  found.append(room.raw[at + 19:at + length].split(b'\0')[0])
                  at += length
              time.sleep(random.random() * pause)
          os.close(directory)
          return sorted(found)

      os.mkdir('d')
      end = time.time() + 6
      for _ in range(3):
          if os.fork() == 0:
              while time.time() < end: names('d', 0.0015)
              os._exit(0)
      random.seed(1)
      shown, lists = set(), 0
      while time.time() < end:
          name = b'm%d' % random.randrange(60)
          if name in shown and random.random() < 0.4:
              os.unlink(b'd/' + name); shown.discard(name)
          else:
              open(b'd/' + name, 'w').close(); shown.add(name)
          expected = sorted(shown | {b'.', b'..'})
          found = names('d', 0.0003)
          lists += 1
          if found != expected: sys.exit('list %d: %r' % (lists, set(found) ^ set(expected)))
      print(lists)
      """#

    @Test(
      "A listing has the names of its beginning next to others that began before a change",
      .timeLimit(.minutes(1)))
    func lists() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { store in
        let lists = try store.python(Self.script)
        #expect(Int(lists.filter(\.isNumber)) ?? 0 > 100)
      }
    }

    private static let times = #"""
      os.mkdir('d')
      for k in range(40):
          with open('d/%d' % k, 'w') as f: f.write('x' * 5000)
      end = time.time() + 8
      for _ in range(3):
          if os.fork() == 0:
              while time.time() < end:
                  with os.scandir('d') as found:
                      for entry in found: entry.stat()
              os._exit(0)
      maps = 0
      while time.time() < end:
          path = 'd/%d' % (maps % 40)
          with open(path, 'r+b') as f, mmap.mmap(f.fileno(), 4096) as m:
              m[5] = maps % 100
              m.flush()
          first = os.stat(path).st_mtime_ns
          time.sleep(0.004)
          later = os.stat(path).st_mtime_ns
          maps += 1
          if first != later: sys.exit('map %d: the mtime moved by %d ns' % (maps, later - first))
      print(maps)
      """#

    @Test("A file that a mapping changed has its new times at once", .timeLimit(.minutes(1)))
    func mappedTimes() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { store in
        let maps = try store.python(Self.times)
        #expect(Int(maps.filter(\.isNumber)) ?? 0 > 100)
      }
    }
  }
}
