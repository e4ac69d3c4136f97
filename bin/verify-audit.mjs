// `npm run verify-audit -- DIRECTORY`: checks the hash chain of the audit files in a directory. Exit code 1 when it is broken.
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build, install } from './build.mjs'

const directory = process.argv[2]
if (!directory) {
  console.error('usage: npm run verify-audit -- <directory with YYYY-MM-DD.jsonl files>')
  process.exit(2)
}
install()
await build()
const { verifyLine } = /** @type {typeof import('../src/store/audit-chain.ts')} */ (
  await import(new URL('../dist/store/audit-chain.js', import.meta.url).href)
)
const files = (await readdir(directory)).filter((name) => /^\d{4}-\d\d-\d\d\.jsonl$/.test(name)).sort()
if (files.length === 0) {
  console.error(`no audit files in ${directory}`)
  process.exit(2)
}
// What came before the oldest file may have been removed by retention: the chain is anchored at its first entry.
/** @type {string | null} */
let head = null
let count = 0
for (const file of files) {
  let line = 0
  for await (const text of createInterface({ input: createReadStream(join(directory, file)), crlfDelay: Infinity })) {
    line++
    const { fault, hash } = verifyLine(text, head)
    if (fault) {
      console.error(`${file}:${line} ${fault}`)
      process.exit(1)
    }
    head = hash
    count++
  }
}
console.log(`${count} entries in ${files.length} files: the chain holds, its head is ${head}`)
