import Glibc

// conformance DIRECTORY [--verbose] [--list] [--must=FEATURE,...] [--read-only] [NAME...]: makes the checks in a directory, prints what
// fails by name and the totals; exits with 1 if anything failed. What a file system may leave out
// (fallocate, direct, acl, handles, counts) is skipped where it is left out, unless it is named as what must be there. With
// --read-only the directory is one that cannot be written, with the names that ReadOnly.swift tells. Calls at
// random have --seeds (4) checks of a size, from --seed (1) on, of --calls (600) each; in a mount of llvs, whose
// top --versions names, versions made in between must hold the bytes of that moment.

/// Says why nothing was checked, and ends.
func refuse(_ sentence: String, _ code: Int32) -> Never {
  let text = Array((sentence + "\n").utf8)
  _ = write(2, text, text.count)
  exit(code)
}

let arguments = Array(CommandLine.arguments.dropFirst())
let options = arguments.filter { $0.hasPrefix("--") }
let words = arguments.filter { !$0.hasPrefix("--") }
for option in options where !["--verbose", "--list", "--read-only"].contains(option) {
  if RandomCalls.wanted.take(option) { continue }
  guard option.hasPrefix("--must=") else { refuse("There is no option \(option).", 64) }
  for word in option.dropFirst(7).split(separator: ",") {
    guard let feature = Feature(rawValue: String(word)) else {
      refuse("There is no feature \(word).", 64)
    }
    Feature.required.insert(feature)
  }
}
// The checks are made in another current directory, where paths from here lead nowhere.
if let mount = RandomCalls.wanted.mount {
  guard let resolved = realpath(mount, nil) else {
    refuse("\(mount) cannot be used: \(String(cString: strerror(errno))).", 66)
  }
  RandomCalls.wanted.mount = String(cString: resolved)
}
let suite = everyCheck()
if options.contains("--list") {
  for check in suite.checks { print(check.name) }
  print("\(suite.checks.count) checks")
  exit(0)
}
guard let target = words.first else {
  refuse(
    """
    Usage: conformance DIRECTORY [--verbose] [--list] [--must=FEATURE,...] [--read-only] [--seed=N] [--seeds=N] \
    [--calls=N] [--versions=MOUNTPOINT] [NAME...]
    """, 64)
}
guard chdir(target) == 0, let resolved = realpath(".", nil) else {
  refuse("\(target) cannot be used: \(String(cString: strerror(errno))).", 66)
}
umask(0)
signal(SIGPIPE, SIG_IGN)
signal(SIGXFSZ, SIG_IGN)
if options.contains("--read-only") {
  let failures = readOnlyFailures(in: String(cString: resolved))
  for failure in failures { print("FAILED  \(failure)") }
  print("\(readOnlyCalls.count - failures.count) passed, \(failures.count) failed, 0 skipped")
  exit(failures.isEmpty ? 0 : 1)
}
let root = String(cString: resolved) + "/conformance.\(getpid())"
guard mkdir(root, 0o755) == 0 else {
  refuse("Nothing can be made in \(target): \(String(cString: strerror(errno))).", 73)
}
let runner = Runner(
  root: root, only: Array(words.dropFirst()), isVerbose: options.contains("--verbose"))
let outcome = runner.run(suite)
_ = chdir("/")
Place.remove(Path(root))
print("\(outcome.passed) passed, \(outcome.failed) failed, \(outcome.skipped) skipped")
exit(outcome.failed == 0 ? 0 : 1)
