import Foundation

/// `llvs-bench`: measures operations of the store and the mount, each next to a reference in the
/// same run.
enum Bench {
  static let help = """
    llvs-bench [ROW...] [--json FILE] [--scale small|full] [--dir DIR] [--versions N] [--bytes N]

    Measures each row beside its reference (libfuse's passthrough_ll over the same disk, the disk itself,
    git, an append with fdatasync), several rounds in turn, and prints medians, ratios, and what is asked.

    ROW          \(BenchRow.all.map(\.id).joined(separator: " ")); all unless named
    --json FILE  writes the figures as JSON too
    --scale      small (the default) or full (up to twenty minutes, and an hour for the row hour)
    --dir DIR    works in a new directory below DIR; /var/tmp unless given
    --versions N, --bytes N
                 the history of the row compact: 2,000 versions and 200 MB, or 20,000 and 2 GB with --scale full.
                 Three to five times as much space is needed in DIR

    The rows remotes, uploads and edit need restic, rclone, and a bucket of an S3 server: LLVS_BENCH_REMOTE has its
    address, s3+http://HOST:PORT/BUCKET/PREFIX, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY the keys. What
    they put there is removed again. The row bytes needs restic; the row compact uses it if it is installed.
    The row hour needs Debian's faketime with --scale small.

    """

  /// Runs the program.
  ///
  /// - Returns: The exit code: 0 if every row that can run here ran, whatever its figures; 1 if one
  ///   failed; 2 for invalid arguments.
  static func run(_ arguments: [String]) -> Int32 {
    var options = BenchOptions()
    do throws(BenchError) {
      guard try options.parse(arguments) else {
        print(help, terminator: "")
        return 0
      }
    } catch {
      complain("\(error)")
      return 2
    }
    do {
      return try measure(options) ? 0 : 1
    } catch {
      complain("\(error)")
      return 1
    }
  }

  private static func measure(_ options: BenchOptions) throws -> Bool {
    let place = try BenchPlace(below: options.directory)
    defer { place.remove() }
    let context = BenchContext(place: place, options)
    var report = BenchReport(scale: options.scale)
    var isWhole = true
    report.printHeading()
    for row in options.rows {
      do {
        for figure in try row.measure(context) { report.add(figure, to: row) }
      } catch let error as BenchError {
        report.skip(row, because: "\(error)")
        if case .failed = error { isWhole = false }
      } catch {
        report.skip(row, because: "\(error)")
        isWhole = false
      }
      try context.endRow()
    }
    if let file = options.json { try report.json().write(to: URL(fileURLWithPath: file)) }
    return isWhole
  }

  private static func complain(_ text: String) {
    FileHandle.standardError.write(Data("llvs-bench: \(text).\n".utf8))
  }
}

/// The reason that a row has no figures.
enum BenchError: Error, CustomStringConvertible {
  /// Something that the row needs is not on this machine.
  case unavailable(String)
  case failed(String)
  case usage(String)

  var description: String {
    switch self {
    case .unavailable(let reason): "cannot run here: \(reason)"
    case .failed(let reason), .usage(let reason): reason
    }
  }
}

/// The options of the command line.
struct BenchOptions {
  var rows = BenchRow.all
  var json: String?
  var scale = BenchScale.small
  var directory = "/var/tmp"
  var versions: Int?
  var bytes: Int?

  /// Parses the arguments; returns false if help is requested.
  mutating func parse(_ arguments: [String]) throws(BenchError) -> Bool {
    var named: [BenchRow] = []
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "--help", "-h": return false
      case "--json": json = try value(word, &rest)
      case "--dir": directory = try value(word, &rest)
      case "--versions": versions = try number(word, &rest)
      case "--bytes": bytes = try number(word, &rest)
      case "--scale":
        let name = try value(word, &rest)
        guard let known = BenchScale(rawValue: name) else {
          throw .usage("there is no scale \(name): small or full")
        }
        scale = known
      default:
        guard let row = BenchRow.all.first(where: { $0.id == word }) else {
          throw .usage("there is no row \(word); see llvs-bench --help")
        }
        named.append(row)
      }
    }
    if !named.isEmpty { rows = named }
    return true
  }

  private func value(
    _ option: String, _ rest: inout ArraySlice<String>
  ) throws(BenchError) -> String {
    guard let value = rest.popFirst() else { throw .usage("\(option) needs a value") }
    return value
  }

  private func number(
    _ option: String, _ rest: inout ArraySlice<String>
  ) throws(BenchError) -> Int {
    guard let number = Int(try value(option, &rest)), number > 0 else {
      throw .usage("\(option) needs a number above 0")
    }
    return number
  }
}
