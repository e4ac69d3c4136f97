// Cases in which the console could mislead, in a real browser: an approval without an end, two people at once, empty lists.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdvisories } from '../gate/read-advisories.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../service.ts'
import { openBrowser, seat, signIn, titled, type Person, type Seat } from './browser.ts'

const PASSWORD = 'Console-pass-1'
const MARIA: Person = { username: 'maria', password: PASSWORD }
const MAX: Person = { username: 'max', password: PASSWORD }
const ADA: Person = { username: 'ada', password: PASSWORD }
/** With an override of the direction, which would show what follows in reverse. */
const LONG = `\u202e${'w'.repeat(180)}`
const HELD = ['dated', 'raced', 'late', 'one', 'two', 'three', 'rest']

let browser: Browser
let service: Service
let advisories: string
let asMax: Record<string, string>
const seats: Seat[] = []

async function place(person: Person, path: string, before?: (page: Page) => Promise<unknown>): Promise<Page> {
  const taken = await seat(browser, service.console)
  seats.push(taken)
  await before?.(taken.page)
  await taken.page.goto(path)
  await signIn(taken, person)
  return taken.page
}

const decide = (name: string, body: object) =>
  service.call('POST', `/security/packages/${name}/1.0-1/decide`, { distribution: 'noble', ...body }, asMax)
const statusOf = async (name: string) =>
  (await service.call('GET', `/artifacts/${name}`)).body.manifest_status as string
const itemOf = (name: string) => `/review?item=${encodeURIComponent(`${name} 1.0-1 amd64 noble`)}`
const focused = (page: Page) => page.evaluate<string>('document.activeElement.id')

beforeAll(async () => {
  advisories = await mkdtemp(join(tmpdir(), 'console-advisories-'))
  await writeAdvisories(
    advisories,
    HELD.map((name, i) => ({
      ...{ ecosystem: 'Ubuntu:24.04:LTS', fixed: null, severity: 'high' as const, package: name },
      ...{ id: `USN-70${i}-1`, cve: `CVE-2026-70${i}0` },
    })),
  )
  ;[browser, service] = await Promise.all([openBrowser(), startService({ env: { SVC_OSV_DIR: advisories } })])
  await readAdvisories(service)
  for (const [person, role] of [
    [MARIA, 'maintainer'],
    [MAX, 'maintainer'],
    [ADA, 'admin'],
  ] as const)
    await service.call('POST', '/auth/users', { ...person, role })
  const { body } = await service.call('POST', '/auth/token', MAX, {})
  asMax = { authorization: `Bearer ${body.access_token}` }
  for (const name of [...HELD, 'plain'])
    await service.upload(await buildDeb({ name }), `${name}.deb`, { distribution: 'noble' })
})
afterAll(async () => {
  await browser?.close()
  await service?.stop()
  await rm(advisories, { recursive: true, force: true })
  await removeTemporary()
})

test('an approval until a day needs a day that is still to come; what the form shows is what is decided', async () => {
  const page = await place(MARIA, itemOf('dated'))
  const form = page.getByRole('article').locator('form')
  const approve = form.getByRole('button', { name: 'Approve' })
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await form.getByLabel('Reason').fill('until the vendor has a fix')
  await form.locator('label', { hasText: /^7 d$/ }).click()
  await form.locator('label', { hasText: /^date$/ }).click()
  await form.getByText('Choose the last day').waitFor()
  expect(await approve.isDisabled()).toBe(true)
  await form.getByLabel('Last day').fill('2020-01-01')
  await form.getByText('This day is not in the future').waitFor()
  expect(await approve.isDisabled()).toBe(true)
  await form.getByLabel('Reason').press('Control+Enter')
  const day = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10)
  await form.getByLabel('Last day').fill(day)
  // Cancel and open again: the same end is shown.
  await form.getByRole('button', { name: 'Cancel' }).click()
  expect(await statusOf('dated')).toBe('pending_review')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  expect(await form.getByLabel('Last day').inputValue()).toBe(day)
  await form.getByLabel('Reason').press('Control+Enter')
  await expect.poll(() => statusOf('dated')).toBe('published')
  const { body } = await service.call('GET', '/security/packages/dated/1.0-1/decision')
  expect(body.decision).toMatchObject({ action: 'exception', expires_at: expect.stringContaining(day.slice(0, 8)) })
  await expect.poll(() => focused(page)).toBe('open-record')
})

