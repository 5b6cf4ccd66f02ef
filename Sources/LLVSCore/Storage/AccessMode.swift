/// The kind of access to a store: any number of readers, or one writer beside them.
package enum AccessMode: Sendable { case reader, writer }
