@_exported public import PendingTree
@_exported public import PosixTree
@_exported public import Versioning
