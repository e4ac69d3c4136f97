// Registers the hooks that load TypeScript; `--import` it.
import { register } from 'node:module'

register('./typescript-hooks.mjs', import.meta.url)
