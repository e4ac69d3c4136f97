// Counts the lines of src by room that are neither blank nor comment; tests and their fixtures separately.
// Usage: npm run --silent lines
import { globSync, readFileSync } from 'node:fs'
import ts from 'typescript'

/** @param {string} path */
function linesOf(path) {
  const text = readFileSync(path, 'utf8')
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  const lines = text.split('\n')
  /** @type {Set<number>} */
  const code = new Set()
  // A token covers lines of code; comments are between tokens.
  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isJSDoc(node)) return
    const children = node.getChildren(source)
    children.forEach(visit)
    if (children.length > 0) return
    const last = source.getLineAndCharacterOfPosition(node.end).line
    for (let line = source.getLineAndCharacterOfPosition(node.getStart(source)).line; line <= last; line++)
      code.add(line)
  }
  visit(source)
  return [...code].filter((line) => lines[line]?.trim()).length
}

/** @type {Record<string, { source: number, tests: number }>} */
const rooms = {}
for (const path of globSync('src/**/*.ts').sort()) {
  const kind = /(\.test|\.fixture|\/fixture)\.ts$/.test(path) ? 'tests' : 'source'
  const lines = linesOf(path)
  const [, first, rest] = path.split('/')
  for (const room of [rest ? `${first}/` : 'programs', 'total']) {
    rooms[room] ??= { source: 0, tests: 0 }
    rooms[room][kind] += lines
  }
}
const { total, ...single } = rooms
console.table({ ...single, total })
