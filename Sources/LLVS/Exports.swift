// A program that imports LLVS gets the small tools of the original with it.

@_exported public import LLVSUtilities
