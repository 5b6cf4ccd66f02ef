// FileTree
