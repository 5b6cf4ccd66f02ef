// A program that imports LLVS gets the public types of the engine and of its exchanges with it.

@_exported public import LLVSCore
@_exported public import LLVSExchange
