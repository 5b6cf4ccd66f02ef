// LLVSTool
