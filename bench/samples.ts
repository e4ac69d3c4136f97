// Makes packages like those of a distribution: control data and file lists are as large as in Debian's median package.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FormatId } from '../test/formats.ts'
import { formatOf } from '../src/formats/index.ts'
import { buildApk } from '../test/samples/apk.ts'
import { buildDeb } from '../test/samples/deb.ts'
import { buildRpm } from '../test/samples/rpm.ts'

const SENTENCE = 'reads what the others write and keeps it in order for whoever comes after them'
const pad = (i: number) => String(i).padStart(6, '0')
const nameOf = (i: number) => `bench-${pad(i)}`
const others = (i: number) => [1, 7, 31, 101].map((step) => nameOf((i * step + step) % 1000))
const filesOf = (i: number) =>
  Array.from({ length: 12 }, (_, n) => `usr/share/${nameOf(i)}/part-${n}/data-${(i * 7919 + n) % 1000}.txt`)

/** @param i the same number gives the same bytes @param arch in the format's names */
export async function buildSample(
  format: FormatId,
  i: number,
  arch: string = formatOf(format).architectures['amd64'] ?? '',
): Promise<{ name: string; filename: string; bytes: Buffer }> {
  const name = nameOf(i)
  switch (format) {
    case 'deb':
      return {
        name,
        filename: `${name}_1.${i}-1_${arch}.deb`,
        bytes: await buildDeb({
          name,
          arch,
          version: `1.${i}-1`,
          fields: {
            Source: `bench-source-${pad(i % 5000)}`,
            Homepage: `https://example.org/${name}`,
            Depends: ['libc6 (>= 2.34)', ...others(i)].join(', '),
            Recommends: `${name}-doc, ${name}-common (>= 1.0)`,
            Description: `number ${i} of many\n It ${SENTENCE}.\n Then it ${SENTENCE}.\n .\n This one ${SENTENCE}.`,
          },
          files: Object.fromEntries(filesOf(i).map((path) => [path, `${path}\n`])),
        }),
      }
    case 'rpm':
      return {
        name,
        filename: `${name}-1.${i}-1.${arch}.rpm`,
        bytes: await buildRpm({
          name,
          version: `1.${i}`,
          arch,
          requires: ['libc.so.6()(64bit)', 'rtld(GNU_HASH)', ...others(i)],
          provides: [`${name} = 1.${i}-1`, `${name}(x86-64) = 1.${i}-1`],
          recommends: [`${name}-doc`],
          files: filesOf(i).map((path) => ({ path: `/${path}`, content: `${path}\n` })),
          changelogs: [1, 2].map((n) => ({
            time: 1_700_000_000 + n * 86_400,
            author: 'Bench <bench@example.org> - 1.0-1',
            text: `- ${SENTENCE} (${n})`,
          })),
        }),
      }
    case 'apk':
      return {
        name,
        filename: `${name}-1.${i}-r0.apk`,
        bytes: buildApk({
          name,
          version: `1.${i}-r0`,
          arch,
          info: {
            pkgdesc: `${SENTENCE}, number ${i}`,
            url: `https://example.org/${name}`,
            depend: ['so:libc.musl-x86_64.so.1', ...others(i)],
            provides: [`cmd:${name}=1.${i}-r0`],
          },
          files: Object.fromEntries(filesOf(i).map((path) => [path, `${path}\n`])),
        }),
      }
  }
}

/** Writes samples `from` to `from + count - 1`. @returns their paths */
export async function writeSamples(
  format: FormatId,
  directory: string,
  from: number,
  count: number,
  arch?: string,
): Promise<string[]> {
  await mkdir(directory, { recursive: true })
  const paths: string[] = []
  for (let i = from; i < from + count; i++) {
    const { filename, bytes } = await buildSample(format, i, arch)
    await writeFile(join(directory, filename), bytes)
    paths.push(join(directory, filename))
  }
  return paths
}
