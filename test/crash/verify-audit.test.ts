// The command `verify-audit` with a database: it reports a changed row although the files are intact.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { verifyAudit } from '../../src/verify-audit.ts'
import { createInstallations, type Installation, type Installations } from './installations.ts'

let installations: Installations
let installation: Installation
beforeAll(async () => {
  installations = await createInstallations('postgres')
  installation = await installations.copy()
})
afterAll(() => installations?.remove())

async function verified(databaseUrl?: string) {
  const said: string[] = []
  const say = (line: string) => void said.push(line)
  const env = { REPOS_DIR: installation.reposDir, DATABASE_URL: databaseUrl }
  const code = await verifyAudit([join(installation.reposDir, 'audit')], env, { print: say, complain: say })
  return { code, said: said.join('\n') }
}

const query = (text: string) =>
  installations.postgres!.query<{ seq: string }>(new URL(installation.databaseUrl).pathname.slice(1), text)

it('entries are as their rows say, and without a database only the files are checked', async () => {
  const compared = await verified(installation.databaseUrl)
  expect(compared).toEqual({ code: 0, said: expect.stringContaining('each entry is as its row in the database says') })
  const files = await verified()
  expect(files.code).toBe(0)
  expect(files.said).not.toContain('row')
})

it.each([
  ['changed', `update audit set username = 'mallory' where seq = 3 returning seq`, 'was changed'],
  ['removed', `delete from audit where seq = 3 returning seq`, 'is gone'],
])('a row that was %s is named, and its files hold', async (_, statement, what) => {
  expect(await query(statement)).toHaveLength(1)
  const { code, said } = await verified(installation.databaseUrl)
  expect([code, said]).toEqual([1, expect.stringMatching(`is entry 3, whose row in the database ${what}`)])
  expect((await verified()).code).toBe(0)
})

it('a database that cannot be reached is told, and the files are checked', async () => {
  const away = new URL(installation.databaseUrl)
  away.port = '1'
  const { code, said } = await verified(away.href)
  expect([code, said]).toEqual([0, expect.stringMatching(/^note: the database was not compared: .*ECONNREFUSED/m)])
})
