package import LLVSCore
import Platform

// Programs would run as the mounting user, so those that another user set have no effect, as in git.

extension StoreSettings {
  /// Reads the settings in effect: unreadable ones have their defaults, and programs of another user that are not
  /// `confirmed` are withheld; `faults` gets a sentence about each.
  /// - Throws: ``StoreError/system(_:)``.
  package init(
    of store: Store, confirmed: Set<Assignment> = [], faults: inout [String]
  ) throws(StoreError) {
    let state = try store.state()
    faults += Self.faults(ofDamaged: state.damagedSettings)
    self.init(stored: state.settings, faults: &faults)
    guard runsPrograms, let stranger = try store.ownerTrust().strangers.first else { return }
    withhold(besides: confirmed)
    faults += withheld.map { Self.fault(of: $0, stranger) }
  }

  private static func fault(of name: Name, _ stranger: UInt32) -> String {
    "the setting \(name.rawValue) runs programs, and the store belongs to user \(stranger): "
      + "it is not in force until it is set again while mounted, or chown has given the store away"
  }

  private var runsPrograms: Bool {
    arbiters.contains { $0.arbiter.runsProgram }
      || Name.commands.contains { !text(of: $0).isEmpty }
  }

  /// Withholds the settings that run programs, except the confirmed ones.
  mutating func withhold(besides confirmed: Set<Assignment>) {
    func isConfirmed(_ name: Name) -> Bool {
      confirmed.contains { one in
        var other = StoreSettings()
        return one.name == name && (try? other.assign(one)) != nil
          && other.text(of: name) == text(of: name)
      }
    }
    if arbiters.contains(where: { $0.arbiter.runsProgram }), !isConfirmed(.arbiter) {
      arbiters.removeAll { $0.arbiter.runsProgram }
      withheld.append(.arbiter)
    }
    for name in Name.commands where !text(of: name).isEmpty && !isConfirmed(name) {
      switch name {
      case .mergetool: mergetool = ""
      case .onVersion: onVersion = ""
      case .onConflict: onConflict = ""
      case .onSync: onSync = ""
      default: continue
      }
      withheld.append(name)
    }
  }
}
