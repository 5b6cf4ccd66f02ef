import LLVS
