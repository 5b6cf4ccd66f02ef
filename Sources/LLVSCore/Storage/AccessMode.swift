/// The kind of access to a store: any number of readers, or one writer next to them.
package enum AccessMode: Sendable { case reader, writer }
