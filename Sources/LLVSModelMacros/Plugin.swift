@_spi(PluginMessage) internal import SwiftCompilerPluginMessageHandling
internal import SwiftSyntaxMacros

/// The compiler runs this program to get the text of each `@MergeableModel`.
@main
struct Plugin: PluginProvider {
  private struct UnknownMacro: Error, CustomStringConvertible { let description: String }

  func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
    guard typeName == "MergeableModelMacro" else {
      throw UnknownMacro(description: "there is no macro \(moduleName).\(typeName) here")
    }
    return MergeableModelMacro.self
  }

  static func main() throws {
    let handler = PluginProviderMessageHandler(provider: Plugin())
    try CompilerPluginMessageListener(
      connection: StandardIOMessageConnection(), messageHandler: handler
    ).main()
  }
}
