/// The access to a store: any number of readers, or one writer in addition to them.
package enum AccessMode: Sendable { case reader, writer }
