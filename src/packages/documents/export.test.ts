import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { danglingIn } from '../../../test/schemas/schemas.ts'
import { watchTurns } from '../../../test/turns.mjs'
import { dependsOn, namesIn, openDocuments, textOf, type Documents } from './documents.fixture.ts'
import { decide, finding, insertRecord, need } from './fixture.ts'

/** The event loop may be blocked this long; work is cut into slices of 10 ms. */
const MOST_HELD_MS = 250

let documents: Documents
beforeAll(async () => void (documents = await openDocuments()))
afterAll(() => documents.close())
beforeEach(() => documents.clear())

const insert = (sample: Parameters<typeof insertRecord>[1]) => insertRecord(documents.db, sample)

describe('the same content', () => {
  const fill = async () => {
    await insert({
      name: 'b',
      requirements: [need('a')],
      findings: [finding('CVE-2026-0002'), finding('CVE-2026-0001', { accepted_by_decision: true })],
    })
    const row = await insert({
      name: 'a',
      license: 'GPLv2+',
      findings: [finding('CVE-2026-0001', { accepted_by_decision: true })],
    })
    await decide(documents.db, row, 'accept_risk', ['CVE-2026-0001'])
  }
  const all = async (version?: string) => {
    const sbom = documents.make(version)
    const single = { name: 'b', version: '1.0-1' }
    const made = [
      await sbom.ofRepository(undefined, 'cyclonedx'),
      await sbom.ofRepository(undefined, 'spdx'),
      await sbom.ofPackage(single, 'cyclonedx'),
      await sbom.ofPackage(single, 'spdx'),
      await sbom.sarifOfRepository(undefined),
      await sbom.openvex(undefined),
    ]
    return Promise.all(made.map(textOf))
  }

  test('gives the same bytes, also in a new database', async () => {
    await fill()
    const first = await all()
    expect(await all()).toEqual(first)
    await documents.clear()
    await insert({ name: 'aside' })
    await documents.db.deleteFrom('packages').execute()
    await fill()
    expect(await all()).toEqual(first)
  })

  test('gives another document once it changes', async () => {
    await fill()
    const id = (text: string) => /urn:uuid:[0-9a-f-]+|spdx\/[^"]+/.exec(text)?.[0]
    const before = (await all()).map(id)
    await insert({ name: 'c' })
    const after = (await all()).map(id)
    expect(after[0]).not.toBe(before[0])
    expect(after[1]).not.toBe(before[1])
    expect([after[2], after[3], after[5]]).toEqual([before[2], before[3], before[5]])
  })
})

describe('an export of many', () => {
  test('lists each record once while others are added and removed', async () => {
    const name = (n: number) => `n${String(n).padStart(4, '0')}`
    await documents.db.transaction().execute(async (tx) => {
      for (let n = 0; n < 405; n++)
        await insertRecord(tx, {
          name: name(n),
          requirements: [need(name((n + 1) % 405))],
          ...(n % 3 === 0 ? { findings: [finding('CVE-2026-0001'), finding('CVE-2026-0002')] } : {}),
        })
    })
    const bom = await documents.ofRepository('cyclonedx')
    expect(namesIn(bom)).toEqual(Array.from({ length: 405 }, (_, n) => name(n)))
    expect(bom.vulnerabilities).toHaveLength(270)
    expect(bom.dependencies.every((each: any) => each.dependsOn.length === 1)).toBe(true)

    let turns = 0
    let isMaking = true
    const takeTurn = () => {
      turns++
      if (isMaking) setImmediate(takeTurn)
    }
    setImmediate(takeTurn)
    await textOf(await documents.make().sarifOfRepository(undefined))
    isMaking = false
    expect(turns, 'turns that other requests had meanwhile').toBeGreaterThan(5)

    // After the components are written, one record is deleted, one is added, and one begins to require the new one.
    const pieces = (await documents.make().ofRepository(undefined, 'cyclonedx')).content[Symbol.asyncIterator]()
    let text = ''
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      const before = text.includes('"dependencies":')
      text += next.value
      if (before || !text.includes('"dependencies":')) continue
      await documents.db.deleteFrom('packages').where('name', '=', name(404)).execute()
      await insert({ name: 'zz-late', findings: [finding('CVE-2026-0009')] })
    }
    const changed = JSON.parse(text) as object
    expect([documents.problemsOf('cyclonedx', changed), danglingIn('cyclonedx', changed)]).toEqual([[], []])
    expect(text).not.toContain('zz-late')
  })

  test('reads many findings of one package in pages', async () => {
    const many = Array.from({ length: 603 }, (_, n) => finding(`CVE-2026-${String(n).padStart(5, '0')}`))
    await insert({ name: 'riddled', findings: many })
    const ids = (await documents.ofPackage('cyclonedx', 'riddled')).vulnerabilities.map((each: any) => each.id)
    expect(ids).toEqual(many.map((each) => each.id))
    const log = await documents.valid('sarif', await documents.make().sarifOfRepository(undefined))
    expect(log.runs[0].tool.driver.rules.map((rule: any) => rule.id)).toEqual(ids)
  })

  test('of a package with 16,384 requirements does not block the event loop', async () => {
    const requirements = Array.from({ length: 16_384 }, (_, n) =>
      need(n % 50 === 0 ? `/usr/bin/tool-${n}` : `part-${n}`),
    )
    await insert({ name: 'demanding', requirements, files: ['usr/bin/tool-50', 'usr/bin/tool-100'] })
    for (const n of [1, 2, 3]) await insert({ name: `part-${n}` })

    let longestMs = 0
    const unwatch = watchTurns(({ cpuMs }) => (longestMs = Math.max(longestMs, cpuMs)))
    const one = await textOf(await documents.make().ofPackage({ name: 'demanding', version: '1.0-1' }, 'cyclonedx'))
    const all = await textOf(await documents.make().ofRepository(undefined, 'spdx'))
    unwatch()
    expect(one).toContain('"name":"/usr/bin/tool-0"')
    expect(one).not.toContain('"name":"/usr/bin/tool-50"')
    expect(all).toContain('"name":"demanding"')
    expect(longestMs, 'ms of processor time of a turn of the event loop').toBeLessThan(MOST_HELD_MS)
  })

  test('begins like its preview', async () => {
    for (let n = 0; n < 25; n++)
      await insert({
        name: `p${10 + n}`,
        findings: [finding('CVE-2026-0001')],
        requirements: [need('p34'), need('p10')],
      })
    const { total_packages: total, preview } = await documents.make().preview('jammy', 'cyclonedx')
    expect([documents.problemsOf('cyclonedx', preview), danglingIn('cyclonedx', preview)]).toEqual([[], []])
    expect([total, namesIn(preview)]).toEqual([25, Array.from({ length: 10 }, (_, n) => `p${10 + n}`)])
    expect(preview['vulnerabilities']).toHaveLength(10)
    expect(dependsOn(preview, 'p11')).toEqual(['jammy/p10/1.0-1/amd64'])
  })
})
