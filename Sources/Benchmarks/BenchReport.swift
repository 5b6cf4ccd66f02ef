import Foundation

/// Prints figures as they come, and keeps them for JSON.
struct BenchReport {
  private struct Line: Encodable {
    var row: String
    var work: String
    var unit: String?
    var ours: Double?
    var reference: Double?
    var against: String?
    var ratio: Double?
    var ratios: [Double]?
    var asked: String?
    var verdict: String?
    var note: String?
    var skipped: String?
  }

  private struct Document: Encodable {
    var scale: String
    var date: String
    var figures: [Line]
  }

  private let scale: BenchScale
  private var lines: [Line] = []

  init(scale: BenchScale) {
    self.scale = scale
  }

  func printHeading() {
    emit(
      Self.columns(
        "row", "work", "ours", "reference", "against", "ratio", "of rounds", "asked", "verdict"))
  }

  mutating func add(_ figure: BenchFigure, to row: BenchRow) {
    let asked = Self.text(figure.goal, figure.unit)
    let against = figure.reference == nil ? nil : figure.against
    lines.append(
      Line(
        row: row.id, work: figure.work, unit: figure.unit.rawValue, ours: figure.ours,
        reference: figure.reference, against: against, ratio: figure.ratio,
        ratios: figure.spread.map { [$0.lowerBound, $0.upperBound] },
        asked: asked.isEmpty ? nil : asked, verdict: figure.verdict?.rawValue,
        note: figure.note))
    emit(
      Self.columns(
        row.id, figure.work, Self.text(figure.ours, figure.unit),
        figure.reference.map { Self.text($0, figure.unit) } ?? "-", against ?? "",
        figure.ratio.map { String(format: "%.2f", $0) } ?? "-",
        figure.spread.map { String(format: "%.2f-%.2f", $0.lowerBound, $0.upperBound) } ?? "",
        asked,
        figure.verdict?.rawValue ?? ""))
    if let note = figure.note { emit("          \(note)") }
  }

  mutating func skip(_ row: BenchRow, because reason: String) {
    lines.append(Line(row: row.id, work: "", skipped: reason))
    emit("\(row.id): \(reason)")
  }

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(
      Document(
        scale: scale.rawValue, date: ISO8601DateFormatter().string(from: Date()), figures: lines))
  }

  private func emit(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  private static func columns(_ words: String...) -> String {
    let widths = [9, 52, 10, 10, 18, 7, 11, 22, 7]
    var line = ""
    for (word, width) in zip(words, widths) {
      line += word + String(repeating: " ", count: max(1, width + 1 - word.count))
    }
    while line.last == " " { line.removeLast() }
    return line
  }

  private static func text(_ goal: BenchGoal, _ unit: BenchFigure.Unit) -> String {
    switch goal {
    case .faster(let least, let aim):
      "\(least.formatted())x faster, aim \(aim.formatted())"
    case .times(let most, let aim): "<= \(most.formatted())x, aim \(aim.formatted())"
    case .within(let most, let aim): "<= \(text(most, unit)), aim \(text(aim, unit))"
    case .none: ""
    }
  }

  private static func text(_ value: Double, _ unit: BenchFigure.Unit) -> String {
    switch unit {
    case .bytes:
      value < 10_000
        ? String(format: "%.0f B", value) : String(format: "%.1f MB", value / 1e6)
    case .seconds:
      switch value {
      case ..<0.001: String(format: "%.2f us", value * 1e6)
      case ..<1: String(format: "%.2f ms", value * 1e3)
      default: String(format: "%.2f s", value)
      }
    }
  }
}
