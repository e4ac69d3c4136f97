// Every dialog of the console in a real browser: with assistive technology, by keyboard, and with names of any length.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addSource, startAptUpstream, type AptUpstream } from '../gate/apt-upstream.ts'
import { readAdvisories } from '../gate/read-advisories.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../service.ts'
import { violationsIn, widthOver } from './axe.ts'
import { openBrowser, seat, signIn, titled, type Person, type Seat } from './browser.ts'

const UNA: Person = { username: 'una', password: 'Console-pass-1' }
const LONG = `long${'x'.repeat(190)}`
const WORD = 'w'.repeat(300)
/** A right-to-left override, which would show the rest of a line in reverse. */
const TURNED = 'invoice\u202egnp.exe'

let browser: Browser
let service: Service
let upstream: AptUpstream
let advisories: string
let admin: Seat
const seats: Seat[] = []

async function place(person: Person, path = '/'): Promise<Seat> {
  const taken = await seat(browser, service.console)
  seats.push(taken)
  await taken.page.goto(path)
  await signIn(taken, person)
  return taken
}

beforeAll(async () => {
  advisories = await mkdtemp(join(tmpdir(), 'console-advisories-'))
  const about = { ecosystem: 'Ubuntu:24.04:LTS', fixed: null, severity: 'high' as const }
  await writeAdvisories(
    advisories,
    ['held-one', 'held-two', LONG].map((name, i) => ({
      ...about,
      package: name,
      id: `USN-${i}-1`,
      cve: `CVE-2026-3${i}00`,
    })),
  )
  ;[browser, service, upstream] = await Promise.all([
    openBrowser(),
    startService({ env: { SVC_OSV_DIR: advisories, OUTBOUND_ALLOWED_HOSTS: '127.0.0.1' } }),
    startAptUpstream(),
  ])
  await readAdvisories(service)
  await service.call('POST', '/auth/users', { ...UNA, role: 'maintainer', full_name: `Una ${TURNED}` })
  await service.call('POST', '/auth/api-tokens', { name: 'ci', role: 'uploader' })
  const described = { fields: { Description: `${TURNED} ${WORD}` } }
  for (const name of ['held-one', 'held-two', LONG, 'plain'])
    await service.upload(await buildDeb({ name, ...described }), `${name}.deb`, { distribution: 'noble' })
  await service.call('POST', '/security/packages/held-two/1.0-1/decide', {
    ...{ decision: 'approve', justification: `${TURNED} ${WORD}` },
  })
  await upstream.offer([{ name: 'offered' }])
  await addSource(service, upstream, 'Vendor tools', 'noble')
  for (const repository of [
    { name: 'ours', kind: 'hosted' },
    { name: 'world', kind: 'proxy', upstream: { url: upstream.url, authorization: 'Bearer of-the-test' } },
  ])
    await service.call('POST', '/registries', { format: 'npm', ...repository })
  await service.call('POST', '/registries/npm/ours/claims', { pattern: '@acme/*' })
  await service.call('POST', '/backup')
  admin = await place(ADMIN)
  await titled(admin.page, 'Overview')
})
afterAll(async () => {
  await browser?.close()
  await service?.stop()
  await upstream?.close()
  await rm(advisories, { recursive: true, force: true })
  await removeTemporary()
})

type Open = (page: Page) => Promise<unknown>
const press =
  (name: string | RegExp): Open =>
  (page) =>
    page
      .getByRole('button', { name, exact: typeof name === 'string' })
      .first()
      .click()
const choose =
  (button: string, item: string): Open =>
  async (page) => {
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }

/** Each dialog by the page that has it, and what opens it. A new dialog is added here. */
const DIALOGS: [string, string, Open][] = [
  ['the palette', '/', press(/^Search/)],
  ['keys of the review', '/review', press(/^Keys/)],
  [
    'a decision about several',
    '/review',
    async (page) => {
      await page.getByRole('checkbox', { name: /Select held-one/ }).check()
      await page.locator('.review .bar').getByRole('button', { name: 'Reject' }).click()
      await page.getByRole('dialog').getByText('would be decided').waitFor()
    },
  ],
  ['promotion', '/packages/plain', press('Promote')],
  ['quarantine', '/packages/plain', press('Quarantine')],
  ['deletion', '/packages/plain', press('Delete')],
  ['deletion of a long name', `/packages/${LONG}`, press('Delete')],
  ['withdrawal of a decision', '/decisions', press(/^Withdraw the decision about held-two/)],
  ['a copy of a distribution', '/distributions/noble', press('Migrate')],
  ['a new source', '/import', press('New source')],
  ['a source', '/import', press('Change Vendor tools')],
  ['deletion of a source', '/import', press('Delete Vendor tools')],
  ['an import', '/import?q=offered', press(/^Import offered/)],
  ['a new mirror', '/import?tab=mirrors', press('Mirror a source')],
  ['the daily run of mirrors', '/import?tab=mirrors', press('Change the daily run')],
  ['an entry of the audit log', '/audit', press(/^Details of entry/)],
  ['the log of a task', '/tasks', press(/^Log of task/)],
  ['a new user', '/users', press('New user')],
  ['a user', '/users', choose('Change una', 'Role, name, state')],
  ['a new password', '/users', choose('Change una', 'New password')],
  ['deletion of a user', '/users', choose('Change una', 'Delete')],
  ['a new token', '/tokens', press('New token')],
  [
    'a token that was made',
    '/tokens',
    async (page) => {
      await press('New token')(page)
      await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill(`made-${Date.now()}`)
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
      await page.getByRole('button', { name: 'I have stored it' }).waitFor()
    },
  ],
  ['revocation of a token', '/tokens', press('Revoke ci')],
  ['deletion of a backup', '/backup', press(/^Delete /)],
  ['a new machine', '/machines', press('New machine')],
  ['a new enrolment', '/machines', press('New enrolment')],
  ['a new repository', '/repositories', press('New repository')],
  [
    'a new proxy',
    '/repositories',
    async (page) => {
      await press('New repository')(page)
      await page.getByRole('combobox', { name: 'Kind' }).click()
      await page.getByRole('option', { name: /^Proxy/ }).click()
      await page.getByLabel('Upstream').focus()
    },
  ],
  ['the end of a claim', '/repositories/npm/ours', press('Give up @acme/*')],
  ['deletion of a repository', '/repositories/npm/world', press('Delete')],
]

