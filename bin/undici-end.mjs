// Brings a fix of undici 8 (nodejs/undici, pull request 5474) to the undici 7 in the command, which runs on Node 20: a peer that
// sent everything and closed while the reader was paused ended the process by an assertion.
import { readFileSync } from 'node:fs'

const BEFORE = `    assert(!this.paused)

    const { llhttp } = this

    let ret

    try {
      currentParser = this
      ret = llhttp.llhttp_finish(this.ptr)`

const AFTER = `    const { llhttp } = this

    // What the body's stream was not yet given is read first: it keeps it until it is read.
    while (this.paused) {
      llhttp.llhttp_resume(this.ptr)
      this.paused = false
      const data = this.socket.read() || EMPTY_BUF
      this.execute(data)
      if (data.length === 0) break
    }
    if (this.paused) {
      llhttp.llhttp_resume(this.ptr)
      this.paused = false
    }

    let ret

    try {
      currentParser = this
      ret = llhttp.llhttp_finish(this.ptr)`

/** @type {import('esbuild').Plugin} fails with a version of undici other than the one it was made for */
export const undiciEnd = {
  name: 'undici-end',
  setup(build) {
    build.onLoad({ filter: /undici\/lib\/dispatcher\/client-h1\.js$/ }, ({ path }) => {
      const [before, after, ...others] = readFileSync(path, 'utf8').split(BEFORE)
      if (after === undefined || others.length > 0) throw new Error(`bin/undici-end.mjs does not know ${path}`)
      return { contents: `${before}${AFTER}${after}`, loader: 'js' }
    })
  },
}
