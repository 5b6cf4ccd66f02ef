internal import Glibc

extension SystemThread {
  /// A number that tells the calling thread from all others that run now.
  package static var current: UInt { pthread_self() }
}
