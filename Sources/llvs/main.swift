import LLVSTool
