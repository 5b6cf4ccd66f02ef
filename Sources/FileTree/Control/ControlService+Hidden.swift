import LLVS
import Platform

// What `.llvs` asks of those who execute commands.

extension ControlService {
  /// The texts and settings that `.llvs` shows and changes.
  package var hiddenServices: HiddenServices {
    HiddenServices(
      status: { [self] () throws(FSError) in
        try translated { () throws(ControlError) in try status().text + "\n" }
      },
      statusJSON: { [self] () throws(FSError) in
        try translated { () throws(ControlError) in try status().json + "\n" }
      },
      log: { [self] () throws(FSError) in log.text() },
      ignore: { [self] () throws(FSError) in
        do throws(StoreError) {
          return try store.state().settings[IgnorePatterns.settingName]
            ?? IgnorePatterns.defaultText
        } catch {
          throw .store(error)
        }
      },
      setIgnore: { [self] text throws(FSError) in try setIgnore(text) },
      peers: { [self] () throws(FSError) in
        do throws(StoreError) {
          return try store.peers().map { HiddenServices.Peer(name: $0.name, address: $0.address) }
        } catch {
          throw .store(error)
        }
      },
      setPeer: { [self] peer throws(FSError) in try setPeer(peer) },
      removePeer: { [self] name throws(FSError) in
        try write { (transaction) throws(StoreError) in transaction.removePeer(name) }
      })
  }

  private func translated(
    _ body: () throws(ControlError) -> String
  ) throws(FSError) -> [UInt8] {
    do throws(ControlError) {
      return Array(try body().utf8)
    } catch {
      throw error.asFSError
    }
  }

  private func write(
    _ body: (WriteTransaction) throws(StoreError) -> Void
  ) throws(FSError) {
    do throws(StoreError) {
      try store.write(body)
    } catch {
      throw .store(error)
    }
  }

  /// Puts patterns in force and keeps them; the default text itself is kept as none.
  private func setIgnore(_ text: [UInt8]) throws(FSError) {
    guard text.count <= IgnorePatterns.maximumLength else { throw .tooBig }
    let isDefault = text == IgnorePatterns.defaultText
    try write { (transaction) throws(StoreError) in
      transaction.set(IgnorePatterns.settingName, to: isDefault ? nil : text)
    }
    let patterns = IgnorePatterns(text)
    for fault in patterns.faults {
      log.add("error", "ignore, line \(fault.line): \(String(decoding: fault.text, as: UTF8.self))")
    }
    tree.lock.withLock { _ in tree.ignore = patterns }
  }

  /// Adds a peer or changes its address; what was known of the old address is forgotten.
  private func setPeer(_ peer: HiddenServices.Peer) throws(FSError) {
    guard StoreName.fault(peer.name) == nil else { throw .invalid }
    do throws(ControlError) {
      _ = try PeerAddress(peer.address)
    } catch {
      throw error.asFSError
    }
    try write { (transaction) throws(StoreError) in
      transaction.setPeer(Peer(name: peer.name, address: peer.address))
    }
  }
}
