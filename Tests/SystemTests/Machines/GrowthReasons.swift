extension Machines.GrowthTests {
  /// A reason for which quantities of a store grow.
  enum Reason {
    /// A version is kept for ever, with its nodes and a row for each predecessor.
    case version
    /// A version is found by each name that it changed.
    case change
    /// The log of heads has an entry for each head, for undo and `at/TIME`.
    case head
    /// Cuts are numbered.
    case cut
    /// A mount begins a journal file, and a segment once it writes. It takes inode numbers and revisions in blocks,
    /// and what is left of a block is lost: there are blocks for millions of mounts.
    case mount
    /// A journal file is begun when the one before has 64 MiB of changes.
    case journal
    /// A bundle at a remote is noted, so that it is not read again. Sixteen are replaced by one, and stay for thirty
    /// days.
    case bundle
    /// Versions of all times show which names are hard links of one file.
    case link
    /// A text that was searched is known by its words.
    case text
    /// The last version on the line of a tag or a branch tells that its name was removed, also to other stores.
    case name
    /// Keys stay when their peer is forgotten, since nothing at its place can be read without them.
    case key
    /// The log has a line for each event.
    case event

    /// The most that quantities grow by each time.
    var growth: [String: Double] {
      switch self {
      case .version:
        [
          "index: greatest last_version of store": 1, "store: greatest generation of versions": 1,
          "store: greatest number of versions": 1, "store: greatest number of heads": 1,
          "store: greatest number of line_heads": 1, "store: greatest number of successors": 1,
          "store: rows of versions": 1, "store: rows of successors": 2, "segments: KiB of .seg": 2,
          "top: KiB of store.sqlite": 3, "top: KiB of index.sqlite": 1,
          // A journal of which most is dead is begun again.
          "journal: greatest number of .journal": 0.01,
        ]
      case .change: ["index: rows of changes": 1, "top: KiB of index.sqlite": 0.1]
      case .head:
        [
          "store: rows of head_log": 1, "store: greatest sequence of head_log": 1,
          "top: KiB of store.sqlite": 1,
        ]
      case .cut:
        [
          "store: live.cut": 1, "tree: greatest cut of state": 1,
          // A cut takes more revisions than it needs.
          "store: counter revision": 300, "store: counter revision~": 300,
        ]
      case .mount:
        [
          "journal: greatest number of .journal": 1, "segments: files .seg": 1,
          "segments: greatest number of .seg": 1, "segments: KiB of .seg": 4,
          "store: counter inode": 69_632, "store: counter inode~": 69_632,
          "store: counter revision": 65_792, "store: counter revision~": 65_792,
          "tree: greatest number of inodes": 69_660,
        ]
      case .journal: ["journal: greatest number of .journal": 1]
      case .bundle:
        [
          "hub/bundles: files .bundle": 1.125, "hub/bundles: KiB of .bundle": 8,
          "store: rows of bundles": 1.125, "store: rows of remote_bundles": 1.125,
          "store: greatest number of remote_bundles": 1.125, "top: KiB of store.sqlite": 1,
        ]
      case .link: ["store: rows of links": 1, "top: KiB of store.sqlite": 0.2]
      case .text:
        [
          "search: rows of content": 1, "search: rows of words": 1, "search: rows of words_data": 1,
          "search: rows of words_docsize": 1, "search: rows of words_idx": 1,
          "search: greatest id of content": 1, "search: greatest id of words_docsize": 1,
          "top: KiB of search.sqlite": 4,
        ]
      case .name: ["store: rows of heads": 1, "store: rows of line_heads": 1.5]
      case .key: ["secrets: KiB of sealed:keys": 0.1]
      case .event: ["top: lines of log": 1, "top: KiB of log": 0.2]
      }
    }
  }

  /// The most that some quantities ever are, however much is done.
  static let bounds: [String: Int] = [
    // The journal is begun again within half a second after 64 MiB of changes; a kill then leaves one file more.
    "journal: KiB of .journal": 250_000, "journal: files .journal": 3,
    // SQLite writes its logs from the beginning again: the index's after 1,000 pages, that of rows after 4,096.
    "top: KiB of index.sqlite-wal": 4300, "top: KiB of tree.sqlite-wal": 18_000,
    "top: KiB of tree.sqlite-shm": 128, "top: KiB of index.sqlite-shm": 64,
    "top: KiB of search.sqlite-wal": 4300,
    // Decimal numbers and the names of bundles.
    "store: bytes of value in settings": 200, "store: bytes of value in properties": 500,
    "index: bytes of bytes in notes": 500, "store: bytes of state in peers": 1000,
  ]

  /// What measuring adds by itself, once: two mounts, a block of numbers that was nearly used up, and pages that SQLite
  /// adds several at a time.
  static let once: [String: Double] = [
    "top: KiB of store.sqlite": 64, "top: KiB of index.sqlite": 64, "top: KiB of search.sqlite": 64,
    "top: KiB of tree.sqlite": 64, "segments: KiB of .seg": 8, "top: KiB of log": 4,
  ].merging(Reason.mount.growth.mapValues { $0 * 3 }) { $0 + $1 }
}
