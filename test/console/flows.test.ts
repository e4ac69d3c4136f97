// In a real browser: the first start, a second factor, an identity provider, many files at once, and the tabs of a package.
import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT, startIdentityProvider, type IdentityProvider } from '../fakes/identity-provider.ts'
import { buildDeb } from '../samples/deb.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../service.ts'
import { openBrowser, seat, signIn, titled, type Person, type Seat } from './browser.ts'

const PASSWORD = 'Console-pass-1'
const MAINTAINER: Person = { username: 'maria', password: PASSWORD }
const READER: Person = { username: 'rita', password: PASSWORD }
const WITH_CODE: Person = { username: 'mona', password: PASSWORD }
const SETUP_TOKEN = 'the-setup-token-of-the-test'

let browser: Browser
let service: Service
let idp: IdentityProvider
const seats: Seat[] = []

async function place(base = service.console): Promise<Page> {
  const taken = await seat(browser, base)
  seats.push(taken)
  return taken.page
}

async function signedIn(person: Person, path: string, before?: (page: Page) => Promise<unknown>): Promise<Page> {
  const page = await place()
  await before?.(page)
  await page.goto(path)
  await signIn({ page }, person)
  return page
}

const pathOf = (page: Page) => page.url().slice(service.console.length)

beforeAll(async () => {
  ;[browser, service] = await Promise.all([
    openBrowser(),
    startService({ env: { OUTBOUND_ALLOWED_HOSTS: '127.0.0.1' } }),
  ])
  idp = await startIdentityProvider(`${service.console}/oidc-callback`)
  for (const [person, role] of [
    [MAINTAINER, 'maintainer'],
    [READER, 'reader'],
    [WITH_CODE, 'auditor'],
  ] as const)
    await service.call('POST', '/auth/users', { ...person, role })
})
afterAll(async () => {
  await browser.close()
  await service.stop()
  await idp.close()
  await removeTemporary()
})

test('the first start: checks, the administrator, the address, and the lines for the first machine', async () => {
  const env = { ADMIN_USERNAME: '', ADMIN_PASSWORD_HASH: '', SETUP_TOKEN }
  const fresh = await startService({ env, token: '' })
  try {
    const page = await place(fresh.console)
    await page.goto('/')
    await page.getByRole('heading', { level: 1, name: 'Set up' }).waitFor()
    await page.getByText('Database: ready').waitFor()
    expect(await page.getByLabel('Address of this console').inputValue()).toBe(fresh.console)
    await page.getByLabel('Setup token').fill('not-the-token')
    await page.getByLabel('Administrator').fill('root-admin')
    await page.locator('input[autocomplete=new-password]').fill(PASSWORD)
    const create = page.getByRole('button', { name: 'Create the administrator' })
    await create.click()
    await page.getByRole('alert').getByText('setup_token_invalid').waitFor()
    await page.getByLabel('Setup token').fill(SETUP_TOKEN)
    await create.click()

    await titled(page, 'Ready')
    await page.getByRole('combobox', { name: 'Distribution of the machine' }).click()
    await page.getByRole('option', { name: 'noble' }).click()
    const lines = page.getByLabel('Set up a machine for noble', { exact: true })
    const answer = async (path: string) => (await page.request.get(`/api/v1${path}`)).json()
    expect(await lines.innerText()).toBe((await answer('/distributions/noble/setup')).command)
    expect((await answer('/settings')).app_url).toBe(fresh.console)
    expect((await answer('/auth/me')).username).toBe('root-admin')
    await page.getByRole('link', { name: 'Upload the first package' }).click()
    await titled(page, 'Upload')
    await page.goto('/setup')
    await titled(page, 'Overview')
  } finally {
    await fresh.stop()
  }
})

