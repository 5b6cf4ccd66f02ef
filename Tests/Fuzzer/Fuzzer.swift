import CFuzzer
import Foundation
import FuzzTargets
import Platform

/// Runs one target under libFuzzer: LLVS_FUZZ_TARGET names it, LLVS_FUZZ_SEEDS a directory that its seeds
/// are written to first.
///
/// Built only with FUZZ=1, by `mount-scripts/fuzz`.
@c(fuzzer_main)
public func fuzzerMain(
  _ count: Int32, _ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  guard let target = Chosen.target else {
    let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
    print("LLVS_FUZZ_TARGET is one of: \(names)")
    return 2
  }
  if let directory = ProcessInfo.processInfo.environment["LLVS_FUZZ_SEEDS"] {
    for (index, seed) in target.seeds.enumerated() {
      let file = try? File("\(directory)/seed-\(index)", [.readWrite, .create, .truncate])
      try? file?.write(seed, at: 0)
    }
  }
  var count = count
  var words = words
  return LLVMFuzzerRunDriver(&count, &words) { data, size in
    let bytes = Array(UnsafeBufferPointer(start: data, count: size))
    do {
      try Chosen.target?.run(bytes)
    } catch {
      fatalError("\(error)")
    }
    return 0
  }
}

private enum Chosen {
  static let target = ProcessInfo.processInfo.environment["LLVS_FUZZ_TARGET"].flatMap {
    FuzzTarget(rawValue: $0)
  }
}
