import Foundation
import LLVSTool
import TestSupport
import Testing

/// What `--json` prints is what docs/json.md says, field by field.
@Suite("The page of JSON replies", .timeLimit(.minutes(5)))
struct JSONPageTests {
  /// A field as the page documents it.
  private struct Field {
    var types: Set<String>
    /// True for a field that is there in some cases alone.
    var isRare: Bool
  }

  /// The fields by section, and those of all replies.
  private struct Page {
    var sections: [String: [String: Field]] = [:]
    /// Sections of several verbs: what one of them prints is there.
    var groups: [[String]] = []

    init() throws {
      let place = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Sources/llvs/llvs.docc/json.md")
      var names: [String] = []
      for line in try String(contentsOf: place, encoding: .utf8).split(separator: "\n") {
        if line.hasPrefix("## ") {
          names = line.dropFirst(3).split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
          }
          for name in names { sections[name] = [:] }
          groups.append(names)
        }
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        guard cells.count == 3, cells[0].hasPrefix("`") else { continue }
        let field = cells[0].trimmingCharacters(in: ["`"])
        let types = Set(cells[1].components(separatedBy: " or "))
        for name in names {
          sections[name]?[field] = Field(types: types, isRare: cells[2].contains("only"))
        }
      }
    }
  }

  /// The paths of a value's fields, with the types of their values.
  private static func fields(_ value: Any, at path: String = "") -> [(String, String)] {
    switch value {
    case let object as [String: Any]:
      let own = path.isEmpty ? [] : [(path, "object")]
      return own
        + object.flatMap { fields($0.value, at: path.isEmpty ? $0.key : "\(path).\($0.key)") }
    case let list as [Any]: return [(path, "array")] + list.flatMap { fields($0, at: "\(path)[]") }
    case is NSNull: return [(path, "null")]
    case is String: return [(path, "string")]
    case let number as NSNumber:
      return [(path, CFGetTypeIDIsBoolean(number) ? "boolean" : "number")]
    default: return [(path, "?")]
    }
  }

  private static func CFGetTypeIDIsBoolean(_ number: NSNumber) -> Bool {
    String(cString: number.objCType) == "c"
  }

  /// Runs every verb; a line that begins with `@` says which one prints what follows.
  private static let script = #"""
    exec 2> errors
    run() { local verb=$1; shift; echo "@$verb"; llvs "$verb" "$@" --json; }
    run init s; mkdir -p d/sub hub; printf 'one\ntwo\n' > d/a; echo 1 > d/sub/b; ln -s a d/l
    at='--store s'
    run import d $at; run version; run help; run help sync; run completion bash
    run peer hub "$PWD/hub" $at; run peer $at; run sync $at
    run tag v1 $at; run tag $at; run tag -m v1 v2 $at; run tag -d v2 $at; run tag v1 $at -q
    run branch work $at; run branch $at; run branch -m work labour $at; run switch - $at
    run branch -d labour $at
    llvs init o -q; llvs peer hub "$PWD/hub" -q --store o; llvs sync --store o -q
    mkdir od; cp -r d/. od; printf 'one\nTWO\n' > od/a; llvs import od --store o -q; llvs sync --store o -q
    printf 'one\n2\n' > d/a; llvs import d $at -q
    run retrieve $at; run merge --dry-run $at; run merge $at; run send $at; run exchange $at
    run conflicts $at; run status $at; run mergetool --tool false $at; run settle --all $at
    run undo $at; run redo $at; run settle --all $at
    run restore head~ a $at; run revert head~ $at; run commit $at
    run set author=A $at; run set $at; run ignore '*.x' $at; run ignore $at; run ignore --check y.x $at
    run keep $at; sleep 1; run keep --dry-run all:0s $at; run keep all:0s $at; run compact --dry-run $at
    run keep all $at; run compact $at
    run log $at; run log --stat $at; run log -u $at; run show $at; run show v1:a $at; run show v1: $at
    run diff v1 head $at; run diff v1 head --stat $at; run diff v1 head -u $at
    run history a $at; run history a -u $at; run grep one $at; run grep -l one $at; run search one $at; run search one --history $at; run blame a $at
    run space $at; run events $at; run verify $at; run verify hub $at
    run export head out $at; run backup copy $at; run untrack l $at
    mkdir sealed; echo words > words; export LLVS_PASSPHRASE_FILE=$PWD/words; run peer away "$PWD/sealed" --encrypt --light $at
    run peer away --encrypt $at; run sync away $at; run key list away $at; run key open away $at
    run key add away two --light $at; run key rotate away --light $at; run key remove away two $at
    run key export away "$PWD/keys" --light $at; run set away.remove=off $at; run set $at; run peer away rm $at
    run clone ./hub cloned; run peer hub --reset $at
    run peer hub rm $at
    echo text | run document doc.kvcrdt put name; run document doc.kvcrdt; run document doc.kvcrdt list
    run document doc.kvcrdt get name; run document doc.kvcrdt authors
    if [ -e /dev/fuse ]; then
      mkdir m; run mount s m; echo '*.k' > m/.llvsignore; echo 1 > m/a.k; llvs commit -q --mount m
      rm m/.llvsignore; llvs commit -q --mount m; run status --mount m; run track a.k --mount m; run open --mount m; run open a --mount m
      echo x > m/x; run status --mount m; run import od --into od --mount m; run commit --mount m
      run switch nowhere --mount m
      echo '@watch'; (exec \#(MountedStore.program) watch -n 2 --json --mount m) > seen & watch=$!
      sleep 1; kill $watch; cat seen; run unmount m
    fi
    run switch nowhere $at; run log nowhere $at; run nothing; run commit --nothing; run status --store nowhere
    """#

  @Test("every field of every reply is documented, with its type, and what is documented is there")
  func page() throws {
    let page = try Page()
    let common = page.sections["Every reply"] ?? [:]
    #expect(!common.isEmpty)
    for verb in Verb.all { #expect(page.sections[verb.name] != nil, "no section for \(verb.name)") }
    let result = try Tool().run(Self.script)
    var verb = ""
    var seen: [String: Set<String>] = [:]
    var lines = 0
    for line in result.output.split(separator: "\n") {
      if line.hasPrefix("@") {
        verb = String(line.dropFirst())
        continue
      }
      lines += 1
      let value = try? JSONSerialization.jsonObject(with: Data(line.utf8))
      guard let object = value as? [String: Any] else {
        Issue.record("\(verb): no JSON object: \(line)")
        continue
      }
      let isError = object["ok"] as? Bool == false && object["error"] != nil
      for (field, type) in Self.fields(object) {
        let section = isError ? "Every reply" : verb
        guard let known = page.sections[section]?[field] ?? common[field] else {
          Issue.record("\(section): \(field) (\(type)) is not documented")
          continue
        }
        #expect(known.types.contains(type), "\(section): \(field) is \(type)")
        seen[section, default: []].insert(field)
      }
    }
    #expect(lines > 80, "\(result.output)")
    for names in page.groups {
      let found = names.reduce(into: Set<String>()) { $0.formUnion(seen[$1] ?? []) }
      guard !found.isEmpty, let fields = page.sections[names[0]] else { continue }
      for (field, known) in fields where !known.isRare && !found.contains(field) {
        Issue.record("\(names): \(field) is documented and never there")
      }
    }
  }
}
