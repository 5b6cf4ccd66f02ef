// A program that imports LLVS also gets the small tools of the original.

@_exported public import LLVSUtilities
