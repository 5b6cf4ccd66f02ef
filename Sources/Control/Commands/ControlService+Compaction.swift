import Events
import Grammar
import LLVSCore
import Platform
import Search
import TreeNames
import WorkingTree

/// What a run of ``ControlService/compact(_:isTrial:_:isWorthIt:)`` did, or would do.
struct Compaction {
  var report: ForgetReport
  /// Nil unless it was a trial.
  var preview: ForgetPreview?
  /// Sentences without a period.
  var notes: [String] = []
}

extension ControlService {
  var compactionRecord: CompactionRecord {
    CompactionRecord((try? store.state())?.settings[CompactionRecord.setting])
  }

  private func updateRecord(_ change: (inout CompactionRecord) -> Void) throws(StoreError) {
    try store.write { (transaction) throws(StoreError) in
      let before = try store.state().settings[CompactionRecord.setting]
      var record = CompactionRecord(before)
      change(&record)
      if record.encoded != before { transaction.set(CompactionRecord.setting, to: record.encoded) }
    }
  }

  /// Reads the clocks and compares them with the last reading, which the store keeps if the result is new.
  /// - Returns: the time since which the clock is in doubt; nil if it is trusted.
  /// - Parameter isStored: false if nothing may be written.
  /// - Throws: ``StoreError`` of reading or writing the record.
  @discardableResult
  func noteClock(isStored: Bool = true) throws(StoreError) -> Int64? {
    let before = compactionRecord.clock
    let witness = ClockWitness(clock, after: before)
    let isOld = before.map { witness.now - $0.now > Self.day || witness.bootID != $0.bootID }
    if isStored, isOld ?? true || witness.doubt != before?.doubt {
      try updateRecord { $0.clock = witness }
    }
    return witness.doubt
  }

  private static let day: Int64 = 86_400_000_000_000

  func noteTried() throws(StoreError) {
    let now = clock.now()
    try updateRecord { $0.tried = now }
  }

  /// Forgets the versions that a policy does not keep, or, as a trial, finds out what that would free.
  /// `isWorthIt` is as that of ``ForgetControl``.
  func compact(
    _ policy: KeepPolicy, isTrial: Bool, _ context: CommandContext,
    isWorthIt: @escaping (ForgetReport) -> Bool = { _ in true }
  ) throws(ControlError) -> Compaction {
    try reserveCompaction(context)
    defer {
      isCompacting.withLock { $0 = false }
      isCompacting.broadcast()
    }
    func run() throws -> Compaction {
      if let doubt = try noteClock(isStored: !isTrial) {
        throw ControlError(
          .busy,
          "this machine's clock went back or leapt \(TimestampText.short(doubt)); nothing is forgotten until it has "
            + "been right for a day")
      }
      return try forget(policy, isTrial: isTrial, context, isWorthIt)
    }
    // A trial leaves the reserve to the run that frees space.
    return try translating { try isTrial ? run() : withRoom(run) }
  }

  /// Runs `body`. If the disk is full, frees the reserve of the journal, then its room for removals, and runs `body`
  /// again.
  func withRoom<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as StoreError where error.isNoSpace {
      defer { tree.keepRoom() }
      for makeRoom in [tree.makeRoom, tree.giveUpRoom] where makeRoom() {
        do { return try body() } catch let error as StoreError where error.isNoSpace { continue }
      }
      throw ControlError(
        .noSpace, "\(error.message); remove a new file first, which frees its space at once")
    }
  }

  private func reserveCompaction(_ context: CommandContext) throws(ControlError) {
    while true {
      try context.check()
      let isMine = isCompacting.wait(nanoseconds: 100_000_000) { (isBusy) -> Bool? in
        defer { isBusy = true }
        return isBusy ? nil : true
      }
      if isMine == true { return }
    }
  }

  private func forget(
    _ policy: KeepPolicy, isTrial: Bool, _ context: CommandContext,
    _ isWorthIt: @escaping (ForgetReport) -> Bool
  ) throws(StoreError) -> Compaction {
    var preview = ForgetPreview()
    var last: ForgetReport?
    var isWhole = !isTrial
    var control = ForgetControl()
    // docs/speed.md, Forgetting.
    control.restFactor = isMounted ? 4 : 0
    control.isCancelled = context.isCancelled
    control.progress = { step, done, total in
      context.progress(
        CommandProgress(
          step == .reading ? "reading versions" : "freeing bytes", done: Int(clamping: done),
          total: Int(clamping: total)))
    }
    control.isWorthIt = { report in
      last = report
      let isWorthIt = isWorthIt(report)
      if !isWorthIt { isWhole = false }
      return isWorthIt
    }
    if isTrial {
      control.examine = { [store] (some) throws(StoreError) in
        try preview.add(&some, of: store, isCancelled: context.isCancelled)
      }
    }
    let time = clock.now()
    let report = try store.forget(
      policy, at: time, isTrial: isTrial,
      besides: { () throws(StoreError) in try outsideRoots() }, control: control)
    let found = last ?? report
    func update(_ record: inout CompactionRecord) {
      record.estimate = CompactionRecord.Estimate(
        time: time, versions: isWhole ? 0 : found.newlyForgotten,
        bytes: isWhole ? 0 : found.freeableBytes - (isTrial ? 0 : report.freeableBytes),
        keep: policy.text)
      if !isTrial, report.newlyForgotten > 0 || report.freedBytes > 0 {
        record.run = CompactionRecord.Run(
          time: time, versions: report.newlyForgotten, freed: report.freedBytes)
      }
    }
    do throws(StoreError) {
      try updateRecord(update)
    } catch {
      // Without the record, the status does not have the newest results.
      guard error.isNoSpace else { throw error }
    }
    if !isTrial, report.newlyForgotten > 0 {
      log.add("compact", "\(Self.text(of: report)), by keep=\(policy.text)")
      forgetWords()
    }
    return Compaction(
      report: report, preview: isTrial ? preview : nil, notes: try lackingPeers().map(\.note))
  }

  /// Removes the words of forgotten versions from the index of words. If this fails, the next search does it.
  private func forgetWords() {
    guard SearchIndex.exists(of: store) else { return }
    do throws(StoreError) {
      try SearchIndex(of: store, textLimit: Int(settings.searchLimit)).forget()
    } catch {
      log.add("error", "the index of words: \(ControlError(error).message)")
    }
  }

  static func text(of report: ForgetReport) -> String {
    guard report.newlyForgotten > 0 || report.lacksHoles else {
      return "\(ByteCount.text(report.freedBytes)) of versions came free that were forgotten before"
    }
    let versions = PrintableText.count(report.newlyForgotten, "version")
    let freed =
      report.lacksHoles
      ? "no space came free, because this file system cannot free a part of a file"
      : "\(ByteCount.text(report.freedBytes)) came free"
    return "\(versions) forgotten, \(freed)"
  }
}
