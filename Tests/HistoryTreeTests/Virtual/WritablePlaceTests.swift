import Events
import LLVSCore
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import HistoryTree
@testable import TreeSupport

@Suite("The writable places below .llvs", .timeLimit(.minutes(2)))
struct WritablePlaceTests {
  private func peers(_ space: MetaWorkspace) throws -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: try space.store.peers().map {
        ($0.name, String(decoding: $0.address, as: UTF8.self))
      })
  }

  @Test("a peer is added, changed and forgotten by writing and removing its file")
  func peerFiles() throws {
    let space = try MetaWorkspace()
    try space.save("peers/usb", "/media/usb\n")
    #expect(try peers(space) == ["usb": "/media/usb"])
    #expect(try space.read("peers/usb") == "/media/usb\n")
    try space.save("peers/usb", "/media/other")
    #expect(try peers(space) == ["usb": "/media/other"])
    #expect(try space.names("peers") == ["usb"])
    try space.unlink("usb", in: "peers")
    #expect(try peers(space).isEmpty)
    #expect(try space.names("peers").isEmpty)
    #expect(fault { try space.unlink("usb", in: "peers") } == "noEntry")
    let log = EventLog(directory: space.store.path).lastLines(10).filter { $0.contains(" peer ") }
    let told = ["added, /media/usb", "changed, /media/other", "forgotten, it was /media/other"]
    #expect(log.count == 3 && zip(log, told).allSatisfy { $0.hasSuffix(" peer usb: \($1)") })
    // The same again is no change.
    try space.save("peers/usb", "/media/usb\n")
    try space.save("peers/usb", "/media/usb\n")
    #expect(
      EventLog(directory: space.store.path).lastLines(10).count { $0.contains(" peer ") } == 4)
  }

  @Test("whoever just failed to remove a fixed name removes no peer; others do")
  func tidied() throws {
    let space = try MetaWorkspace()
    try space.save("peers/usb", "/media/usb")
    let top = try space.find("").status.inode
    let peers = try space.find("peers").status.inode
    for name in ["README", "ignore"] {
      #expect(fault { try space.meta.unlink(top, Array(name.utf8), by: 7) } == "notPermitted")
    }
    #expect(fault { try space.meta.unlink(peers, Array("usb".utf8), by: 7) } == "notPermitted")
    #expect(
      fault { try space.meta.removeDirectory(top, Array("peers".utf8), by: 7) } == "notPermitted")
    #expect(try self.peers(space).count == 1)
    try space.meta.unlink(peers, Array("usb".utf8), by: 8)
    #expect(try self.peers(space).isEmpty)
  }

  @Test("text that is no address is refused at close, kept as a draft, and changes nothing")
  func invalidAddress() throws {
    let space = try MetaWorkspace()
    try space.save("peers/usb", "/media/usb")
    #expect(fault { try space.save("peers/usb", "nowhere at all") } == "invalid")
    #expect(try peers(space) == ["usb": "/media/usb"])
    #expect(try space.read("peers/usb") == "nowhere at all")
    // Shells do not look at what close(2) says.
    let status = try space.space.service.status().text
    #expect(status.contains("error: peers/usb: \"nowhere at all\" is not an address"), "\(status)")
    let log = EventLog(directory: space.store.path).lastLines(5)
    #expect(log.filter { $0.contains(" error ") && $0.contains("peers/usb: ") }.count == 1)
    // Once more what is known, then something else.
    #expect(fault { try space.save("peers/usb", "nowhere at all") } == "invalid")
    #expect(fault { try space.save("peers/usb", "nor here") } == "invalid")
    let told = EventLog(directory: space.store.path).lastLines(5)
    #expect(told.filter { $0.contains(" error ") }.count == 2)
    try space.save("peers/usb", "/media/usb2")
    #expect(try peers(space) == ["usb": "/media/usb2"])
  }

  @Test("a peer that the store learns of by other means is shown, and one it loses is not")
  func otherMeans() throws {
    let space = try MetaWorkspace()
    try space.space.service.setPeer("nas", address: Array("/srv/nas".utf8))
    let entry = try space.find("peers/nas")
    #expect(entry.status.size == 9)
    try space.space.service.setPeer("nas", address: Array("/srv/nas2".utf8))
    #expect(try space.find("peers/nas").status.size == 10)
    try space.space.service.removePeer("nas")
    #expect(space.failure("peers/nas") != nil)
    #expect(try space.names("peers").isEmpty)
  }

  @Test("vim's ways: a swap file beside, a probe, the old text renamed away, the new one written")
  func vim() throws {
    let space = try MetaWorkspace()
    try space.save("peers/usb", "/media/usb\n")
    try space.save("peers/.usb.swp", "b0VIM")
    try space.save("peers/4913", "")
    try space.unlink("4913", in: "peers")
    try space.rename("usb", "usb~", in: "peers")
    #expect(space.failure("peers/usb") != nil)
    // Until the new text is saved the old address holds.
    #expect(try peers(space) == ["usb": "/media/usb"])
    try space.save("peers/usb", "/media/new\n")
    try space.unlink("usb~", in: "peers")
    try space.unlink(".usb.swp", in: "peers")
    #expect(try peers(space) == ["usb": "/media/new"])
    #expect(try space.names("peers") == ["usb"])
    // The same, given up: the backup comes back.
    try space.rename("usb", "usb~", in: "peers")
    try space.rename("usb~", "usb", in: "peers")
    #expect(try peers(space) == ["usb": "/media/new"])
    // The backup removed with nothing in its place: forgotten.
    try space.rename("usb", "usb~", in: "peers")
    try space.unlink("usb~", in: "peers")
    #expect(try peers(space).isEmpty)
  }

  @Test("a file renamed over a peer takes effect, as sed -i does it")
  func renameOver() throws {
    let space = try MetaWorkspace()
    try space.save("peers/usb", "/media/usb\n")
    try space.save("peers/sedAbC", "/media/sed\n")
    try space.rename("sedAbC", "usb", in: "peers")
    #expect(try peers(space) == ["usb": "/media/sed"])
    #expect(try space.names("peers") == ["usb"])
    try space.save("peers/.tmp", "nonsense")
    #expect(fault { try space.rename(".tmp", "usb", in: "peers") } == "invalid")
    #expect(try peers(space) == ["usb": "/media/sed"])
    #expect(try space.read("peers/usb") == "/media/sed\n")
    try space.rename("usb", "stick", in: "peers")
    #expect(try peers(space) == ["stick": "/media/sed"])
  }

  @Test("the ignore patterns are edited in place, or replaced with scratch files beside them")
  func ignore() throws {
    let space = try MetaWorkspace()
    try space.save("ignore", "*.tmp\n")
    #expect(try space.store.state().settings["ignore"] == Array("*.tmp\n".utf8))
    try space.save("ignored.new", "*.log\n")
    #expect(try space.names("").contains("ignored.new"))
    try space.rename("ignored.new", "ignore", in: "")
    #expect(try space.read("ignore") == "*.log\n")
    #expect(try space.store.state().settings["ignore"] == Array("*.log\n".utf8))
    #expect(fault { try space.unlink("ignore", in: "") } == "notPermitted")
    try space.rename("ignore", "ignore~", in: "")
    #expect(space.failure("ignore") != nil)
    try space.save("ignore", "*.bak\n")
    try space.unlink("ignore~", in: "")
    #expect(try space.read("ignore") == "*.bak\n")
    // The same file in every directory.
    let src = try space.directory("src")
    #expect(
      try space.find("ignore").status.inode == space.find("ignore", from: src).status.inode)
  }

  @Test("scratch is bounded")
  func bounds() throws {
    let space = try MetaWorkspace()
    let peers = try space.find("peers").status.inode
    let (_, file) = try space.meta.create(peers, Array(".scratch".utf8), mode: 0o600)
    #expect(
      fault {
        try [UInt8(1)].withUnsafeBytes { try file.write(at: 1 << 40, $0) }
      } == "fileTooBig")
    #expect(fault { try file.resize(to: .max) } == "fileTooBig")
    var failure = ""
    for index in 0..<1000 where failure.isEmpty {
      failure = fault {
        _ = try space.meta.create(peers, Array(".scratch\(index)".utf8), mode: 0o600)
      }
    }
    #expect(failure == "noSpace")
  }

  @Test("everything else is refused: EROFS in history, EPERM elsewhere")
  func refusals() throws {
    let space = try MetaWorkspace()
    try space.write("src/a.txt", "one")
    let version = try space.commit()
    let meta = space.meta
    func inode(_ path: String) throws -> UInt64 { try space.find(path).status.inode }
    let top = try inode("")
    let snapshot = try inode("versions/\(version)/src")
    let name = Array("a.txt".utf8)
    let other = Array("x".utf8)
    #expect(fault { try meta.unlink(top, Array("README".utf8)) } == "notPermitted")
    #expect(fault { try meta.unlink(top, Array("conflicts".utf8)) } == "notPermitted")
    #expect(fault { try meta.unlink(snapshot, name) } == "readOnly")
    #expect(fault { _ = try meta.create(snapshot, other, mode: 0o644) } == "readOnly")
    #expect(fault { try meta.refuseToMake(top, other) } == "notPermitted")
    #expect(fault { try meta.refuseToMake(snapshot, name) } == "exists")
    #expect(fault { try meta.refuseToMake(snapshot, other) } == "readOnly")
    #expect(fault { try meta.removeDirectory(top, Array("peers".utf8)) } == "notPermitted")
    #expect(
      fault { try meta.removeDirectory(try inode("versions"), Array(version.utf8)) } == "readOnly"
    )
    #expect(fault { try meta.removeDirectory(top, other) } == "noEntry")
    #expect(
      fault { try meta.rename(snapshot, name, snapshot, other, mode: .replacing) } == "readOnly")
    #expect(
      fault { try meta.rename(TreeSession.rootInode, name, top, other, mode: .replacing) }
        == "readOnly")
    let file = try inode("versions/\(version)/src/a.txt")
    #expect(fault { _ = try meta.open(file, writing: true) } == "readOnly")
    var change = StatusChange()
    change.mode = 0o777
    #expect(fault { _ = try meta.setattr(file, change) } == "readOnly")
    #expect(fault { _ = try meta.setattr(top, change) } == "notPermitted")
    var truncation = StatusChange()
    truncation.size = 0
    let control = try inode("control")
    #expect(try meta.setattr(control, truncation).inode == control)
  }
}
