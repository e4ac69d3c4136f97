// Builds the console into dist/web: hashed files below assets/, each beside its brotli and gzip form, and index.html with the places
// that the listener fills for every answer (src/console/page.ts).
import react from '@vitejs/plugin-react'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { SettingsSchema } from '../src/domain/settings.ts'

const output = join(import.meta.dirname, '../dist/web')

/** Compresses once at build, so that the listener never does. */
function precompressed(): Plugin {
  return {
    name: 'precompressed',
    apply: 'build',
    writeBundle() {
      for (const name of readdirSync(join(output, 'assets'))) {
        if (!/\.(js|css|svg)$/.test(name)) continue
        const path = join(output, 'assets', name)
        const bytes = readFileSync(path)
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
      }
    },
  }
}

/** The schema of the settings as JSON, so that the bundle holds no TypeBox. */
function settingsSchema(): Plugin {
  const id = 'virtual:settings-schema'
  return {
    name: 'settings-schema',
    resolveId: (asked) => (asked === id ? `\0${id}` : undefined),
    load: (asked) => (asked === `\0${id}` ? `export default ${JSON.stringify(SettingsSchema)}` : undefined),
  }
}

export default defineConfig({
  root: import.meta.dirname,
  // Relative to <base>, which names the prefix of a proxy.
  base: './',
  plugins: [react(), settingsSchema(), precompressed()],
  html: { cspNonce: '__NONCE__' },
  build: {
    outDir: output,
    emptyOutDir: true,
    target: 'es2022',
    chunkSizeWarningLimit: 700,
    assetsInlineLimit: 0,
    // What test/console/budgets reads.
    manifest: true,
    rolldownOptions: {
      output: {
        // What most pages use comes with the first load, in few files; otherwise a page is two dozen small ones.
        codeSplitting: {
          groups: [
            { name: 'libraries', test: /node_modules/, minShareCount: 7 },
            // A checkout may lie below a directory of such a name.
            { name: 'parts', test: /^(?!.*node_modules).*\/(web|client|src)\//, minShareCount: 5 },
          ],
        },
      },
    },
  },
})