describe('dialogs', () => {
  test.each(DIALOGS)(
    '%s can be used with assistive technology and by keyboard, light and dark',
    async (_, path, open) => {
      const { page } = admin
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(path)
      await page.locator('#page-title').waitFor()
      await open(page)
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      await expect.poll(() => dialog.locator(':focus').count()).toBe(1)
      await expect.poll(() => dialog.locator('[aria-busy=true]').count()).toBe(0)
      expect(await violationsIn(page)).toEqual([])
      // Options of a field stay as wide as they were.
      if ((await page.getByRole('listbox').count()) > 0) await page.keyboard.press('Escape')
      await page.setViewportSize({ width: 390, height: 900 })
      await expect.poll(() => widthOver(page), { timeout: 20_000 }).toBeLessThanOrEqual(0)
      await page.keyboard.press('Escape')
      await expect.poll(() => dialog.count(), { timeout: 20_000 }).toBe(0)
    },
  )

  test('the focus returns to what opened a dialog, and single keys work after clicks', async () => {
    const { page } = admin
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto('/review')
    const keys = page.getByRole('button', { name: /^Keys/ })
    await keys.click()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => keys.evaluate((one) => one.matches(':focus'))).toBe(true)
    const places = [
      page.getByRole('checkbox').nth(1),
      page.getByText(/holds? it,/).first(),
      page.locator('#page-title'),
    ]
    for (const clicked of places) {
      await clicked.click()
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    }
  })

  test('the first stop of the Tab key leads past the navigation', async () => {
    const { page } = admin
    await page.goto('/packages')
    await titled(page, 'Packages')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('Tab')
    const skip = page.getByRole('link', { name: 'Skip to content' })
    expect(await skip.evaluate((one) => one.matches(':focus') && one.getBoundingClientRect().top >= 0)).toBe(true)
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('page-title')
    expect(new URL(page.url()).pathname).toBe('/packages')
  })
})

describe('names of any length, and characters that nobody sees', () => {
  const ITEM = `/review?item=${encodeURIComponent(`${LONG} 1.0-1 amd64 noble`)}`
  const PLACES: [string, 'button' | 'link', string][] = [
    ['/packages', 'link', LONG],
    [`/packages/${LONG}`, 'button', 'Delete'],
    [ITEM, 'button', 'Approve'],
    ['/decisions', 'button', 'Withdraw the decision about held-two 1.0-1'],
    ['/users', 'button', 'Change una'],
    ['/audit', 'link', 'Export as JSON'],
  ]

  test.each(PLACES)('%s is no wider than its window, and its controls are in reach', async (path, role, name) => {
    const { page } = admin
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(path)
      await page.locator('#page-title').waitFor()
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
      await expect.poll(() => widthOver(page), { timeout: 20_000 }).toBeLessThanOrEqual(0)
      if (width === 390) continue
      const box = await page.getByRole(role, { name, exact: true }).first().boundingBox()
      expect(box && [box.x >= 0, box.x + box.width <= width, box.width > 20]).toEqual([true, true, true])
    }
  })

  test.each(['/packages/plain', '/packages', '/decisions', '/users', '/audit'])(
    'on %s the override of a direction is a number, and turns nothing',
    async (path) => {
      const { page } = admin
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(path)
      await page.locator('.unseen').first().waitFor()
      expect(await page.locator('.unseen').first().innerText()).toBe('U+202E')
      expect(await page.locator('main').innerText()).not.toContain('\u202e')
    },
  )
})

test('two people who look at one package see each other, and the sign goes by itself', async () => {
  const item = `/review?item=${encodeURIComponent('held-one 1.0-1 amd64 noble')}`
  const { page, context } = await place(UNA, item)
  await page.waitForResponse(/\/onlookers/)
  const sent = admin.page.waitForResponse(/\/onlookers/)
  await admin.page.goto(item)
  expect((await (await sent).json()) as object).toEqual({ others: ['una'] })
  await admin.page.getByText('una looks at it too').waitFor()
  await page.getByText('admin looks at it too').waitFor()
  await context.close()
  await admin.page.getByText('una looks at it too').waitFor({ state: 'detached' })
})

test('nothing broke the content policy, and no script failed, in any of these', () => {
  expect(seats).toHaveLength(2)
  expect(seats.flatMap(({ faults }) => faults)).toEqual([])
})
