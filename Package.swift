// swift-tools-version: 6.2
import CompilerPluginSupport
import Glibc
import PackageDescription

// FUZZ=1 builds everything for libFuzzer and adds its program: see mount-scripts/fuzz.
let isFuzzing = Context.environment["FUZZ"] == "1"

// LLVS_STRICT=1 makes every warning an error: see mount-scripts/check.
let isStrict = Context.environment["LLVS_STRICT"] == "1"

// SwiftSyntax as the toolchain brings it, for the macro of LLVSModel: beside the library of Swift that
// this manifest itself runs on. Nil in a toolchain without it; LLVSModel then has no macro.
let swiftSyntax: String? = {
  guard let maps = fopen("/proc/self/maps", "r") else { return nil }
  defer { fclose(maps) }
  var line: UnsafeMutablePointer<CChar>?
  var capacity = 0
  defer { free(line) }
  while getline(&line, &capacity, maps) > 0, let text = line.map({ String(cString: $0) }) {
    // ADDRESS MODE OFFSET DEVICE INODE /TOOLCHAIN/usr/lib/swift/linux/libswiftCore.so
    guard text.hasSuffix("/libswiftCore.so\n"), let start = text.firstIndex(of: "/") else {
      continue
    }
    let folder =
      text[start...].split(separator: "/").dropLast(2).map { "/\($0)" }.joined() + "/host"
    return access("\(folder)/SwiftSyntax.swiftmodule", R_OK) == 0 ? folder : nil
  }
  return nil
}()

