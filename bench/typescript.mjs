// Lets Node 20 run the TypeScript of bench/ and src/ directly: node --import ./bench/typescript.mjs bench/<name>.ts
import { readFile } from 'node:fs/promises'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

if (!import.meta.url.endsWith('#hooks')) register(`${import.meta.url}#hooks`)

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const { outputText } = ts.transpileModule(await readFile(fileURLToPath(url), 'utf8'), {
    fileName: fileURLToPath(url),
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, inlineSourceMap: true },
  })
  return { format: 'module', source: outputText, shortCircuit: true }
}
