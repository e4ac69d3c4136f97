// Writes Debian packages of any size to disk without holding one in memory.
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rm, stat, type FileHandle } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import { controlText } from '../samples/deb.ts'
import { buildTar, tarEntry } from '../samples/tar.ts'

const MIB = 1024 * 1024

export interface LargeDeb {
  name: string
  /** sizes of its files in bytes; their content does not compress */
  files: readonly number[]
  /** the content repeats after this many bytes; default 64 MiB, beyond the windows of gzip and zstd */
  distinctBytes?: number
  /** the program that compresses data.tar, with arguments, and its suffix; uncompressed when absent */
  pack?: { command: readonly string[]; suffix: string }
}

/** @returns the size of the package in bytes */
export async function writeLargeDeb(
  path: string,
  { name, files, pack, distinctBytes = 64 * MIB }: LargeDeb,
): Promise<number> {
  const tar = `${path}.data.tar`
  const packed = pack ? `${tar}${pack.suffix}` : tar
  await writeTar(tar, name, files, distinctBytes)
  if (pack) await runInto(packed, pack.command, tar)
  const out = await open(path, 'w')
  try {
    await out.write('!<arch>\n')
    const control = gzipSync(buildTar([{ name: './' }, { name: './control', content: controlText({ name }) }]))
    await member(out, 'debian-binary', 4)
    await out.write('2.0\n')
    await member(out, 'control.tar.gz', control.length)
    await out.write(control.length % 2 ? Buffer.concat([control, Buffer.from('\n')]) : control)
    const { size } = await stat(packed)
    await member(out, `data.tar${pack?.suffix ?? ''}`, size)
    for await (const piece of createReadStream(packed, { highWaterMark: MIB })) await out.write(piece as Buffer)
    if (size % 2) await out.write('\n')
  } finally {
    await out.close()
    await rm(tar, { force: true })
    await rm(packed, { force: true })
  }
  return (await stat(path)).size
}

async function writeTar(path: string, name: string, files: readonly number[], distinctBytes: number): Promise<void> {
  const noise = randomBytes(distinctBytes)
  let at = 0
  const out = await open(path, 'w')
  try {
    await out.write(tarEntry({ name: './' }))
    for (const [index, size] of files.entries()) {
      await out.write(tarEntry({ name: `./usr/share/${name}/part-${index}`, size }))
      for (let left = size; left > 0;) {
        const piece = noise.subarray(at, at + Math.min(left, MIB))
        await out.write(piece)
        left -= piece.length
        at = (at + piece.length) % noise.length
      }
      await out.write(Buffer.alloc((512 - (size % 512)) % 512))
    }
    await out.write(Buffer.alloc(1024))
  } finally {
    await out.close()
  }
}

async function member(out: FileHandle, name: string, size: number): Promise<void> {
  await out.write(
    `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(size).padEnd(10)}\`\n`,
  )
}

async function runInto(target: string, [program = '', ...args]: readonly string[], source: string): Promise<void> {
  const [input, output] = [await open(source), await open(target, 'w')]
  try {
    const child = spawn(program, args, { stdio: [input.fd, output.fd, 'inherit'] })
    const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject))
    if (code !== 0) throw new Error(`${program} ended with ${String(code)}`)
  } finally {
    await input.close()
    await output.close()
  }
}
