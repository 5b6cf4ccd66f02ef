// Bytes of two files (RandomBytes.swift) and a tree (RandomNames.swift) under calls at random.

/// What the arguments say of calls at random.
struct RandomCalls {
  /// How many checks of each size, each with a seed of its own.
  var seeds = 4
  /// The first seed.
  var first = 1
  /// Calls in each.
  var calls = 600
  /// The top of a mount of llvs, whose versions are looked at too.
  var mount: String?

  nonisolated(unsafe) static var wanted = RandomCalls()
}

func addRandomChecks(_ suite: inout Suite) {
  let wanted = RandomCalls.wanted
  // Less than a page or so, some pages, and more than what is written or kept at once.
  for pages in [3, 40, 700] {
    for seed in wanted.first..<wanted.first + wanted.seeds {
      suite.check("random calls: every way to the bytes agrees (\(pages) pages, seed \(seed))") {
        let bytes = RandomBytes(
          $0, seed: seed, limit: pages * RandomBytes.page, mount: wanted.mount)
        try bytes.run(wanted.calls)
      }
    }
  }
  for seed in wanted.first..<wanted.first + wanted.seeds {
    suite.check("random calls: names lead where they must, and only due times move (seed \(seed))")
    {
      try RandomNames($0, seed: seed, mount: wanted.mount).run(wanted.calls)
    }
  }
}

extension RandomCalls {
  /// True if an option is one of these, and its value can be taken.
  mutating func take(_ option: String) -> Bool {
    let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return false }
    if parts[0] == "--versions" {
      mount = parts[1]
      return true
    }
    guard let number = Int(parts[1]), (0...1_000_000_000).contains(number) else { return false }
    switch parts[0] {
    case "--seeds": seeds = number
    case "--seed": first = number
    case "--calls": calls = number
    default: return false
    }
    return true
  }
}
