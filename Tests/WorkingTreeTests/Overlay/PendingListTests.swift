import Inodes
import LLVSCore
import Testing
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

@Suite("Lists of what a cut looks at")
struct PendingListTests {
  private let base = ModelTree()
  private let directory = InodeNumber(2)

  private func place(_ name: String, in directory: InodeNumber = .root) -> InodeName {
    InodeName(directory: directory, name: FileName(name))
  }

  private func apply(_ operation: Change.Operation, to overlay: inout Overlay) {
    overlay.apply(Change(time: .zero, operation))
  }

  private func create(
    _ number: UInt64, at place: InodeName, _ kind: EntryKind = .regular, in overlay: inout Overlay
  ) {
    apply(
      .create(
        InodeNumber(number), at: place, kind: kind, attributes: Attributes(),
        content: FileContent(), isSaved: true, seen: nil), to: &overlay)
  }

  /// An overlay with the directory `out`, `out/a` and `b`, which nothing but a cut knows.
  private func overlay() -> Overlay {
    var overlay = Overlay()
    create(2, at: place("out"), .directory, in: &overlay)
    create(3, at: place("a", in: directory), in: &overlay)
    create(4, at: place("b"), in: &overlay)
    return overlay
  }

  private func follow(_ overlay: inout Overlay, _ taken: TakenCut?) throws {
    try overlay.follow(
      NewHead(base: base, taken: taken, isHeld: { _ in false }, renumber: { _ in }))
  }

  private var all: Set<InodeName> { [place("out"), place("a", in: directory), place("b")] }

  /// What the next cut looks at.
  private func listed(_ overlay: Overlay) -> Set<InodeName> {
    var overlay = overlay
    _ = overlay.beginCut()
    return Set(overlay.listedInCut().places)
  }

  @Test("a cut looks at what changed before its instant, and one that fails leaves all to the next")
  func abandoned() throws {
    var overlay = overlay()
    _ = overlay.beginCut()
    create(5, at: place("c"), in: &overlay)
    #expect(Set(overlay.inCut.places) == all)
    #expect(Set(overlay.sinceCut.places) == [place("c")])
    #expect(Set(overlay.sinceCut.inodes) == [InodeNumber(5)])
    try overlay.abandonCut(over: base)
    #expect(overlay.inCut.isEmpty)
    #expect(Set(overlay.sinceCut.places) == all.union([place("c")]))
    #expect(Set(overlay.sinceCut.inodes) == [InodeNumber(3), InodeNumber(4), InodeNumber(5)])
  }

  @Test("what is in an ignored directory is looked at when that moves or other patterns come")
  func aside() throws {
    var overlay = overlay()
    var taken = TakenCut(at: overlay.beginCut())
    taken.aside = [place("out"), place("a", in: directory)]
    try follow(&overlay, taken)
    // A cut did not take the rest, for whatever reason.
    #expect(Set(overlay.sinceCut.places) == [place("b")])
    #expect(listed(overlay) == [place("b")])

    var written = overlay
    apply(
      .write(
        InodeNumber(3), Extent(start: 0, length: 1, offset: 0, source: 1), [], seen: nil),
      to: &written)
    create(5, at: place("c", in: directory), in: &written)
    #expect(written.sinceCut.inodes == overlay.sinceCut.inodes)
    #expect(listed(written) == [place("b")])
    create(6, at: place("d", in: directory), .directory, in: &written)
    create(7, at: place("e", in: InodeNumber(6)), in: &written)
    #expect(listed(written) == [place("b")])

    var moved = overlay
    apply(
      .rename(
        directory, from: place("out"), to: place("in"), over: nil, isKept: false, seen: nil),
      to: &moved)
    let places = [place("b"), place("in"), place("a", in: directory)]
    #expect(listed(moved) == Set(places))

    var matched = overlay
    matched.listAll()
    #expect(listed(matched) == all)
    #expect(matched == overlay)

    // A mount does not know what was put aside.
    try follow(&overlay, nil)
    #expect(listed(overlay) == all)
  }

  @Test("what is ignored is looked at when a new head has something there")
  func hiding() throws {
    var overlay = overlay()
    var taken = TakenCut(at: overlay.beginCut())
    taken.aside = all
    try follow(&overlay, taken)
    #expect(overlay.sinceCut.places.isEmpty)
    base.put(ModelTree.Inode(marks: [1]), InodeNumber(50))
    base.set(place("b"), InodeNumber(50))
    try follow(&overlay, TakenCut(at: overlay.beginCut()))
    #expect(Set(overlay.sinceCut.places) == [place("b")])
  }

  @Test("names that come and go do not make the list long, and what stays is on it")
  func comingAndGoing() throws {
    var overlay = overlay()
    for number in 0..<20_000 as Range<UInt64> {
      create(100 + number, at: place("t"), in: &overlay)
      apply(.unlink(place("t"), of: InodeNumber(100 + number), isKept: false), to: &overlay)
    }
    #expect(overlay.sinceCut.places.count < 10_000)
    #expect(listed(overlay).isSuperset(of: all))
  }

  @Test("a name that other files take again and again is listed once until the next cut")
  func replacedOften() throws {
    var overlay = overlay()
    func replace(_ numbers: Range<UInt64>) {
      for number in numbers {
        create(number, at: place("new"), in: &overlay)
        apply(
          .rename(
            InodeNumber(number), from: place("new"), to: place("b"),
            over: overlay.changes[place("b")]?.inode, isKept: false, seen: nil), to: &overlay)
      }
    }
    func count() -> Int { overlay.sinceCut.places.filter { $0 == place("b") }.count }
    replace(10..<20)
    #expect(count() == 1)
    _ = overlay.beginCut()
    #expect(count() == 0)
    replace(20..<30)
    #expect(count() == 1)
    try follow(&overlay, nil)
    #expect(listed(overlay).isSuperset(of: all))
  }
}
