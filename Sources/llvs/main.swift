import Foundation
import LLVSTool
exit(Bench.run(Array(CommandLine.arguments.dropFirst(2))))
