// In a real browser: API tokens of one's own, uploads of one's own, drift and its repair, who has to look at a package, an advisory,
// the test of a provider, and the addresses that mails and webhooks lead to.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packagePath, reviewPath } from '../../src/domain/app-page.ts'
import { CLIENT, startIdentityProvider, type IdentityProvider } from '../fakes/identity-provider.ts'
import { readAdvisories } from '../gate/read-advisories.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../service.ts'
import { openBrowser, seat, signIn, titled, type Person, type Seat } from './browser.ts'

const PASSWORD = 'Console-pass-1'
const MAINTAINER: Person = { username: 'maria', password: PASSWORD }
const UPLOADER: Person = { username: 'ulla', password: PASSWORD }
const HELD = { package: 'held', version: '1.10', arch: 'amd64', distribution: 'noble' }

let browser: Browser
let service: Service
let idp: IdentityProvider
let advisories: string
const seats: Seat[] = []

async function signedIn(person: Person, path: string): Promise<Page> {
  const taken = await seat(browser, service.console)
  seats.push(taken)
  await taken.page.goto(path)
  await signIn(taken, person)
  return taken.page
}

/** WCAG and best practice. @param within a part of the page, as a selector */
async function faultsOf(page: Page, within = 'html'): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).include(within).setLegacyMode(true).analyze()
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 120)}`)
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

beforeAll(async () => {
  advisories = await mkdtemp(join(tmpdir(), 'console-jobs-'))
  const about = { ecosystem: 'Ubuntu:24.04:LTS', severity: 'high' as const }
  await writeAdvisories(advisories, [{ ...about, id: 'SA-held', package: 'held', cve: 'CVE-2026-3001', fixed: null }])
  ;[browser, service] = await Promise.all([
    openBrowser(),
    startService({ env: { SVC_OSV_DIR: advisories, OUTBOUND_ALLOWED_HOSTS: '127.0.0.1' } }),
  ])
  idp = await startIdentityProvider(`${service.console}/oidc-callback`)
  await readAdvisories(service)
  for (const [person, role] of [
    [MAINTAINER, 'maintainer'],
    [UPLOADER, 'uploader'],
  ] as const)
    await service.call('POST', '/auth/users', { ...person, role })
})
afterAll(async () => {
  await browser.close()
  await service.stop()
  await idp.close()
  await rm(advisories, { recursive: true, force: true })
  await removeTemporary()
})

test('an uploader makes a token without an administrator, uploads with it, finds the upload and its reason, and ends it', async () => {
  const page = await signedIn(UPLOADER, '/account')
  await page.getByRole('link', { name: 'Your API tokens' }).click()
  await titled(page, 'Your API tokens')
  await page.getByText('You have no tokens yet').waitFor()
  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('pipeline of ulla')
  await page.getByRole('combobox', { name: 'Role' }).click()
  expect(await page.getByRole('option').allInnerTexts()).toEqual(['Uploader', 'Reader'])
  await page.getByRole('option', { name: 'Uploader' }).click()
  expect(await faultsOf(page, '.mantine-Modal-body')).toEqual([])
  await page.getByRole('button', { name: 'Create' }).click()
  const token = await page.getByLabel('Token', { exact: true }).innerText()
  const sent = await service.upload(
    await buildDeb({ name: 'held', version: '1.10' }),
    'held.deb',
    { distribution: 'noble' },
    bearer(token),
  )
  expect(sent.body.status).toBe('pending_review')
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.goto('/uploads')
  await page.getByText('Held because the policy asks for a review of its findings.').waitFor()
  await page.getByText('upload, token:pipeline of ulla').waitFor()

  await page.goto('/account/tokens')
  await page.getByRole('button', { name: 'Revoke pipeline of ulla' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('ended').waitFor()
  expect((await service.call('GET', '/auth/me', undefined, bearer(token))).status).toBe(401)
})

test('the address in a message opens the package in the review, and it is assigned there', async () => {
  const page = await signedIn(MAINTAINER, reviewPath(HELD))
  await page.getByRole('article', { name: 'held 1.10' }).waitFor()
  await page.getByRole('combobox', { name: 'Assigned to' }).click()
  await page.getByRole('option', { name: 'maria' }).click()
  const assigned = async () =>
    (await service.call('GET', '/security/review-queue?assigned_to=maria')).body.items.map(
      ({ name }: { name: string }) => name,
    )
  await expect.poll(assigned).toEqual(['held'])
  expect(await faultsOf(page)).toEqual([])
  await page.goto(packagePath(HELD.package, HELD))
  await titled(page, /held/)
  await page.getByText('1.10').first().waitFor()
  expect(new URL(page.url()).searchParams.get('version')).toBe('"1.10"')
})

test('an advisory has a page, from the list of vulnerabilities', async () => {
  const page = await signedIn(MAINTAINER, '/vulnerabilities')
  await page.getByRole('link', { name: 'CVE-2026-3001' }).click()
  await titled(page, 'CVE-2026-3001')
  await page.getByText('none of 1 is offered to clients').waitFor()
  await page.getByRole('link', { name: 'held 1.10' }).waitFor()
  await page.getByText('Nobody decided about it').waitFor()
  expect(await faultsOf(page)).toEqual([])
})

test('a package is found by the SHA-256 of its file', async () => {
  const { body } = await service.call('GET', '/artifacts/held')
  const page = await signedIn(UPLOADER, '/packages')
  await page.getByLabel('Name or description').fill(body.versions[0].sha256.slice(0, 16))
  await page.getByText('1 package', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'held', exact: true }).waitFor()
})

test('drift: a scan finds what is missing, the plan says what a repair does, and the repair does it', async () => {
  await service.upload(await buildDeb({ name: 'whole' }), 'whole.deb', { distribution: 'noble' })
  const tree = join(service.reposDir, '.generations')
  const files = await readdir(tree, { recursive: true })
  const link = files.find((path) => /whole[^/]*\.deb$/.test(path)) as string
  await rm(join(tree, link))
  const page = await signedIn(ADMIN, '/drift')
  await titled(page, 'Drift')
  await page.getByText('Nothing was compared yet').waitFor()
  await page.getByRole('button', { name: 'Scan now' }).click()
  await page.getByText('Files differ from what was stored').waitFor()
  await page.getByRole('cell', { name: /whole.*\.deb/ }).waitFor()
  await page.getByRole('button', { name: 'Repair' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('cell', { name: /whole.*\.deb/ }).waitFor()
  expect(await faultsOf(page, '.mantine-Modal-body')).toEqual([])
  await dialog.getByRole('button', { name: 'Repair' }).click()
  await dialog.getByText('1 of 1 finding resolved').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('Every file is as it was stored').waitFor()
  expect(await readdir(tree, { recursive: true })).toContain(link)
})

test('the test of an identity provider says what is wrong, and what to register', async () => {
  const page = await signedIn(ADMIN, '/settings/oidc')
  const provider = { discovery_url: idp.url, client_id: 'nobody', client_secret: CLIENT.secret }
  await service.call('PATCH', '/settings', { app_url: service.console, oidc: provider })
  const run = page.getByRole('button', { name: 'Test the provider' })
  await run.click()
  await page.getByText('does it know the client nobody').waitFor()
  await service.call('PATCH', '/settings', { oidc: { client_id: CLIENT.id } })
  await run.click()
  await page.getByText('does not refuse the beginning of a login').waitFor()
  await page.getByText(`register exactly ${service.console}/oidc-callback`).waitFor()
})

test('no script failed in any of these', () => {
  expect(seats.flatMap(({ faults }) => faults)).toEqual([])
})