test('an enrolment: what the page says to paste enrols a bare machine, and the token is in no list of processes', async () => {
  const page = await signedIn(ADMIN, '/machines')
  await page.getByRole('button', { name: 'New enrolment' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('image')
  await dialog.getByRole('button', { name: 'Create' }).click()
  const lines = await dialog.getByLabel('Enrol a machine', { exact: true }).innerText()
  const shell = spawn('sh', ['-e'], { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: '/usr/bin:/bin' } })
  shell.stdin.end(`${lines}\necho "$GATEHOUSE_TOKEN"\n`)
  expect(await text(shell.stdout)).toMatch(/^svcm_\w+\n$/)
  const { body } = await service.call('GET', '/machines')
  expect(body.items).toMatchObject([{ name: hostname(), created_by: expect.stringContaining('image') }])
  expect(lines).not.toMatch(/curl[^|]*svce_/)
})

test('a second factor is set up, then asked for; a wrong code is refused, a recovery code is as good', async () => {
  const page = await signedIn(WITH_CODE, '/account')
  await titled(page, 'Your account')
  await page.getByRole('button', { name: 'Set it up' }).click()
  const secret = await page.getByText('Or type it:').locator('.mono').innerText()
  const code = (stepsAhead: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + stepsAhead * 30_000 })
  await page.getByLabel('Code', { exact: true }).fill(code(0))
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.getByText('a code of your app is asked at sign-in').waitFor()
  const [recovery = ''] = (await page.getByLabel('Recovery codes', { exact: true }).innerText()).split('\n')
  await page.getByRole('button', { name: /Account of mona/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await titled(page, 'Sign in')

  const enter = async (at: Page, text: string) => {
    await titled(at, 'Second step')
    await at.getByLabel('Code').fill(text)
    await at.getByRole('button', { name: 'Continue' }).click()
  }
  await page.goto('/packages?format=deb')
  await signIn({ page }, WITH_CODE)
  await enter(page, 'nonsense')
  await page.getByRole('alert').getByText('Name, password or code is wrong').waitFor()
  // The code that confirmed the factor is used up, but the next one is already valid.
  await enter(page, code(1))
  await titled(page, 'Packages')
  expect(pathOf(page)).toBe('/packages?format=deb')

  const other = await signedIn(WITH_CODE, '/')
  await enter(other, recovery)
  await titled(other, 'Overview')
})

test('a program that shows a code is signed in as the person who approves it, and another one is refused', async () => {
  const begin = async () => (await service.call('POST', '/auth/device', { client: 'gatehouse on build-7' })).body
  const redeem = ({ device_code }: { device_code: string }) =>
    service.call('POST', '/auth/device/token', { device_code })
  const [wanted, stranger] = [await begin(), await begin()]

  const page = await signedIn(MAINTAINER, `/device?code=${wanted.user_code}`)
  await titled(page, 'Sign in a program')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('gatehouse on build-7').waitFor()
  await page.getByRole('button', { name: 'Sign it in' }).click()
  await page.getByText('The program is signed in as you.').waitFor()
  const { body } = await redeem(wanted)
  const me = await service.call('GET', '/auth/me', undefined, { authorization: `Bearer ${body.access_token}` })
  expect(me.body.username).toBe(MAINTAINER.username)

  await page.goto('/device')
  await page.getByLabel('Code').fill('BCDF-GHJK')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').getByText('not_found').waitFor()
  await page.getByLabel('Code').fill(stranger.user_code.toLowerCase())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Refuse' }).click()
  await page.getByText('The program gets nothing.').waitFor()
  expect((await redeem(stranger)).body.code).toBe('access_denied')
})

test('an identity provider signs people in, and they arrive where they wanted to go', async () => {
  const oidc = {
    ...{
      enabled: true,
      provider_name: 'Keys',
      discovery_url: idp.url,
      redirect_uri: `${service.console}/oidc-callback`,
    },
    ...{ client_id: CLIENT.id, client_secret: CLIENT.secret, scopes: 'openid email profile groups' },
    ...{ auto_provision: true, claim_role: 'groups', role_map: { ops: 'maintainer' } },
  }
  expect((await service.call('PATCH', '/settings/', { oidc })).status).toBe(200)
  idp.people = {
    'sub-olga': { preferred_username: 'olga', email: 'olga@example.org', groups: ['ops'] },
    'sub-rita': { preferred_username: READER.username, email: 'rita@example.org', groups: ['ops'] },
  }
  const arrive = async (person: string) => {
    idp.person = person
    const page = await place()
    await page.goto('/packages?format=deb')
    await page.getByRole('button', { name: 'Sign in with Keys' }).click()
    return page
  }
  const page = await arrive('sub-olga')
  await titled(page, 'Packages')
  expect(pathOf(page)).toBe('/packages?format=deb')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Review' }).waitFor()

  // A person with the name of a local account does not get that account.
  const stranger = await arrive('sub-rita')
  await stranger.getByRole('alert').getByText('account_conflict').waitFor()
  expect(pathOf(stranger)).toBe('/oidc-callback')
  await stranger.getByRole('link', { name: 'Sign in again' }).click()
  await titled(stranger, 'Sign in')
})

/** Counts running uploads where they begin and end, because Playwright reports requests late. */
const COUNTING = `
  window.uploads = { running: 0, most: 0, began: [] }
  window.XMLHttpRequest = class extends XMLHttpRequest {
    constructor() {
      super()
      this.addEventListener('loadend', () => uploads.running--)
    }
    send(body) {
      uploads.began.push(performance.now())
      uploads.most = Math.max(uploads.most, ++uploads.running)
      super.send(body)
    }
  }`

test('25 files: three at a time, none before Retry-After has passed, and they go on while another page is shown', async () => {
  const page = await signedIn(MAINTAINER, '/upload?distribution=noble', (page) => page.addInitScript(COUNTING))
  const files = await Promise.all(
    Array.from({ length: 25 }, async (_, i) => ({
      name: `many-${i}.deb`,
      mimeType: 'application/vnd.debian.binary-package',
      buffer: await buildDeb({ name: `many-${i}` }),
    })),
  )
  // The answer of a proxy in front to too many requests; the limit of the service itself would mean a minute of waiting.
  const limited = { status: 429, headers: { 'retry-after': '3' }, json: { code: 'rate_limited', detail: 'too many' } }
  await page.route('**/upload/stream', (route) => route.fulfill(limited), { times: 3 })

  await page.locator('input[type=file]').setInputFiles(files)
  await page.getByRole('button', { name: 'Send 25 files' }).click()
  await expect.poll(() => page.getByText('The service asks to wait').count()).toBe(3)
  await page.getByText('3 under way, 22 waiting').waitFor()
  const pages = page.getByRole('navigation', { name: 'Pages' })
  await pages.getByRole('link', { name: 'Packages' }).click()
  await titled(page, 'Packages')
  await pages.getByRole('link', { name: 'Upload', exact: true }).click()
  await page.getByText('25 ended', { exact: true }).waitFor()
  expect(await page.getByText('Published without a malware scan: clients get it').count()).toBe(25)
  const { body } = await service.call('GET', '/artifacts?search=many-&distribution=noble&per_page=50')
  expect(body.total).toBe(25)
  const { most, began } = JSON.parse(await page.evaluate<string>('JSON.stringify(uploads)')) as {
    most: number
    began: number[]
  }
  expect([most, began.length]).toEqual([3, 28])
  expect((began[3] ?? 0) - (began[0] ?? 0)).toBeGreaterThanOrEqual(3000)
})

test('a package: its dependencies level by level, who needs it, its files in pages', async () => {
  const put = async (name: string, fields: Record<string, string> = {}, files?: Record<string, string>) => {
    const deb = await buildDeb({ name, fields, ...(files && { files }) })
    expect((await service.upload(deb, `${name}.deb`, { distribution: 'noble' })).status).toBe(201)
  }
  await put('leaf', {}, Object.fromEntries(Array.from({ length: 450 }, (_, i) => [`usr/share/leaf/${1000 + i}`, 'x'])))
  await put('branch', { Depends: 'leaf (>= 1.0)', Provides: 'wood' })
  await put('trunk', { Depends: 'absent (>= 2) | gone, wood' })

  const page = await signedIn(MAINTAINER, '/packages/trunk?tab=dependencies')
  await page.getByText('1 dependency of 2 missing in noble.').waitFor()
  const importing = page.getByRole('link', { name: 'import absent' })
  expect(await importing.getAttribute('href')).toBe('/import?q=absent')
  await page.getByRole('button', { name: 'What branch needs' }).click()
  await page.getByRole('link', { name: 'leaf', exact: true }).click()
  await titled(page, 'leaf')
  await page.getByText('It needs nothing').waitFor()

  await page.getByRole('tab', { name: 'Dependants' }).click()
  await page.getByRole('row').filter({ hasText: 'branch' }).getByText('could not be installed').waitFor()
  await page.getByRole('tab', { name: 'Files' }).click()
  const paths = page.getByRole('list', { name: 'Files' }).getByRole('listitem')
  await paths.first().waitFor()
  expect(await paths.count()).toBe(200)
  await page.getByRole('link', { name: 'Next' }).click()
  await page.getByText('450 files, page 2 of 3').waitFor()
  await expect.poll(() => paths.first().innerText()).toBe('/usr/share/leaf/1200')
  await page.getByLabel('Part of the path').fill('LEAF/1449')
  await expect.poll(() => paths.allInnerTexts()).toEqual(['/usr/share/leaf/1449'])

  const reader = await signedIn(READER, '/packages/trunk?tab=dependencies')
  await reader.getByText('no source was read').waitFor()
  expect(await reader.getByRole('link', { name: /import/ }).count()).toBe(0)
})

test('nothing broke the content policy, and no script failed, in any of these', () => {
  expect(seats.length).toBeGreaterThan(7)
  expect(seats.flatMap(({ faults }) => faults)).toEqual([])
})
