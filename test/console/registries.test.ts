// Proxies in a real browser: made, asked, curated, and kept away from names of ours, with an upstream that counts its requests.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startNpmRegistry, type NpmRegistry } from '../fakes/npm-registry.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../service.ts'
import { openBrowser, seat, signIn, titled, type Person, type Seat } from './browser.ts'

const READER: Person = { username: 'rita', password: 'Console-pass-1' }
const CREDENTIAL = 'Bearer of-the-upstream'
const DAY_MS = 86_400_000

let browser: Browser
let service: Service
let upstream: NpmRegistry
let page: Page
const seats: Seat[] = []

async function signedIn(person: Person, path: string): Promise<Page> {
  const taken = await seat(browser, service.console)
  seats.push(taken)
  await taken.page.goto(path)
  await signIn(taken, person)
  return taken.page
}

const asked = (path: string) =>
  fetch(`${service.api}/npm/world/${path}`, { headers: { authorization: `Bearer ${service.token}` } })
const versionsOf = async (name: string) => {
  const answer = await asked(name)
  return answer.ok ? Object.keys(((await answer.json()) as { versions: object }).versions) : answer.status
}

beforeAll(async () => {
  ;[browser, service, upstream] = await Promise.all([openBrowser(), startService(), startNpmRegistry()])
  await service.call('POST', '/auth/users', { ...READER, role: 'reader' })
  const time = new Date(Date.now() - DAY_MS).toISOString()
  for (const name of ['young', 'other', 'aged', '@acme/lib']) await upstream.put(name, { '1.0.0': { time } })
})
afterAll(async () => {
  await browser?.close()
  await service?.stop()
  await upstream?.close()
  await removeTemporary()
})

test('a proxy is made with a credential, which nobody sees again, and asks its upstream with it', async () => {
  page = await signedIn(ADMIN, '/repositories')
  await page.getByRole('button', { name: 'New repository' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'Kind' }).click()
  await page.getByRole('option', { name: /^Proxy/ }).click()
  await dialog.getByLabel('Name').fill('world')
  await dialog.getByLabel('Upstream').fill(`${upstream.url}/`)
  await dialog.locator('input[type=password]').fill(CREDENTIAL)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name: 'npm/world' }).click()
  await titled(page, 'npm/world')
  await page.getByText(`A proxy of ${upstream.url} with 0 packages, made by admin`).waitFor()
  await page.getByText('One is stored, and nobody can read it back').waitFor()
  expect(await page.content()).not.toContain(CREDENTIAL)
  expect(await versionsOf('young')).toEqual([])
  expect(upstream.credentials).toEqual([CREDENTIAL])
})

test('what clients asked for is shown with its reason, and asked for; approved in the review, clients get it', async () => {
  expect((await asked('young/-/young-1.0.0.tgz')).status).toBe(403)
  await page.reload()
  const row = page.getByRole('row').filter({ hasText: 'young 1.0.0' })
  await row.getByText('it is younger than 7 days').waitFor()
  await row.getByText(/^once, last .* by admin$/).waitFor()
  await row.getByRole('button', { name: 'Ask for young 1.0.0' }).click()
  await row.getByText('in review').waitFor()
  await row.getByRole('link', { name: 'young 1.0.0' }).click()
  await titled(page, 'young')
  await page.goto('/review')
  await page.getByRole('article', { name: /^young/ }).waitFor()
  await page.keyboard.press('a')
  await page.getByLabel('Reason').fill('read it')
  await page.keyboard.press('Control+Enter')
  await expect.poll(() => versionsOf('young')).toEqual(['1.0.0'])
  expect((await asked('young/-/young-1.0.0.tgz')).status).toBe(200)
})

