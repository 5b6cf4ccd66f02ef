package import LLVSCore
package import ObjectStores

extension StoreError {
  package init(_ error: RemoteError) {
    let words = error.description
    switch error.kind {
    case .cancelled: self = .cancelled
    case .stalled: self = .timedOut(words)
    case .denied: self = .denied(words)
    case .noSpace, .tooLarge: self = .noSpace(words)
    case .invalid, .unsupported: self = .invalid(words)
    // A directory may be on a stick that is not plugged in, and a server may be asleep.
    case .unreachable, .noPlace, .absent, .exists, .malformed, .mismatched:
      self = .unreachable(words)
    case .local(let cause): self = .system(cause)
    }
  }
}

package func asking<Result>(_ body: () throws(RemoteError) -> Result) throws(StoreError) -> Result {
  do throws(RemoteError) {
    return try body()
  } catch {
    throw StoreError(error)
  }
}
