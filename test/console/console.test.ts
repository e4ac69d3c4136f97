// The console in a real browser against the built service: what people do there, also by keyboard, and what a page may never do.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eicar, startFakeClamd } from '../fakes/clamd.ts'
import { addSource, startAptUpstream } from '../gate/apt-upstream.ts'
import { readAdvisories } from '../gate/read-advisories.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../service.ts'
import { violationsIn, widthOver } from './axe.ts'
import { openBrowser, seat, signIn, titled, watch, type Person, type Seat } from './browser.ts'

const PASSWORD = 'Console-pass-1'
const MAINTAINER: Person = { username: 'maria', password: PASSWORD }
const READER: Person = { username: 'rita', password: PASSWORD }

let browser: Browser
let service: Service
let files: string
let close: () => Promise<void>
const seats: Seat[] = []

async function place(person: Person | null, options?: Parameters<typeof seat>[2]): Promise<Seat> {
  const taken = await seat(browser, service.console, options)
  seats.push(taken)
  if (person) {
    await taken.page.goto('/')
    await signIn(taken, person)
    await titled(taken.page, 'Overview')
  }
  return taken
}

const statusOf = async (name: string) =>
  (await service.call('GET', `/artifacts/${name}`)).body.manifest_status as string

async function packageFile(name: string, options: Partial<Parameters<typeof buildDeb>[0]> = {}): Promise<string> {
  const path = join(files, `${name}.deb`)
  await writeFile(path, await buildDeb({ name, ...options }))
  return path
}

beforeAll(async () => {
  files = await mkdtemp(join(tmpdir(), 'console-files-'))
  const advisories = await mkdtemp(join(tmpdir(), 'console-advisories-'))
  const about = { ecosystem: 'Ubuntu:24.04:LTS', fixed: null, severity: 'high' as const }
  await writeAdvisories(
    advisories,
    ['first', 'second', 'third', 'fourth'].map((name) => ({
      ...about,
      id: `SA-${name}`,
      package: `held-${name}`,
      cve: `CVE-2026-20${name.length}0`,
    })),
  )
  const clamd = await startFakeClamd()
  service = await startService({
    env: { SVC_OSV_DIR: advisories, CLAMAV_HOST: clamd.address.host, CLAMAV_PORT: String(clamd.address.port) },
  })
  await readAdvisories(service)
  for (const [person, role] of [
    [MAINTAINER, 'maintainer'],
    [READER, 'reader'],
  ] as const)
    await service.call('POST', '/auth/users', { ...person, role })
  for (const name of ['held-first', 'held-second', 'held-third', 'held-fourth', 'plain'])
    await service.upload(await buildDeb({ name }), `${name}.deb`, { distribution: 'noble' })
  for (const repository of [
    { name: 'ours', kind: 'hosted' },
    { name: 'world', kind: 'proxy', upstream: { url: 'https://registry.example.org' } },
    { name: 'all', kind: 'group', members: ['ours', 'world'] },
  ])
    await service.call('POST', '/registries', { format: 'npm', ...repository })
  browser = await openBrowser()
  close = async () => {
    await browser.close()
    await service.stop()
    await clamd.close()
    for (const path of [files, advisories]) await rm(path, { recursive: true, force: true })
    await removeTemporary()
  }
})
afterAll(() => close?.())

