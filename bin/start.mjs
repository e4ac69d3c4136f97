// `npm start`, `npm run serve`: installs and builds what is missing, then runs src/main.ts in this very process.
import { build, install } from './build.mjs'

install()
await build()
await import(new URL('../dist/main.js', import.meta.url).href)
