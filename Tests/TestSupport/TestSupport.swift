import LLVSCore
