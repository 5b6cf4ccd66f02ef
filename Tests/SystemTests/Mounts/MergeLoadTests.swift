import Foundation
import LLVSCore
import TestSupport
import Testing

extension Mounted {
  /// Programs at work in a tree while another line is merged into it, version by version.
  ///
  /// `LLVS_TEST_MERGES` says how many versions are merged: 100 unless given, 1,000 in the long run.
  @Suite(.serialized) struct MergeLoadTests {
    static let merges = Int(ProcessInfo.processInfo.environment["LLVS_TEST_MERGES"] ?? "") ?? 100

    /// What one version of the feed does to a file.
    struct Step: Codable {
      var path: String
      /// The number of the version; 0 is a removal.
      var number: Int
    }

    /// Bytes that say at every place what they are of: a mixture of two contents equals neither.
    ///
    /// The zero byte keeps the contents binary, so that no arbiter merges them by lines.
    static func content(_ path: String, _ number: Int) -> [UInt8] {
      let length = 80 + (number &* 7919 &+ path.utf8.reduce(0) { $0 &* 31 &+ Int($1) }) % 150_000
      var bytes = Array("\(path) \(number) \(length)\0\n".utf8)
      while bytes.count < length { bytes += bytes }
      return Array(bytes.prefix(length))
    }

    /// What the feed does: files change, names come and go, and files that programs here write as well.
    static func plan(_ count: Int) -> [[Step]] {
      (1...count).map { number in
        var steps = Set([number % 12, number * 5 % 12, number * 7 % 12]).sorted()
          .map { Step(path: "feed/f\($0)", number: number) }
        steps.append(Step(path: "clash/c\(number % 3)", number: number))
        steps.append(Step(path: "both/b\(number % 8)", number: number))
        let isGone = number / 6 % 2 == 1
        steps.append(Step(path: "come/n\(number % 6)", number: isGone ? 0 : number))
        return steps
      }
    }

    @Test(
      "Programs at work see each file whole and as it should be while merges come in",
      .timeLimit(.minutes(10)))
    func underLoad() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      try mounted.run(
        """
        mkdir feed clash both come made
        for f in feed/f{0..11} clash/c{0..2} both/b{0..7}; do echo 'before' > $f; done
        echo commit > .llvs/control
        """)
      try mounted.unmount()
      let plan = Self.plan(Self.merges)
      let ids = try feed(plan, into: mounted)
      let file = mounted.directory + "/feed.json"
      try JSONEncoder().encode(Feed(plan: plan, ids: ids))
        .write(to: URL(fileURLWithPath: file))
      try mounted.mount()
      print(try mounted.python(Self.load, seconds: 30 + Self.merges, arguments: "'\(file)'"))
      try mounted.unmount()
      try mounted.mount()
      try mounted.python(Self.comparison + "compare('after mounting again')")
      try mounted.unmount()
      try mounted.verify()
    }

    private struct Feed: Codable {
      var plan: [[Step]]
      var ids: [String]
    }

    /// Makes the versions of the feed, on the head.
    private func feed(_ plan: [[Step]], into mounted: MountedStore) throws -> [String] {
      let store = try Store.open(path: mounted.store, mode: .writer)
      var last = try #require(try store.state().head.flatMap { try store.version($0) }).id
      return try plan.map { steps in
        let changes = steps.compactMap { step -> Value.Change? in
          let id = Value.ID(step.path)
          guard step.number > 0 else { return .remove(id) }
          return .update(Value(id: id, data: Self.content(step.path, step.number)))
        }
        last = try store.makeVersion(basedOnPredecessor: last, storing: changes).id
        return last.rawValue
      }
    }

    /// Compares the live tree with the head, byte by byte.
    private static let comparison = #"""
      def walk(top):
          found = {}
          for directory, names, files in os.walk(top):
              for name in files:
                  path = os.path.join(directory, name)
                  found[os.path.relpath(path, top)] = (get(path), os.stat(path).st_size)
              for name in names:
                  found[os.path.relpath(os.path.join(directory, name), top)] = None
          return found

      def compare(when):
          live, head = walk('.'), walk('.llvs/head/')
          for path in sorted(live.keys() | head.keys()):
              assert path in live, '%s: the live tree does not have %s' % (when, path)
              assert path in head, '%s: the head does not have %s' % (when, path)
              assert live[path] == head[path], '%s: %s is %s live and %s in the head' % (
                  when, path, described(live[path]), described(head[path]))