// Why each library is here:
//   fuse3    the kernel's file system interface (libfuse 3.14, low-level API).
//   sqlite3  what changes or is looked up by something else: versions, heads, settings, the log of heads.
//   zstd     compression of chunks, map nodes and attribute metadata.
//   crypto   SHA-256 with the processor's own instructions, for digests and merge ids (OpenSSL).
//   xxhash   XXH3-64, the checksum of every record on disk: faster than the disk, where SHA-256 is not.
//   curl     HTTP for remotes: S3, WebDAV, and rclone over a unix socket, with the system's TLS (libcurl).
//   sodium   encryption of remotes: XChaCha20-Poly1305, BLAKE2b and Argon2id, with their parameters kept
//            (libsodium).
//   microhttpd  the server of the page about history: HTTP on the loopback address, small, and nothing to
//            configure.
//   zlib     how git writes files that are no text into patches; zip archives of snapshots.
func library(_ name: String, pkgConfig: String, apt: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

// The store, and the tree above it, as targets that use all of them name them.
let store: [Target.Dependency] = ["LLVSExchange", "LLVSCore", "ObjectStores", "Platform"]
let tree: [Target.Dependency] = ["WorkingTree", "Inodes", "Events", "Grammar", "TreeNames"]

let package = Package(
  name: "llvs",
  products: [
    .library(name: "LLVS", targets: ["LLVS"]),
    .library(name: "LLVSModel", targets: ["LLVSModel"]),
    .library(name: "LLVSSQLite", targets: ["LLVSSQLite"]),
    .library(name: "LLVSProjection", targets: ["LLVSProjection"]),
    .library(name: "KeyValueCRDT", targets: ["KeyValueCRDT"]),
    .executable(name: "llvs", targets: ["llvs"]),
  ],
  targets: [
    library("CFuse3", pkgConfig: "fuse3", apt: "libfuse3-dev"),
    library("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    library("CZstd", pkgConfig: "libzstd", apt: "libzstd-dev"),
    library("CCrypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
    library("CXXHash", pkgConfig: "libxxhash", apt: "libxxhash-dev"),
    library("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    library("CSodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
    library("CMicrohttpd", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    library("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
    .target(name: "CShims"),
    .target(name: "CFuseShims", dependencies: ["CFuse3"]),

    .target(
      name: "Platform", dependencies: ["CShims"], swiftSettings: [.strictMemorySafety()]),
    .target(name: "ObjectStores", dependencies: ["Platform", "CCrypto", "CCurl"]),
    .target(name: "SQLite", dependencies: ["Platform", "CSQLite"]),
    .target(name: "SQLiteSums", dependencies: ["SQLite", "Platform", "CSQLite", "CXXHash"]),
    .target(name: "KeyValueCRDT", dependencies: ["SQLite", "Platform"]),
    .target(
      name: "LLVSCore",
      dependencies: ["Platform", "SQLite", "CZstd", "CCrypto", "CXXHash"]),
    .target(
      name: "Documents", dependencies: ["LLVSCore", "KeyValueCRDT", "SQLite", "Platform"]),
    .target(
      name: "LLVSExchange", dependencies: ["ObjectStores", "LLVSCore", "Platform", "CSodium"]),
    .target(
      name: "Search",
      dependencies: ["TreeNames", "LLVSCore", "SQLiteSums", "SQLite", "Platform"]),
    .target(name: "LLVSUtilities"),
    .target(
      name: "LLVS",
      dependencies: [
        "LLVSUtilities", "LLVSExchange", "LLVSCore", "ObjectStores", "SQLite", "Platform", "CZlib",
      ]),
    .target(
      name: "LLVSModel", dependencies: ["LLVS"] + (swiftSyntax == nil ? [] : ["LLVSModelMacros"]),
      swiftSettings: swiftSyntax == nil ? [] : [.define("LLVS_HAS_MACROS")]),
    .target(name: "LLVSSQLite", dependencies: ["LLVS"]),
    .target(name: "LLVSProjection", dependencies: ["LLVS", "LLVSModel"]),
    .target(
      name: "FuseSession", dependencies: ["Platform", "CShims", "CFuseShims", "CFuse3"],
      swiftSettings: [.strictMemorySafety()]),
    .target(name: "TreeNames", dependencies: ["LLVSCore", "Platform"]),
    .target(name: "Inodes", dependencies: ["LLVSCore", "Platform"]),
    .target(name: "Grammar", dependencies: ["TreeNames", "LLVSCore", "Platform"]),
    .target(name: "Events", dependencies: ["Grammar", "TreeNames", "LLVSCore", "Platform"]),
    .target(
      name: "WorkingTree",
      dependencies: [
        "Events", "Grammar", "Inodes", "TreeNames", "SQLiteSums", "SQLite", "LLVSCore",
        "Platform",
      ]),
    .target(name: "HistoryTree", dependencies: store + tree),
    .target(name: "Control", dependencies: store + tree + ["HistoryTree", "Documents", "Search"]),
    .target(
      name: "LLVSMount", dependencies: store + tree + ["Control", "HistoryTree", "FuseSession"]),
    .target(name: "Reports", dependencies: store + tree + ["HistoryTree", "CZlib"]),
    // The page's files are in the program, which is installed alone.
    .target(
      name: "Web",
      dependencies: store + tree + ["Control", "HistoryTree", "Reports", "CMicrohttpd"],
      resources: [
        "index.html", "style.css", "icon.svg", "main.js", "elements.js", "server.js", "graph.js",
        "versions.js", "files.js", "difference.js", "conflicts.js", "sync.js",
        "space.js",
      ].map { .embedInCode("Page/\($0)") }),
    .target(
      name: "LLVSTool",
      dependencies: store + tree + [
        "Web", "Reports", "LLVSMount", "Control", "Documents", "HistoryTree", "FuseSession", "LLVS",
        "KeyValueCRDT", "Search",
      ]),
    .executableTarget(name: "llvs", dependencies: ["LLVSTool"]),
    // Measures the program beside other programs. Not built with it: see mount-scripts/bench.
    .executableTarget(
      name: "llvs-bench",
      dependencies: store + tree + [
        "LLVSTool", "LLVSMount", "Control", "Documents", "FuseSession", "LLVS", "KeyValueCRDT",
        "Search", "SQLite",
      ], path: "Sources/Benchmarks"),

    .target(
      name: "TestSupport", dependencies: store + ["CSQLite"], path: "Tests/TestSupport"),
    // Remotes of tests: in memory, with faults, and a small server that answers as a test says.
    .target(
      name: "ObjectStoreSupport", dependencies: ["ObjectStores", "Platform", "TestSupport"],
      path: "Tests/ObjectStoreSupport"),
    .testTarget(
      name: "ObjectStoresTests",
      dependencies: ["ObjectStores", "ObjectStoreSupport", "Platform", "TestSupport"]),
    .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"]),
    .testTarget(
      name: "KeyValueCRDTTests",
      dependencies: ["KeyValueCRDT", "SQLite", "Platform", "TestSupport"],
      resources: [.copy("Resources")]),
    .testTarget(
      name: "SearchTests", dependencies: ["Search", "LLVSCore", "Platform", "TestSupport"]),
    .testTarget(
      name: "DocumentsTests",
      dependencies: store + ["Documents", "KeyValueCRDT", "SQLite", "TestSupport"]),
    // Stores that share a folder, and a plain model of what they hold.
    .target(
      name: "StoreSupport", dependencies: store + ["TestSupport"], path: "Tests/StoreSupport"),
    .testTarget(
      name: "LLVSCoreTests", dependencies: store + ["SQLite", "StoreSupport", "TestSupport"],
      resources: [.copy("Resources")]),
    .testTarget(
      name: "LLVSExchangeTests",
      dependencies: store + ["ObjectStoreSupport", "SQLite", "StoreSupport", "TestSupport"],
      resources: [.copy("Resources")]),
    // Programs as they are written for the original: they import the public modules alone.
    .testTarget(
      name: "LLVSTests",
      dependencies: [
        "LLVS", "LLVSModel", "LLVSSQLite", "LLVSProjection", "LLVSUtilities", "TestSupport",
        "librarywriter", "TheMessage", "LoCo", "Notes",
      ], resources: [.copy("Resources")]),
    // Programs on the library, small enough to be read.
    .executableTarget(
      name: "TheMessage", dependencies: ["LLVS"], path: "Sources/Samples/TheMessage"),
    .executableTarget(
      name: "LoCo", dependencies: ["LLVS", "LLVSModel"], path: "Sources/Samples/LoCo"),
    .executableTarget(
      name: "Notes", dependencies: ["KeyValueCRDT"], path: "Sources/Samples/Notes"),
    // A program on the library, of which tests run several at once.
    .executableTarget(
      name: "librarywriter", dependencies: ["LLVS"], path: "Tests/LibraryWriter"),
    .testTarget(
      name: "FuseSessionTests", dependencies: ["FuseSession", "Platform", "TestSupport"]),
    // Programs at work on a tree, and a plain model of what cuts make of it.
    .target(
      name: "TreeModel",
      dependencies: ["WorkingTree", "Inodes", "TreeNames", "LLVSCore", "TestSupport"],
      path: "Tests/TreeModel"),
    // Trees that a test drives by paths, without a mount.
    .target(
      name: "TreeSupport", dependencies: store + tree + ["Control", "HistoryTree", "TestSupport"],
      path: "Tests/TreeSupport"),
    // Counts the blocks of memory that each thread allocates.
    .target(name: "AllocationCounter", path: "Tests/AllocationCounter"),
    .testTarget(
      name: "WorkingTreeTests",
      dependencies: tree + [
        "AllocationCounter", "HistoryTree", "SQLiteSums", "SQLite", "LLVSCore", "Platform",
        "TestSupport", "TreeModel", "TreeSupport",
      ]),
    .testTarget(
      name: "TreeNamesTests",
      dependencies: ["TreeNames", "HistoryTree", "LLVSCore", "TestSupport"]),
    .testTarget(
      name: "GrammarTests", dependencies: tree + ["Control", "LLVSCore", "Platform", "TreeSupport"]),
    .testTarget(
      name: "EventsTests", dependencies: ["Events", "WorkingTree", "Platform", "TestSupport"]),
    .testTarget(
      name: "HistoryTreeTests",
      dependencies: store + tree + ["Control", "HistoryTree", "TreeSupport"]),
    .testTarget(
      name: "ControlTests",
      dependencies: store + tree + ["Control", "HistoryTree", "ObjectStoreSupport", "TreeSupport"]),
    .testTarget(
      name: "LLVSMountTests", dependencies: store + tree + ["LLVSMount", "TestSupport"]),
    .testTarget(name: "ReportsTests", dependencies: ["Reports", "LLVSTool", "TestSupport"]),
    // Runs the program itself, so it is built with the tests.
    .testTarget(
      name: "LLVSToolTests",
      dependencies: store + ["llvs", "Notes", "LLVSTool", "Control", "TestSupport"]),
    // Drives the page in a browser, and so runs the program.
    .testTarget(
      name: "WebTests",
      dependencies: store + tree + ["llvs", "Web", "Control", "TestSupport"]),
    // All together: fleets of trees and faults in one process, and the program on mounted stores.
    .testTarget(
      name: "SystemTests",
      dependencies: store + tree + [
        "llvs", "oracle", "conformance", "LoCo", "Control", "HistoryTree", "KeyValueCRDT", "SQLite",
        "ObjectStoreSupport", "StoreSupport", "TestSupport", "TreeSupport",
      ],
      resources: [.copy("Fixtures")]),
    .testTarget(name: "LayeringTests", dependencies: []),
    // Not a test of ours but of any directory: what POSIX and Linux promise, check by check.
    .executableTarget(name: "conformance", dependencies: ["CShims"], path: "Tests/Conformance"),
    // Works in a directory of a mount beside a model of it, which says what each call must return.
    .executableTarget(
      name: "oracle", dependencies: ["CShims", "TestSupport"], path: "Tests/Oracle"),

    .target(
      name: "FuzzTargets",
      dependencies: store + tree + ["Control", "HistoryTree"],
      path: "Tests/FuzzTargets"),
    .testTarget(
      name: "FuzzTests", dependencies: ["FuzzTargets", "Platform", "TestSupport"],
      resources: [.copy("Corpus")]),
  ],
  swiftLanguageModes: [.v6]
)

if let swiftSyntax {
  package.targets.append(
    .macro(
      name: "LLVSModelMacros",
      // SwiftPM has no setting for modules and libraries of the toolchain. Programs that depend on
      // this package get no such flags: the compiler runs the macro as a program of its own.
      swiftSettings: [.unsafeFlags(["-I", swiftSyntax])],
      linkerSettings: [
        .unsafeFlags(["-L", swiftSyntax, "-Xlinker", "-rpath", "-Xlinker", swiftSyntax])
      ]))
}

if isFuzzing {
  package.targets += [
    .systemLibrary(name: "CFuzzer", path: "Tests/CFuzzer"),
    .executableTarget(
      name: "fuzzer", dependencies: ["CFuzzer", "FuzzTargets", "Platform"], path: "Tests/Fuzzer",
      // The entry is a function of C, which the driver of libFuzzer is called from.
      swiftSettings: [.unsafeFlags(["-parse-as-library"])],
      // gold ends with an internal error on what the sanitizers add.
      linkerSettings: [.unsafeFlags(["-use-ld=lld", "-sanitize=fuzzer,address"])]),
  ]
}

for target in package.targets where target.type != .system {
  guard !["CShims", "CFuseShims", "AllocationCounter"].contains(target.name) else { continue }
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      // `any` is written where an existential is paid for.
      .enableUpcomingFeature("ExistentialAny"),
      // A C module never leaks into a public signature by accident.
      .enableUpcomingFeature("InternalImportsByDefault"),
      // Members come from modules that the file itself imports.
      .enableUpcomingFeature("MemberImportVisibility"),
    ]
  if isStrict {
    target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)]
  }
  if isFuzzing, target.type != .macro {
    target.swiftSettings =
      (target.swiftSettings ?? []) + [
        .unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"])
      ]
  }
}
