import Platform

SystemProcess.exit(
  Bench.run(SystemProcess.arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }))
