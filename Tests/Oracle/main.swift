import Foundation

// oracle MOUNT STATES --workers=N,... [--seconds=S] [--seed=N] [--no-maps] [--local] [--after=remount|sync]: works in
// a mount, in a thread for each worker, beside a model of what its names hold, and exits with 1 at the first answer
// that is not the model's. The models are kept in the directory STATES. Without --seconds it only compares the mount
// with them: the same one, one after a remount, or that of another machine after a sync. With --local MOUNT is a
// directory of any file system.

umask(0o022)
var words: [String] = []
var options: [String: String] = [:]
for argument in CommandLine.arguments.dropFirst() {
  guard argument.hasPrefix("--") else {
    words.append(argument)
    continue
  }
  let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1).map(String.init)
  options[parts[0]] = parts.count > 1 ? parts[1] : ""
}
guard words.count == 2,
  let workers = options["workers"]?.split(separator: ",").compactMap({ Int($0) })
else {
  print(
    "usage: oracle MOUNT STATES --workers=N,... [--seconds=S] [--seed=N] [--no-maps] [--local] [--after=remount|sync]"
  )
  exit(64)
}
let (mount, states) = (words[0], words[1])
let seconds = options["seconds"].flatMap(Double.init)
let seed = options["seed"].flatMap(UInt64.init) ?? 0
let (maps, isLocal, after) = (
  options["no-maps"] == nil, options["local"] != nil, options["after"]
)

@Sendable func run(_ number: Int) throws {
  let state = URL(fileURLWithPath: "\(states)/\(number)")
  var model = Model(worker: number)
  if let bytes = try? Data(contentsOf: state) {
    model = try PropertyListDecoder().decode(Model.self, from: bytes)
  }
  if let after { model = model.mountedAgain(elsewhere: after == "sync") }
  let worker = try Worker(
    model, mount: mount, seed: seed, maps: maps, isLocal: isLocal)
  guard let seconds else { return try worker.check() }
  try worker.work(seconds: seconds)
  let encoder = PropertyListEncoder()
  encoder.outputFormat = .binary
  try encoder.encode(worker.model).write(to: state)
}

let threads = DispatchGroup()
for number in workers {
  threads.enter()
  let thread = Thread {
    do {
      try run(number)
    } catch {
      FileHandle.standardOutput.write(Data("\(error)\n".utf8))
      // The others would go on for long.
      exit(1)
    }
    threads.leave()
  }
  thread.stackSize = 8 << 20
  thread.start()
}
threads.wait()
