import Foundation
import TestSupport

extension Machines.GrowthTests {
  /// Two stores that meet at a remote, of which the first is measured.
  final class Pair {
    private struct Failure: Error, CustomStringConvertible {
      var description: String
    }

    private let first: MountedStore
    private let second: MountedStore
    private var done = 0

    init() throws {
      (first, second) = (try MountedStore(), try MountedStore())
      for side in [first, second] {
        try side.mount()
        _ = try side.shell(
          "echo 'set settle=1h' > .llvs/control; echo 'set automerge=on' > .llvs/control")
      }
      try run(
        "mkdir $T/hub; echo bundle+$T/hub > .llvs/peers/hub; echo 0 > f; echo sync > .llvs/control")
      try run("cd $B; echo bundle+$T/hub > .llvs/peers/hub; echo sync > .llvs/control; cat f")
    }

    func tearDown() {
      for side in [first, second] { side.tearDown() }
    }

    private func run(_ script: String) throws {
      let environment = [
        "B": second.path, "T": first.directory, "LLVS": MountedStore.program, "i": "\(done)",
      ]
      let result = try first.shell(
        "set -eo pipefail\n" + script, seconds: 120, environment: environment)
      guard result.status == 0 else {
        throw Failure(
          description: "\(script): \(result.output)\(first.daemonLog)\(second.daemonLog)")
      }
    }

    /// Repeats work and returns a table of what grew, and what grew by more than it may.
    func grow(_ work: Work) throws -> (lines: [String], excesses: [String]) {
      // Tables and files that the work needs once are made before it is measured.
      try repeated(work, 3)
      let before = try measured()
      try repeated(work, work.count)
      let after = try measured()
      var (lines, excesses): ([String], [String]) = ([], [])
      for name in Set(before.keys).union(after.keys).sorted() {
        let (old, new) = (before[name] ?? 0, after[name] ?? 0)
        let step = Double(new - old) / Double(work.count)
        let line =
          "\(name.padding(toLength: 44, withPad: " ", startingAt: 0)) \(old) -> \(new)"
          + (new == old ? "" : String(format: ", %+.2f each", step))
        lines.append("  " + line)
        if !work.allows(name, from: old, to: new) { excesses.append(line) }
      }
      return (lines, excesses)
    }

    private func repeated(_ work: Work, _ count: Int) throws {
      for _ in 0..<count {
        done += 1
        try run(work.script)
        switch work.end {
        case .none: break
        case .unmount:
          try first.unmount()
          try first.mount()
        case .kill:
          try first.kill()
          try first.mount()
        }
      }
    }

    /// Measures the first store and the remote after both stores were unmounted, and mounts them again.
    private func measured() throws -> [String: Int] {
      for side in [first, second] { try side.unmount() }
      let script = first.directory + "/measure.py"
      try Self.measure.write(toFile: script, atomically: true, encoding: .utf8)
      let result = try TestSupport.shell(
        "python3 '\(script)' '\(first.store)' '\(first.directory)/hub'", seconds: 60)
      guard result.status == 0 else { throw Failure(description: result.output) }
      for side in [first, second] { try side.mount() }
      var quantities: [String: Int] = [:]
      for line in result.output.split(separator: "\n") {
        let parts = line.split(separator: "\t")
        if parts.count == 2, let value = Int(parts[1]) { quantities[String(parts[0])] = value }
      }
      return quantities
    }

    private static let measure = #"""
      import collections, os, re, shutil, sqlite3, sys, tempfile
      store, hub = sys.argv[1:]
      found = collections.Counter()

      def database(name):
          # A copy, so that SQLite leaves nothing in the store.
          copy = tempfile.mkdtemp()
          for end in '', '-wal':
              if os.path.exists(name + end): shutil.copy(name + end, copy)
          rows = sqlite3.connect(os.path.join(copy, os.path.basename(name)))
          rows.text_factory = bytes
          short = os.path.basename(name).replace('.sqlite', '')
          for table, in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
              table = table.decode()
              try: count, = rows.execute('SELECT count(*) FROM "%s"' % table).fetchone()
              except sqlite3.OperationalError: continue
              found['%s: rows of %s' % (short, table)] = count
              for column, kind in [(c[1].decode(), c[2]) for c in rows.execute('PRAGMA table_info("%s")' % table)]:
                  if kind == b'INTEGER' and table not in ('entries', 'names', 'words_data'):
                      most, = rows.execute('SELECT max("%s") FROM "%s"' % (column, table)).fetchone()
                      if column in ('number', 'sequence', 'generation', 'cut', 'last_version', 'id'):
                          found['%s: greatest %s of %s' % (short, column, table)] = most or 0
                  if kind == b'BLOB' and table in ('peers', 'settings', 'properties', 'conflicts', 'notes'):
                      found['%s: bytes of %s in %s' % (short, column, table)], = rows.execute(
                          'SELECT ifnull(sum(length("%s")), 0) FROM "%s"' % (column, table)).fetchone()
          if short == 'store':
              for counter, value in rows.execute('SELECT name, value FROM counters'):
                  found['store: counter ' + counter.decode()] = value
              for value, in rows.execute("SELECT value FROM settings WHERE CAST(name AS TEXT) = 'live.cut'"):
                  found['store: live.cut'] = int(value)
          rows.close()
          shutil.rmtree(copy)

      for folder, title in (store, ''), (hub, 'hub/'):
          for base, below, files in os.walk(folder):
              place = title + os.path.relpath(base, folder).replace('.', '', 1)
              found['%s: directories' % (place or 'top')] += len(below)
              for name in files:
                  path = os.path.join(base, name)
                  status = os.stat(path)
                  kind = re.sub(r'.*[.]', '.', name) if '.' in name else name
                  if not place or place == 'secrets': kind = name
                  found['%s: files %s' % (place or 'top', kind)] += 1
                  found['%s: KiB of %s' % (place or 'top', kind)] += -(-status.st_blocks // 2)
                  number = re.match(r'(\d+)[.]', name)
                  if number:
                      key = '%s: greatest number of %s' % (place, kind)
                      found[key] = max(found[key], int(number.group(1)))
                  if name == 'log': found['top: lines of log'] = open(path, 'rb').read().count(b'\n')
                  if folder == store and not place and name.endswith('.sqlite'): database(path)
      for key in sorted(found): print('%s\t%d' % (key, found[key]))
      """#
  }
}
