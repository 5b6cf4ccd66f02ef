package import Events

/// The event in a store's log that a mount's last version could not be made.
package struct LostVersion {
  private static let words = "the last version could not be made: "
  /// The reason: a clause without a final period.
  package let reason: String
  package init(reason: String) { self.reason = reason }

  package init?(_ event: LoggedEvent) {
    guard event.kind == .error, event.text.hasPrefix(Self.words) else { return nil }
    reason = String(event.text.dropFirst(Self.words.count))
  }

  package var text: String { Self.words + reason }
}
