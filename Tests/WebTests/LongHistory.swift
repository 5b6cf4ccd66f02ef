import LLVSCore

/// Makes stores with many versions.
enum LongHistory {
  /// Fills a new store with versions: a line, and branches that leave it and come back.
  static func make(in path: String, versions: Int) throws {
    let store = try Store.open(path: path, mode: .writer, create: true)
    var last: VersionRecord?
    var side: VersionRecord?
    var made = 0
    while made < versions {
      let batch = min(1000, versions - made)
      try store.write { (transaction) throws(StoreError) in
        for index in made..<(made + batch) {
          let isMerge = index % 21 == 20 && side != nil
          let isSide = !isMerge && index > 10 && index % 3 == 1
          let base = isSide ? side ?? last : last
          let second = isMerge ? side?.id : nil
          let value = Value(
            id: Key("d\(index % 50)/file\(index % 997)"), data: Array("\(index)\n".utf8))
          let record = try transaction.makeVersion(
            basedOn: base.map { Version.Predecessors(idOfFirst: $0.id, idOfSecond: second) },
            storing: [.update(value)],
            metadata: [.message: Version.MetadataValue("change number \(index + 1)")])
          if isSide { side = record } else { last = record }
          if isMerge { side = nil }
        }
        guard made + batch == versions, let last else { return }
        try transaction.setHead(last.number, map: last.map, reason: .imported)
      }
      made += batch
    }
  }

  /// Fills a new store with empty versions, a day apart.
  static func makeDays(_ count: Int, in path: String) throws {
    let store = try Store.open(path: path, mode: .writer, create: true)
    try store.write { (transaction) throws(StoreError) in
      var last: VersionRecord?
      for day in 0..<count {
        last = try transaction.add(
          NewVersion(
            number: try transaction.reserveVersion(), id: Version.ID("day\(day)"),
            first: last?.number, timestamp: 800_000_000 + 86_400 * Double(day), map: .empty))
      }
      if let last { try transaction.setHead(last.number, map: last.map, reason: .imported) }
    }
  }
}
