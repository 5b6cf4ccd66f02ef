// swift-tools-version: 6.2
import PackageDescription

// A program with each library product, in a package that depends on this one.
let products = ["LLVS", "LLVSModel", "LLVSSQLite", "LLVSProjection", "KeyValueCRDT"]

let package = Package(
  name: "OutsidePackages",
  dependencies: [.package(name: "llvs", path: "../..")],
  targets: products.map { product in
    .executableTarget(
      name: "Uses\(product)", dependencies: [.product(name: product, package: "llvs")])
  })
