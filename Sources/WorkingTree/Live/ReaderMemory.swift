/// What processes last opened for reading at names, and which head the tree showed then: what the writer
/// of a change had seen, where no handle says so (docs/writes.md, rule 7).
///
/// Remembers at least the last ``limit`` pairs of process and name, and at most twice as many, about 64
/// bytes each. Guarded by `LiveTree.lock`.
struct ReaderMemory {
  /// A process and a name of a directory.
  struct Place: Hashable {
    /// The thread group.
    let process: Int32
    let parent: UInt64
    // The name's hash: names that share one are a false memory, which costs a merge and loses nothing.
    private let name: Int

    init(process: Int32, parent: UInt64, name: [UInt8]) {
      self.process = process
      self.parent = parent
      // As bytes: an array's own hash takes in one element after the other.
      var hasher = Hasher()
      name.withUnsafeBytes { hasher.combine(bytes: $0) }
      self.name = hasher.finalize()
    }
  }

  struct Seen {
    /// The epoch whose tree the process has seen at the name.
    var epoch: UInt64
    /// When, since the kernel started: a process that began later is another one of the same number.
    let time: UInt64
    /// It removed what was there: whoever makes the name anew while there is none has seen that.
    var isAbsent = false
  }

  static let limit = 20_480
  private var recent: [Place: Seen] = [:]
  private var older: [Place: Seen] = [:]

  /// How many pairs are kept, some perhaps twice.
  var count: Int { recent.count + older.count }

  subscript(place: Place) -> Seen? { recent[place] ?? older[place] }

  /// Notes that a process opened a name for reading.
  mutating func note(_ place: Place, _ seen: Seen) {
    if recent.count >= Self.limit, recent[place] == nil {
      older = recent
      recent = Dictionary(minimumCapacity: Self.limit)
    }
    recent[place] = seen
  }

  /// Notes what a process that is remembered has seen by saving there itself.
  mutating func move(_ place: Place, to epoch: UInt64, isAbsent: Bool = false) {
    guard let known = self[place] else { return }
    let seen = Seen(epoch: epoch, time: known.time, isAbsent: isAbsent)
    if recent[place] != nil { recent[place] = seen } else { older[place] = seen }
  }

  mutating func forget(_ place: Place) {
    recent[place] = nil
    older[place] = nil
  }
}
