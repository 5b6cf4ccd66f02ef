// swift-tools-version: 6.2
import PackageDescription

// An app with each of the library products, as somebody has it who depends on this package.
let products = ["LLVS", "LLVSModel", "LLVSSQLite", "LLVSProjection", "KeyValueCRDT"]

let package = Package(
  name: "OutsidePackages",
  dependencies: [.package(name: "llvs", path: "../..")],
  targets: products.map { product in
    .executableTarget(
      name: "Uses\(product)", dependencies: [.product(name: product, package: "llvs")])
  })