describe('two reviewers of one package', () => {
  test('who still writes sees that somebody else decided, keeps the text, and can pull the package', async () => {
    const page = await place(MARIA, itemOf('raced'))
    await page.getByRole('button', { name: 'Reject', exact: true }).click()
    await page.getByLabel('Reason').fill('exploited in the wild, INC-9')
    expect((await decide('raced', { action: 'accept_risk', justification: 'not reachable' })).status).toBe(200)
    await page.getByText(/^Approved by max, .* ago: “not reachable”\. Clients get it now\./).waitFor()
    expect(await page.getByLabel('Your reason').inputValue()).toBe('exploited in the wild, INC-9')
    await page.getByRole('listitem').filter({ hasText: 'raced' }).getByText('decided').waitFor()
    await page.getByRole('button', { name: 'Quarantine it' }).click()
    await expect.poll(() => statusOf('raced')).toBe('quarantined')
    const { body } = await service.call('GET', '/artifacts/audit/logs?action=QUARANTINE&package=raced')
    expect(body.items[0]).toMatchObject({ user: 'maria', detail: 'exploited in the wild, INC-9' })
  })

  test('who sends too late is told the same, and decides again after withdrawing the other decision', async () => {
    const page = await place(MARIA, itemOf('late'), (page) =>
      page.route('**/dashboard/events', (route) => route.abort()),
    )
    await page.getByRole('button', { name: 'Reject', exact: true }).click()
    await page.getByLabel('Reason').fill('exploited, INC-10')
    await decide('late', { action: 'accept_risk', justification: 'not reachable' })
    await page.getByLabel('Reason').press('Control+Enter')
    await page.getByText('Somebody was faster').waitFor()
    expect(await page.getByLabel('Your reason').inputValue()).toBe('exploited, INC-10')
    await page.getByRole('button', { name: /^Withdraw that decision/ }).click()
    const form = page.getByRole('article').locator('form')
    expect(await form.getByLabel('Reason').inputValue()).toBe('exploited, INC-10')
    await form.getByRole('button', { name: 'Reject' }).click()
    await expect.poll(() => statusOf('late')).toBe('rejected')
  })

  test('the outcome of a decision about several names each, also when one failed', async () => {
    const page = await place(MARIA, '/review')
    for (const name of ['one', 'two', 'three'])
      await page.getByRole('checkbox', { name: `Select ${name} 1.0-1 noble` }).check()
    await page.getByRole('status').getByRole('button', { name: 'Approve' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('3 packages would be decided').waitFor()
    await decide('two', { action: 'accept_risk', justification: 'not reachable' })
    await dialog.getByLabel('Reason for all').fill('together')
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText('2 packages are decided, 1 failed').waitFor()
    await dialog.getByRole('heading', { name: 'Approve 3 packages' }).waitFor()
    const rows = (await dialog.getByRole('row').allInnerTexts()).slice(1)
    expect(rows.map((row) => row.split('\t')[0])).toEqual(['two 1.0-1 noble', 'one 1.0-1 noble', 'three 1.0-1 noble'])
    expect(rows[0]).toContain('two 1.0-1 in noble is published')
  })
})

test('two administrators: edits stay, both values are shown, and saving says so', async () => {
  const page = await place(ADA, '/settings/retention')
  const days = page.getByLabel('Audit days', { exact: true })
  await days.fill('130')
  await service.call('PATCH', '/settings', { retention: { audit_days: 121, history_days: 40 } })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').getByText('admin changed the settings meanwhile').waitFor()
  expect(await days.inputValue()).toBe('130')
  expect(await page.getByLabel('History days', { exact: true }).inputValue()).toBe('40')
  await page.getByText('Theirs: 121').waitFor()
  const stored = async () => (await service.call('GET', '/settings')).body.retention.audit_days
  expect(await stored()).toBe(121)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. It is in force.').waitFor()
  expect(await stored()).toBe(130)
})

test('two administrators and one account: the second is told what it is now, and nothing is saved before', async () => {
  const page = await place(ADA, '/users')
  await page.getByRole('button', { name: 'Change max' }).click()
  await page.getByRole('menuitem', { name: 'Role, name, state' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Full name').fill('Max the Second')
  await service.call('PATCH', '/auth/users/max', { email: 'max@example.org', full_name: LONG })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('changed this while the form was open').waitFor()
  await dialog.getByText('Email is now max@example.org').waitFor()
  const told = dialog.getByText(/^Full name is now U\+202E/)
  expect(await told.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0)
  expect(await dialog.getByLabel('Full name').inputValue()).toBe('Max the Second')
  const stored = async () => (await service.call('GET', '/auth/users/max')).body
  expect(await stored()).toMatchObject({ full_name: LONG, email: 'max@example.org' })
  await dialog.getByRole('button', { name: 'Load what it is now' }).click()
  await expect.poll(() => dialog.getByLabel('Mail address').inputValue()).toBe('max@example.org')
  await dialog.getByLabel('Full name').fill('Max the Second')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect.poll(async () => (await stored()).full_name).toBe('Max the Second')
  expect((await stored()).email).toBe('max@example.org')
})

test('two people and one mirror: the second is told, also after the page was read again, and loads what it is now', async () => {
  const source = { type: 'apt', distribution: 'noble', target: 'noble', url: 'https://packages.example.org' }
  const { body } = await service.call('POST', '/import/sources', { ...source, name: 'Vendor', allow_unsigned: true })
  const put = (names: string[]) => service.call('PUT', `/import/mirror/sources/${body.id}`, { names })
  expect((await put(['one'])).status).toBe(200)
  const page = await place(MARIA, `/import?tab=mirrors&source=${body.id}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  const dialog = page.getByRole('dialog')
  const names = dialog.getByLabel('Names', { exact: true })
  await names.fill('mine')
  expect((await put(['one', 'two'])).status).toBe(200)
  const reads: string[] = []
  page.on('response', (answer) => reads.push(answer.url()))
  // Returning to a tab reads what is older than ten seconds.
  await expect
    .poll(async () => {
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))")
      return reads.some((url) => url.endsWith(`/import/mirror/sources/${body.id}`))
    })
    .toBe(true)
  const save = dialog.getByRole('button', { name: 'Save' })
  await save.click()
  await dialog.getByRole('alert').getByText('admin changed this while the form was open').waitFor()
  expect(await names.inputValue()).toBe('mine')
  await dialog.getByRole('button', { name: 'Load what it is now' }).click()
  await expect.poll(() => names.inputValue()).toMatch(/^one\s+two$/)
  await save.click()
  await dialog.waitFor({ state: 'detached' })
})

describe('what a list says', () => {
  test.each([
    ['/review?page=99', 'rest'],
    ['/packages?page=99', 'plain'],
    ['/vulnerabilities?page=99', 'CVE-2026-7060'],
    ['/decisions?page=99&show=all', 'dated'],
    ['/audit?page=99', 'upload'],
  ])('%s is beyond the end: the last page is shown', async (path, row) => {
    const page = await place(ADMIN, path)
    await page.getByText(row).first().waitFor()
    await expect.poll(() => new URL(page.url()).searchParams.get('page')).toBeNull()
  })

  test('an advisory is found by the id that its distribution gave it', async () => {
    const page = await place(MARIA, '/')
    await titled(page, 'Overview')
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Package, CVE or page').fill('usn-706')
    await page.keyboard.press('Enter')
    await titled(page, 'Vulnerabilities')
    await page.getByRole('row').filter({ hasText: 'USN-706-1' }).getByRole('link', { name: 'rest' }).waitFor()
  })

  test('sources that were never read are not called free of updates', async () => {
    const page = await place(MARIA, '/import?tab=updates')
    await page.getByText('No security source was read yet').waitFor()
    expect(await page.getByText('No newer fixes').count()).toBe(0)
  })

  test('a package that is on its way is not shown as the one before', async () => {
    const page = await place(MARIA, '/packages?q=plain')
    await page.getByRole('link', { name: 'plain', exact: true }).click()
    await titled(page, 'plain')
    const asked = new Promise<Route>((resolve) => void page.route('**/api/v1/artifacts/rest', resolve))
    await page.keyboard.press('/')
    await page.getByPlaceholder('Package, CVE or page').fill('rest')
    await page
      .getByRole('dialog')
      .getByText(/, noble/)
      .waitFor()
    await page.keyboard.press('Enter')
    const question = await asked
    await expect.poll(() => new URL(page.url()).pathname).toBe('/packages/rest')
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(0)
    await question.continue()
    await titled(page, 'rest')
  })
})

test('Copy works where the browser has no clipboard of its own, as over plain HTTP', async () => {
  const without = 'Object.defineProperty(navigator, "clipboard", { value: undefined })'
  const page = await place(MARIA, '/packages/plain', (page) => page.addInitScript(without))
  const line = await page.getByLabel('Install with apt', { exact: true }).innerText()
  await page.getByRole('button', { name: 'Copy: Install with apt' }).click()
  await page.getByRole('status').getByText('Copied').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Package, CVE or page').press('Control+v')
  expect(await page.getByPlaceholder('Package, CVE or page').inputValue()).toBe(line)
})

test('the link past the navigation stays on the page, and another page begins at its title', async () => {
  const page = await place(MARIA, '/packages')
  await titled(page, 'Packages')
  await page.getByText('Skip to content').focus()
  await page.keyboard.press('Enter')
  expect([new URL(page.url()).pathname, await focused(page)]).toEqual(['/packages', 'page-title'])
  await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link', { name: 'Decisions' }).click()
  await titled(page, 'Decisions')
  await expect.poll(() => focused(page)).toBe('page-title')
})

test('nothing broke the content policy, and no script failed, in any of these', () => {
  expect(seats.length).toBeGreaterThan(10)
  expect(seats.flatMap(({ faults }) => faults)).toEqual([])
})
