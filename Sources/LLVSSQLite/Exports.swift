// The original has its storage in SQLite in this module; here it is a part of LLVS, which opens
// such stores by itself.

@_exported public import LLVS
