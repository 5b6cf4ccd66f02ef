import LLVSTool
import Platform

SystemProcess.exit(LLVSTool.run(Array(SystemProcess.arguments.dropFirst())))
