import LLVSTool
import Platform

SystemProcess.exit(LLVSTool.run(Array(CommandLine.arguments.dropFirst())))
