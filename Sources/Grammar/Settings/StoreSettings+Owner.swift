package import LLVSCore

// A setting that runs programs runs them as the user who mounts, so in a store that belongs to somebody else it
// is somebody else's order. As git does not believe the configuration of another user's repository.

extension StoreSettings {
  /// The settings of a store that are in force for whoever opened it; what cannot be read has its default
  /// and is named, and so is what another user chose to run.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - confirmed: what was set since it was opened, by who opened it.
  ///   - faults: gets sentences without their periods.
  /// - Throws: ``StoreError/system(_:)``.
  package init(
    of store: Store, confirmed: Set<Assignment> = [], faults: inout [String]
  ) throws(StoreError) {
    let state = try store.state()
    faults += Self.faults(ofDamaged: state.damagedSettings)
    self.init(stored: state.settings, faults: &faults)
    guard runsPrograms, let stranger = try store.strangers().first else { return }
    withhold(besides: confirmed)
    faults += withheld.map { Self.fault(of: $0, stranger) }
  }

  private static func fault(of name: Name, _ stranger: UInt32) -> String {
    "the setting \(name.rawValue) runs programs, and the store belongs to user \(stranger): "
      + "it is not in force until it is set again while mounted, or chown has given the store away"
  }

  private var runsPrograms: Bool {
    arbiters.contains { $0.arbiter.runsProgram } || !mergetool.isEmpty
  }

  /// Takes out what runs programs, but for what was confirmed.
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
    if !mergetool.isEmpty, !isConfirmed(.mergetool) {
      mergetool = ""
      withheld.append(.mergetool)
    }
  }
}
