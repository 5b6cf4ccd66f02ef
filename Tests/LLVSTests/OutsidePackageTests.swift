import Foundation
import TestSupport
import Testing

/// Apps outside of this package: `Tests/OutsidePackages` has one with each library product.
@Suite("Outside packages", .timeLimit(.minutes(20)))
struct OutsidePackageTests {
  /// The libraries of C that docs/library.md names, by product.
  private let linked: [String: Set<String>] = [
    "LLVS": Self.stores, "LLVSModel": Self.stores, "LLVSSQLite": Self.stores,
    "LLVSProjection": Self.stores,
    "KeyValueCRDT": ["libsqlite3"],
  ]
  private static let stores: Set = [
    "libsqlite3", "libzstd", "libxxhash", "libcrypto", "libsodium", "libcurl", "libz",
  ]

  /// Those of the system and of Swift.
  private static func isEverywhere(_ library: String) -> Bool {
    ["libswift", "libFoundation", "lib_Foundation", "libBlocksRuntime", "libdispatch", "ld-linux"]
      .contains(where: library.hasPrefix)
      || ["libc", "libm", "libgcc_s", "libstdc++", "libpthread", "libdl"].contains(library)
  }

  @Test("one with each product builds from scratch, runs, and links what the page says and no more")
  func building() throws {
    let scratch = try TemporaryDirectory()
    let sources = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("OutsidePackages").path
    let built = try shell(
      """
      env -u LLVS_STRICT -u FUZZ swift build --package-path '\(sources)' \
        --scratch-path '\(scratch.path)' --disable-index-store -debug-info-format none 2>&1
      """, seconds: 1200)
    #expect(built.status == 0, "\(built.output.suffix(4000))")
    for (product, libraries) in linked {
      let program = scratch.file("debug/Uses\(product)")
      #expect(try shell("'\(program)' '\(scratch.file("of-\(product)"))'").output == "Ann\n")
      let needed = try shell(
        "readelf -d '\(program)' | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\.so.*/\\1/p'")
      let names = Set(needed.output.split(separator: "\n").map(String.init))
      #expect(names.filter { !Self.isEverywhere($0) } == libraries, "\(product)")
    }
  }
}
