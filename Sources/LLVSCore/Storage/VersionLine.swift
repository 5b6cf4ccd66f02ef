/// The part of a version's record that listings need.
package struct VersionLine: Hashable, Sendable {
  package var number: VersionNumber
  package var name: String
  package var first: VersionNumber?
  package var second: VersionNumber?
  package var map: MapRoot
}

extension Catalog {
  func versionLines(
    after number: UInt32, limit: Int, in database: StoreDatabase
  ) throws(StoreError) -> [VersionLine] {
    try lines(
      database.prepared(
        """
        SELECT number, name, first, second, map FROM versions WHERE number > ?1
        ORDER BY number LIMIT ?2
        """
      ).bind(1, Int64(number)).bind(2, Int64(limit)))
  }

  func versionLines(
    before number: UInt32, limit: Int, in database: StoreDatabase
  ) throws(StoreError) -> [VersionLine] {
    try lines(
      database.prepared(
        """
        SELECT number, name, first, second, map FROM versions WHERE number < ?1
        ORDER BY number DESC LIMIT ?2
        """
      ).bind(1, Int64(number)).bind(2, Int64(limit)))
  }

  private func lines(_ row: StoreStatement) throws(StoreError) -> [VersionLine] {
    defer { row.reset() }
    var lines: [VersionLine] = []
    while try row.step() {
      let number = row.number(0)
      guard let map = row.bytes(4).parsed({ $0.mapRoot() }) else {
        throw .corrupt("\(path): version \(number.rawValue) has no readable map")
      }
      lines.append(
        VersionLine(
          number: number, name: row.text(1), first: row.optionalNumber(2),
          second: row.optionalNumber(3), map: map))
    }
    return lines
  }
}