test('a version is asked for by its name; one that there is not is an error that stays readable', async () => {
  await page.goto('/repositories/npm/world')
  await page.getByText('Nothing is withheld').waitFor()
  const ask = async (name: string) => {
    await page.getByRole('textbox', { name: 'Name' }).fill(name)
    await page.getByRole('textbox', { name: 'Version', exact: true }).fill('1.0.0')
    await page.getByRole('button', { name: 'Ask for it' }).click()
  }
  await ask('never-was')
  await page.getByRole('alert').getByText('never-was').waitFor()
  await ask('other')
  await page.getByRole('status').filter({ hasText: 'other 1.0.0 is here' }).waitFor()
  await page.getByRole('row').filter({ hasText: 'other 1.0.0' }).getByText('in review').waitFor()
})

test('rules are changed one by one, and count for the next request', async () => {
  expect(await versionsOf('aged')).toEqual([])
  await page.getByLabel('Days that a version must be old').fill('0')
  await page.getByRole('combobox', { name: 'Provenance' }).click()
  await page.getByRole('option', { name: 'do not look at it' }).click()
  // Meanwhile somebody else changes another rule.
  await service.call('PATCH', '/registries/npm/world', { curation: { explain_holds: false } })
  const sent = page.waitForRequest((request) => request.method() === 'PATCH')
  await page.getByRole('button', { name: 'Save' }).click()
  expect((await sent).postDataJSON()).toEqual({ curation: { min_age_days: 0, provenance: 'allow' } })
  await page.getByText('Saved. It counts for the next request.').waitFor()
  await expect.poll(() => page.getByRole('switch', { name: 'Say what is held' }).isChecked()).toBe(false)
  expect(await versionsOf('aged')).toEqual(['1.0.0'])
  await page.getByRole('switch', { name: 'Ask without a credential' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The header Authorization, where the upstream asks for one').waitFor()
  expect((await service.call('GET', '/registries/npm/world')).body.upstream).toEqual({
    url: upstream.url,
    has_credential: false,
  })
})

test('a claimed name is never asked for upstream, until the claim is given up', async () => {
  await service.call('POST', '/registries', { format: 'npm', name: 'ours', kind: 'hosted' })
  await page.goto('/repositories/npm/ours')
  await page.getByText('A hosted repository with 0 packages, made by').waitFor()
  await page.getByRole('textbox', { name: 'Name' }).fill('@acme/*')
  await page.getByRole('button', { name: 'Claim', exact: true }).click()
  await page.getByRole('cell', { name: '@acme/*', exact: true }).waitFor()
  expect(await versionsOf('@acme%2flib')).toBe(404)
  expect(upstream.asked).not.toContain('@acme/lib')
  await page.getByRole('button', { name: 'Give up @acme/*' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Give up' }).click()
  await page.getByText('No name is claimed').waitFor()
  expect(await versionsOf('@acme%2flib')).toEqual(['1.0.0'])
})

test('a group leads to its members; a repository that is gone is not asked for again', async () => {
  const group = { format: 'npm', name: 'all', kind: 'group', members: ['ours', 'world'] }
  await service.call('POST', '/registries', group)
  await page.goto('/repositories/npm/all')
  const members = page.getByRole('listitem').filter({ hasText: 'npm/' })
  await expect.poll(() => members.allInnerTexts()).toEqual(['npm/ours', 'npm/world'])
  const missing: string[] = []
  page.on('response', (answer) => {
    if (answer.status() === 404) missing.push(answer.url())
  })
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await titled(page, 'Repositories')
  await page.getByRole('link', { name: 'npm/all' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'npm/world' }).click()
  await titled(page, 'npm/world')
  expect(missing).toEqual([])
})

test('who may change nothing reads the rules, and finds no button', async () => {
  const theirs = await signedIn(READER, '/repositories/npm/world')
  await theirs.getByRole('combobox', { name: 'Denied licences' }).waitFor()
  await theirs.getByText('in review').waitFor()
  for (const name of ['Save', 'Delete', 'Ask for it'])
    expect(await theirs.getByRole('button', { name }).count()).toBe(0)
})

test('nothing broke the content policy, and no script failed, in any of these', () => {
  expect(seats).toHaveLength(2)
  expect(seats.flatMap(({ faults }) => faults)).toEqual([])
})
