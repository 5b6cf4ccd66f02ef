package import LLVSCore
import Platform

// What the journal knows of the store that it lies in.

extension JournalHeader {
  /// A sentence about versions that were committed before the journal's generation was begun and that the
  /// catalog lacks; nil as a rule.
  func lostVersions(besides state: LiveState, last: UInt32) -> String? {
    guard head > last || cut > state.cut else { return nil }
    return "store.sqlite ends with version number \(last), of \(state.cut) made here, and the "
      + "journal follows version number \(head), of \(cut) made here: versions that were committed "
      + "are lost"
  }
}

extension LiveTree {
  /// What is wrong with the journal of a store, as far as its header tells, in sentences without their
  /// periods: that it is damaged, another store's, or ahead of the catalog. The store may be mounted.
  ///
  /// - Throws: what reading the catalog throws.
  package static func faults(ofJournalIn store: Store) throws(StoreError) -> [String] {
    let directory = "\(store.path)/journal"
    let header: JournalHeader
    var faults: [String] = []
    do throws(StoreError) {
      guard let (found, isMended) = try newestHeader(in: directory) else { return [] }
      header = found
      if isMended {
        faults.append(
          "\(directory): a bit of the header has flipped; mounting the store repairs it")
      }
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      return [reason]
    }
    if let owner = header.store, owner != store.storeID {
      return faults + ["\(directory) belongs to another store"]
    }
    // Asked after the header: somebody else may go on writing, and commits before the journal follows. What
    // keeps it from being read is named where the store is looked through.
    guard let state = try? LiveState(of: store) else { return faults }
    let last = try store.state().lastNumber
    return faults + (header.lostVersions(besides: state, last: last).map { [$0] } ?? [])
  }

  private static func newestHeader(
    in directory: String
  ) throws(StoreError) -> (JournalHeader, isMended: Bool)? {
    var reader: JournalReader
    do throws(SystemError) {
      guard try FileSystem.exists(directory),
        let newest = try FileSystem.list(directory).filter({ $0.hasSuffix(".journal") }).max()
      else { return nil }
      // Not one that opening would wait for, as a pipe.
      let path = "\(directory)/\(newest)"
      guard try FileSystem.status(path, following: false).kind == .regular else {
        throw SystemError(errno: Errno.tooManySymlinks, call: "open", subject: path)
      }
      reader = try JournalReader(File.regular(path, .read))
    } catch {
      // Where it is mounted, another generation takes its place.
      if error.errno == Errno.noEntry { return nil }
      throw .system(error)
    }
    return (try reader.header(), reader.hasMendedHeader)
  }
}
