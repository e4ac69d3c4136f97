// `npm start`, `npm run serve`: installs and builds what is missing, then runs src/main.ts in this process.
import { build } from './build.mjs'
import { begin } from './runtime.mjs'

await begin()
await build()
await import(new URL('../dist/main.js', import.meta.url).href)