      def described(found):
          if found is None: return 'a directory'
          return '%r (%d of %d bytes)' % (found[0][:30], len(found[0]), found[1])


      """#

    private static let load =
      comparison + #"""
        import collections, json, threading, traceback

        with open(sys.argv[1]) as file: feed = json.load(file)
        plan, ids = feed['plan'], feed['ids']

        # What the feed has at a path after each of its versions: (version, number), oldest first.
        history = collections.defaultdict(list)
        for index, steps in enumerate(plan):
            for step in steps: history[step['path']].append((index + 1, step['number']))

        def length(path, number):
            total = 0
            for byte in path.encode(): total = total * 31 + byte
            return 80 + (number * 7919 + total) % 150000

        def content(path, label, size):
            unit = ('%s %s %d\0\n' % (path, label, size)).encode()
            return (unit * (size // len(unit) + 1))[:size]

        # Shared: merges begun, merges done, whether to end; then for each worker when its call began.
        shared = mmap.mmap(-1, 4096)
        def load(slot): return struct.unpack_from('q', shared, slot * 8)[0]
        def store(slot, value): struct.pack_into('q', shared, slot * 8, value)
        BEGUN, DONE, END, FIRST = 0, 1, 2, 8

        def allowed(path, done, begun):
            """The numbers that a path may show between two merges; -1 is the content before the feed."""
            number, result = -1 if not path.startswith('come/') else 0, set()
            for index, then in history[path]:
                if index <= done: number = then
                elif index <= begun: result.add(then)
            return result | {number}

        def parse(path, data):
            """The label of a whole content; fails on anything else."""
            if data == b'before\n': return '-1'
            words = data.split(b'\0', 1)[0].split()
            whole = len(words) == 3 and words[2].isdigit() and content(
                words[0].decode(), words[1].decode(), int(words[2])) == data
            assert whole, torn(path, data)
            return words[1].decode()

        def torn(path, data):
            parts, last = [], None
            for at in range(0, len(data), 512):
                piece = data[at:at + 512].split(b'\n')
                line = piece[1] if len(piece) > 2 else piece[0][:40]
                if line != last: parts.append('%d: %r' % (at, line[:40]))
                last = line
            return '%s is torn, %d bytes: %s' % (path, len(data), ', '.join(parts[:8]))

        def whole(fd):
            data, part = b'', os.read(fd, 65536)
            while part: data, part = data + part, os.read(fd, 65536)
            return data

        FEED = ['feed/f%d' % i for i in range(12)]
        CLASH = ['clash/c%d' % i for i in range(3)]
        BOTH = ['both/b%d' % i for i in range(8)]
        COME = ['come/n%d' % i for i in range(6)]

        def check(path, data, done, begun):
            label = parse(path, data)
            if path in FEED:
                wanted = allowed(path, done, begun)
                assert int(label) in wanted, '%s shows %s, not one of %s (merges %d to %d)' % (
                    path, label, sorted(wanted), done, begun)
            return label

        def read():
            path = random.choice(FEED + CLASH)
            done = load(DONE)
            with open(path, 'rb', buffering=0) as file:
                data = whole(file.fileno())
                begun, size = load(BEGUN), os.fstat(file.fileno()).st_size
            check(path, data, done, begun)
            assert size == len(data), '%s: %d bytes read of %d' % (path, len(data), size)

        def enlist():
            top = random.choice(['feed', 'clash', 'come'])
            done = load(DONE)
            found = {}
            with os.scandir(top) as entries:
                for entry in entries:
                    try: found[top + '/' + entry.name] = entry.stat().st_size
                    except FileNotFoundError: pass
            begun = load(BEGUN)
            for path in {'feed': FEED, 'clash': CLASH, 'come': []}[top]:
                assert path in found, '%s is not listed' % path
            for path in FEED if top == 'feed' else COME if top == 'come' else []:
                sizes = {7 if n == -1 else None if n == 0 else length(path, n)
                    for n in allowed(path, done, begun)}
                # A listing may be of a moment before that of a name's look-up.
                assert found.get(path) in sizes or path not in found, '%s: size %s, not one of %s' % (
                    path, found.get(path), sizes)

        def look():
            path = random.choice(COME + FEED)
            done = load(DONE)
            try: size = os.stat(path).st_size
            except FileNotFoundError: size = None
            begun = load(BEGUN)
            sizes = {7 if n == -1 else None if n == 0 else length(path, n)
                for n in allowed(path, done, begun)}
            assert size in sizes, '%s: size %s, not one of %s (merges %d to %d)' % (
                path, size, sizes, done, begun)

        count = 0
        def label():
            global count
            count += 1
            return 'w%d-%d' % (os.getpid(), count)

        def fresh(path):
            return content(path, label(), random.choice([100, 5000, 70000]))

        def write():
            path = random.choice(BOTH)
            put(path, fresh(path))
            # Saved now and then, not always pending: else each cut makes a version for each of them.
            time.sleep(0.1)

        def clash():
            path = random.choice(CLASH)
            data = fresh(path)
            put(path + '.tmp', data)
            os.rename(path + '.tmp', path)

        made = {}
        def make():
            path = 'made/m%d' % (count % 200)
            made[path] = fresh(path)
            put(path, made[path])
            same(get(path), made[path])

        def hold():
            path = random.choice(FEED + CLASH)
            done = load(DONE)
            fd = os.open(path, os.O_RDONLY)
            try:
                first = whole(fd)
                label = check(path, first, done, load(BEGUN))
                mapped = mmap.mmap(fd, len(first), prot=mmap.PROT_READ)
                if random.random() < 0.5: assert mapped[:] == first, '%s: mapped at once' % path
                for _ in range(4):
                    time.sleep(random.random() * 0.15)
                    again = os.pread(fd, 1 << 20, 0)
                    assert again == first, 'held %s: %s' % (label, torn(path, again))
                    assert mapped[:] == first, 'held %s, mapped: %s' % (label, torn(path, mapped[:]))
                    size = os.fstat(fd).st_size
                    assert size == len(first), 'held %s %s: %d, not %d bytes' % (
                        path, label, size, len(first))
                mapped.close()
            finally:
                os.close(fd)

        def work(index, job):
            random.seed(index)
            try:
                while not load(END):
                    store(FIRST + index, time.monotonic_ns())
                    job()
                    store(FIRST + index, 0)
                    time.sleep(0.005)
                # What nobody else writes stands as it was written.
                for path, data in made.items(): same(get(path), data)
            except BaseException:
                print('%s:' % job.__name__, traceback.format_exc(), flush=True)
                os._exit(1)
            os._exit(0)

        jobs = [read, enlist, look, write, clash, make, hold, read]
        workers = {}
        for index, job in enumerate(jobs):
            child = os.fork()
            if child == 0: work(index, job)
            workers[child] = (index, job.__name__)

        def where(pid):
            """Where the threads of a process wait, in the kernel."""
            said = []
            for task in os.listdir('/proc/%d/task' % pid):
                for name in ['comm', 'wchan', 'stack']:
                    try: said.append(get('/proc/%d/task/%s/%s' % (pid, task, name)).decode())
                    except OSError: pass
            return '\n'.join(said)

        store(FIRST + len(jobs), 0)
        def watch():
            while True:
                time.sleep(1)
                for index, name in list(workers.values()) + [(len(jobs), 'merge')]:
                    since = load(FIRST + index)
                    if since and time.monotonic_ns() - since > 20e9:
                        print('%s hangs' % name, flush=True)
                        for pid in list(workers) + [os.getpid()]: print(pid, where(pid), flush=True)
                        os._exit(1)
        threading.Thread(target=watch, daemon=True).start()

        failed = False
        def gather(flags):
            global failed
            for pid in list(workers):
                ended, status = os.waitpid(pid, flags)
                if ended:
                    failed = failed or status != 0
                    del workers[pid]

        control = os.open('.llvs/control', os.O_RDWR)
        def command(text):
            store(FIRST + len(jobs), time.monotonic_ns())
            try: os.write(control, text.encode())
            except OSError as error: raise AssertionError('%s: %s' % (text, os.read(control, 65536))) from error
            os.read(control, 65536)
            store(FIRST + len(jobs), 0)

        begin = time.monotonic()
        try:
            for index, version in enumerate(ids):
                start = time.monotonic()
                store(BEGUN, index + 1)
                command('merge ' + version)
                store(DONE, index + 1)
                gather(os.WNOHANG)
                if failed: break
                time.sleep(max(0, 0.04 - (time.monotonic() - start)))
        finally:
            store(END, 1)
            gather(0)
        assert not failed, 'a worker failed'
        print('%.1f ms a merge' % ((time.monotonic() - begin) * 1000 / len(ids)), flush=True)
        command('commit')
        left = [name for name in os.listdir('clash') if name.endswith('.tmp')]
        assert not left, 'left behind: %r' % left
        for path in FEED: check(path, get(path), len(ids), len(ids))
        compare('after the last merge')
        """#
  }
}
