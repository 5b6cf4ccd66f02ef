// LLVSMount