describe('signing in', () => {
  test('one text for every refused login; then the page that was asked for', async () => {
    const { page } = await place(null)
    await page.goto('/packages?format=deb')
    await signIn({ page }, { ...MAINTAINER, password: 'wrong' })
    await page.getByRole('alert').getByText('Name, password or code is wrong').waitFor()
    await signIn({ page }, MAINTAINER)
    await titled(page, 'Packages')
    expect(new URL(page.url()).search).toBe('?format=deb')
  })

  test('an address in `next` that leads elsewhere is not followed', async () => {
    const { page } = await place(null)
    await page.goto('/login?next=%2F%2Fevil.test%2F')
    await signIn({ page }, READER)
    await titled(page, 'Overview')
    expect(new URL(page.url()).host).toBe(new URL(service.console).host)
  })

  test('no script can read the session, and nothing of it is stored', async () => {
    const { page } = await place(READER)
    const seen = await page.evaluate<string>(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
    )
    expect(seen).not.toContain('eyJ')
  })

  test('a logout in one tab reaches the other', async () => {
    const { page, context, faults } = await place(READER)
    const other = await context.newPage()
    watch(other, faults)
    await other.goto('/packages')
    await titled(other, 'Packages')
    await page.getByRole('button', { name: /Account of rita/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await titled(page, 'Sign in')
    await titled(other, 'Sign in')
  })

  test('navigation has what the role may see, and a forbidden page names the role it needs', async () => {
    const { page } = await place(READER)
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByRole('link', { name: 'Packages' }).waitFor()
    for (const hidden of ['Review', 'Upload', 'Audit', 'Users', 'Settings'])
      expect(await pages.getByRole('link', { name: hidden }).count()).toBe(0)
    await page.goto('/users')
    await titled(page, 'Your role does not allow this')
    await page.getByText('admin', { exact: true }).waitFor()
  })
})

describe('the five jobs', () => {
  test('decide what waits: g r, a, a reason, Ctrl Enter; the next opens', async () => {
    const { page } = await place(MAINTAINER)
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await titled(page, 'Review')
    const article = page.getByRole('article')
    const name = /^(held-\w+)/.exec((await article.getAttribute('aria-label')) ?? '')?.[1] ?? ''
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
    await page.keyboard.press('a')
    await page.getByLabel('Reason').fill('a test of the console')
    const sent = page.waitForRequest(/\/decide$/)
    await page.keyboard.press('Control+Enter')
    // The digest of the shown file, not of the file that has the name by then.
    expect((await sent).postDataJSON()).toMatchObject({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
    await expect.poll(() => statusOf(name)).toBe('published')
    await expect.poll(async () => (await article.getAttribute('aria-label'))?.startsWith(name)).toBe(false)
    await page.getByRole('listitem').filter({ hasText: name }).getByText('decided').waitFor()
  })

  test('reject says what clients lose, and needs a reason', async () => {
    const { page } = await place(MAINTAINER)
    await page.goto('/review')
    const article = page.getByRole('article')
    await page.getByRole('button', { name: 'Reject', exact: true }).waitFor()
    // By name, as a person does who switched single keys off.
    await page.keyboard.press('Control+k')
    await page.getByLabel('Search packages, CVEs and pages').fill('reject held-')
    await page.keyboard.press('Enter')
    await page.getByText('the same bytes are refused from then on').waitFor()
    const name = /^(held-\w+)/.exec((await article.getAttribute('aria-label')) ?? '')?.[1] ?? ''
    expect(await article.getByRole('button', { name: 'Reject' }).last().isDisabled()).toBe(true)
    await expect.poll(() => page.getByLabel('Reason').evaluate((field) => field.matches(':focus'))).toBe(true)
    await page.keyboard.type('not wanted')
    await article.getByRole('button', { name: 'Reject' }).last().click()
    await expect.poll(() => statusOf(name)).toBe('rejected')
  })

  test('several at once: the server says first what each would do', async () => {
    const { page } = await place(MAINTAINER)
    await page.goto('/review')
    await page
      .getByRole('checkbox', { name: /Select held-/ })
      .first()
      .waitFor()
    const boxes = await page.getByRole('checkbox', { name: /Select held-/ }).all()
    expect(boxes.length).toBe(2)
    for (const box of boxes) await box.check()
    await page.getByRole('status').getByRole('button', { name: 'Approve' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 packages would be decided').waitFor()
    await dialog.getByLabel('Reason for all').fill('together')
    const sent = page.waitForRequest(/\/decisions\/bulk$/)
    await dialog.getByRole('button', { name: 'Approve' }).click()
    const digest = { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string }
    expect((await sent).postDataJSON()).toMatchObject({ items: [digest, digest] })
    await expect.poll(async () => (await service.call('GET', '/security/review-queue')).body.total).toBe(0)
  })

  test('bring packages in: clean, infected, and the same bytes again', async () => {
    const { page } = await place(MAINTAINER)
    await page.goto('/upload?distribution=noble')
    const paths = [
      await packageFile('brought'),
      await packageFile('infected', { files: { './usr/share/eicar': eicar() } }),
      await packageFile('plain'),
    ]
    await page.locator('input[type=file]').setInputFiles(paths)
    await page.getByRole('button', { name: 'Send 3 files' }).click()
    const card = (name: string) => page.getByRole('article', { name: `${name}.deb` })
    await card('brought').getByText('Published: clients get it').waitFor()
    await card('infected').getByText('Quarantined: no client will see it').waitFor()
    await card('plain').getByText('These bytes are here already').waitFor()
    expect(await statusOf('brought')).toBe('published')
  })

  test('find and install: /, the name, Enter; the command is on top', async () => {
    const { page } = await place(READER)
    await page.keyboard.press('/')
    await page.getByPlaceholder('Package, CVE or page').fill('plain')
    await page
      .getByRole('dialog')
      .getByText(/, noble/)
      .waitFor()
    await page.keyboard.press('Enter')
    await titled(page, 'plain')
    await page.getByText('apt-get install plain').waitFor()
  })

  test('does a CVE hit us: the palette leads to the packages that have it', async () => {
    const { page } = await place(READER)
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Package, CVE or page').fill('cve-2026-2050')
    await page.keyboard.press('Enter')
    await titled(page, 'Vulnerabilities')
    await page
      .getByRole('cell')
      .getByRole('link', { name: /held-f/ })
      .first()
      .waitFor()
    expect(page.url()).toContain('q=CVE-2026-2050')
  })

  test('promote: what it would do is below the target, and Confirm does it', async () => {
    const { page } = await place(MAINTAINER)
    await page.goto('/packages/plain')
    await page.getByRole('button', { name: 'Promote' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('From noble to').click()
    await page.getByRole('option', { name: 'jammy' }).click()
    await dialog.getByText('will be published in jammy').waitFor()
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await expect
      .poll(async () =>
        (await service.call('GET', '/artifacts/plain')).body.versions
          .map((one: { distribution: string }) => one.distribution)
          .sort(),
      )
      .toEqual(['jammy', 'noble'])
  })

  test('quarantine: a published version leaves the index, with the reason in its history', async () => {
    await service.upload(await buildDeb({ name: 'pulled' }), 'pulled.deb', { distribution: 'noble' })
    const { page } = await place(MAINTAINER)
    await page.goto('/packages/pulled')
    await page.getByRole('button', { name: 'Quarantine' }).click()
    const dialog = page.getByRole('dialog')
    const send = dialog.getByRole('button', { name: 'Quarantine' })
    expect(await send.isDisabled()).toBe(true)
    await dialog.getByLabel('Reason').fill('its key leaked')
    await send.click()
    await dialog.waitFor({ state: 'detached' })
    expect(await statusOf('pulled')).toBe('quarantined')
    const index = await fetch(`${service.apt}/repos/dists/noble/main/binary-amd64/Packages`)
    expect(await index.text()).not.toContain('Package: pulled')
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('cell', { name: 'its key leaked' }).waitFor()
  })
})

describe('what comes from upstream', () => {
  test('a mirror shows what a run would bring before it is started, and brings it', async () => {
    const upstream = await startAptUpstream()
    await upstream.offer(['mirrored', 'left-out'].map((name) => ({ name })))
    const id = await addSource(service, upstream, 'Vendor tools', 'noble')
    await service.call('PUT', `/import/mirror/sources/${id}`, { globs: ['mirr*'] })
    upstream.log.length = 0
    const { page } = await place(MAINTAINER)
    await page.goto('/import?tab=mirrors')
    await page.getByRole('link', { name: 'Vendor tools' }).click()
    await page.getByRole('button', { name: 'Dry run' }).click()
    const coming = page.getByRole('region', { name: 'What would come' })
    await coming.getByRole('cell', { name: 'mirrored' }).waitFor()
    expect(await coming.getByRole('row').count()).toBe(2)
    expect(upstream.log).toEqual([])
    await page.getByRole('button', { name: 'Start a run' }).click()
    await page.getByText('1 published.').waitFor()
    expect(await statusOf('mirrored')).toBe('published')
    await upstream.close()
  })

  test('the tasks page has the run of the mirror, with its log', async () => {
    const { page } = await place(MAINTAINER)
    await page.goto('/tasks?state=done')
    await page
      .getByRole('button', { name: /^Log of task \d+: mirror/ })
      .first()
      .click()
    await page.getByRole('dialog').getByRole('list', { name: 'Log' }).getByText('1 of 1 packages').waitFor()
  })

  test('a name that is reserved in the console is refused by the API', async () => {
    const { page } = await place(MAINTAINER)
    await page.goto('/import?tab=reserved')
    await page.getByLabel('Name or pattern').fill('acme-*')
    await page.getByRole('combobox', { name: 'May come by' }).click()
    await page.getByRole('option', { name: 'the source Vendor tools' }).click()
    await page.getByRole('button', { name: 'Reserve', exact: true }).click()
    await page.getByRole('cell', { name: 'acme-*', exact: true }).waitFor()
    const refused = await service.upload(await buildDeb({ name: 'acme-agent' }), 'a.deb', { distribution: 'noble' })
    expect([refused.status, refused.body.code]).toEqual([409, 'name_reserved'])
    await page.getByRole('button', { name: 'Remove the reservation of acme-*' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No name is reserved').waitFor()
  })
})

describe('the rest', () => {
  test('each page of the palette has keys of its own, and they open it', async () => {
    const { page } = await place(ADMIN)
    await page.keyboard.press('/')
    const keys = page.getByRole('dialog').getByText(/^g .$/)
    await keys.first().waitFor()
    const shown = await keys.allInnerTexts()
    expect(shown.length).toBeGreaterThan(15)
    expect(new Set(shown).size).toBe(shown.length)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    await titled(page, 'Machines')
  })

  test('filters are in the address, and Back restores them', async () => {
    const { page } = await place(MAINTAINER)
    await page.goto('/packages')
    await page.getByLabel('Name or description').fill('plain')
    await expect.poll(() => new URL(page.url()).search).toBe('?q=plain')
    await page.getByRole('link', { name: 'plain', exact: true }).click()
    await titled(page, 'plain')
    await page.goBack()
    await titled(page, 'Packages')
    expect(await page.getByLabel('Name or description').inputValue()).toBe('plain')
  })

  test('a secret is never shown, can be set, and the page says so', async () => {
    const { page } = await place(ADMIN)
    await page.goto('/settings/email')
    await page.getByRole('button', { name: 'Set SMTP password' }).click()
    await page.getByLabel('SMTP password').first().fill('a-secret-of-the-test')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Replace SMTP password' }).waitFor()
    expect(await page.content()).not.toContain('a-secret-of-the-test')
    expect((await service.call('GET', '/settings')).body.email.smtp_password).toBe('***')
  })

  test('a session that ended elsewhere asks for the password and comes back', async () => {
    const { page, context } = await place(READER)
    await page.goto('/packages?q=plain')
    await titled(page, 'Packages')
    await page.getByLabel('Name or description').focus()
    await context.clearCookies()
    // The next request, this one or one of the page's own, is refused.
    await page.keyboard.press('Backspace')
    await titled(page, 'Sign in')
    await signIn({ page }, READER)
    await titled(page, 'Packages')
  })
})

describe('every page', () => {
  const PAGES = [
    '/',
    '/review',
    '/packages',
    '/packages/plain',
    '/upload',
    '/uploads',
    '/import',
    '/import?tab=mirrors',
    '/import?tab=reserved',
    '/distributions',
    '/distributions/noble',
    '/vulnerabilities',
    '/advisories/CVE-2026-2050',
    '/decisions',
    '/audit',
    '/tasks',
    '/drift',
    '/users',
    '/tokens',
    '/machines',
    '/repositories',
    '/repositories/npm/ours',
    '/repositories/npm/world',
    '/repositories/npm/all',
    '/settings',
    '/settings/ldap',
    '/backup',
    '/health',
    '/logs',
    '/account',
    '/account/tokens',
    '/device',
  ]

  let admin: Seat
  beforeAll(async () => void (admin = await place(ADMIN)))

  // A page is loaded once: its colours follow the system's, and its width the window's, without another load.
  test.each(PAGES)(
    '%s can be used with assistive technology, light and dark, and is no wider than a phone',
    async (path) => {
      const { page } = admin
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(path)
      await page.locator('#page-title').waitFor()
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
      expect(await violationsIn(page)).toEqual([])
      expect(await page.locator('iframe').count()).toBe(0)
      await page.setViewportSize({ width: 390, height: 900 })
      await expect.poll(() => widthOver(page), { timeout: 20_000 }).toBeLessThanOrEqual(0)
    },
  )

  test('nothing broke the content policy, and no script failed, in any of these', () => {
    expect(seats.length).toBeGreaterThan(10)
    expect(seats.flatMap(({ faults }) => faults)).toEqual([])
  })
})
