// The review at its size, in a real browser: 200 packages wait, 28 of them of one source.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdvisories } from '../gate/read-advisories.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { openBrowser, seat, signIn, titled, type Person, type Seat } from './browser.ts'

const MARIA: Person = { username: 'maria', password: 'Console-pass-1' }
const SOURCE = 'texlive-bin'
const SIBLINGS = Array.from({ length: 28 }, (_, i) => `texlive-${10 + i}`)
const SINGLE = Array.from({ length: 172 }, (_, i) => `held-${100 + i}`)
/** Findings of the first single one. */
const MANY = 30

let browser: Browser
let service: Service
let advisories: string
const seats: Seat[] = []

async function place(path: string, width = 1440): Promise<Page> {
  const taken = await seat(browser, service.console, { width })
  seats.push(taken)
  await taken.page.goto(path)
  await signIn(taken, MARIA)
  return taken.page
}

const statusOf = async (name: string) =>
  (await service.call('GET', `/artifacts/${name}`)).body.manifest_status as string
const itemOf = (name: string) => `/review?item=${encodeURIComponent(`${name} 1.0-1 amd64 noble`)}`
const focused = (page: Page) => page.evaluate<string>('document.activeElement.id')
const rows = (page: Page) => page.getByRole('list', { name: 'Review queue' }).getByRole('listitem')
const current = (page: Page) => page.locator('.entry[aria-current]')
const heading = (page: Page) => page.locator('#open-record')

/** Whether the open row is inside of what the list shows. */
const isInView = (page: Page) =>
  page.evaluate<boolean>(`(() => {
    const row = document.querySelector('.entry[aria-current]').getBoundingClientRect()
    const list = document.querySelector('.review .list .scroll').getBoundingClientRect()
    return scrollY === 0 && row.top >= list.top - 1 && row.bottom <= list.bottom + 1 && list.bottom <= innerHeight
  })()`)

beforeAll(async () => {
  advisories = await mkdtemp(join(tmpdir(), 'console-advisories-'))
  const about = { ecosystem: 'Ubuntu:24.04:LTS', fixed: null, severity: 'high' as const }
  await writeAdvisories(advisories, [
    ...[SOURCE, ...SINGLE].map((name, i) => ({
      ...about,
      package: name,
      id: `USN-1${i}-1`,
      cve: `CVE-2026-1${1000 + i}`,
    })),
    ...Array.from({ length: MANY - 1 }, (_, i) => ({
      ...{ ...about, package: SINGLE[0] as string, id: `USN-2${i}-1`, cve: `CVE-2026-2${1000 + i}` },
    })),
  ])
  ;[browser, service] = await Promise.all([openBrowser(), startService({ env: { SVC_OSV_DIR: advisories } })])
  await readAdvisories(service)
  await service.call('POST', '/auth/users', { ...MARIA, role: 'maintainer' })
  const names = [...SIBLINGS, ...SINGLE]
  const send = async (name: string) => {
    const deb = await buildDeb({ name, ...(SIBLINGS.includes(name) ? { fields: { Source: SOURCE } } : {}) })
    return (await service.upload(deb, `${name}.deb`, { distribution: 'noble' })).body.status as string
  }
  const sent: string[] = []
  for (let i = 0; i < names.length; i += 10) sent.push(...(await Promise.all(names.slice(i, i + 10).map(send))))
  expect(new Set(sent)).toEqual(new Set(['pending_review']))
})
afterAll(async () => {
  await browser?.close()
  await service?.stop()
  await rm(advisories, { recursive: true, force: true })
  await removeTemporary()
})

describe('a list of 200', () => {
  test('the open row stays in view, also after a click on a row far below and on a box', async () => {
    const page = await place('/review?size=200')
    await expect.poll(() => rows(page).count()).toBe(200)
    for (let i = 0; i < 30; i++) {
      await page.keyboard.press('j')
      await expect.poll(() => isInView(page)).toBe(true)
    }
    const name = await current(page).locator('b').innerText()
    await expect.poll(() => heading(page).innerText()).toContain(name)
    // Another pane scrolls by itself.
    await rows(page).nth(150).getByRole('link').click()
    await expect.poll(() => isInView(page)).toBe(true)
    const before = await current(page).locator('b').innerText()
    await rows(page).nth(149).getByRole('checkbox').check()
    await page.keyboard.press('j')
    await expect.poll(() => current(page).locator('b').innerText()).not.toBe(before)
    await page
      .locator('.review [role=status].visually-hidden')
      .getByText(await current(page).locator('b').innerText())
      .waitFor()
  })

  test('ranges by Shift with a click and with j, all of the page, all that match, and the risk of each', async () => {
    const page = await place('/review')
    await rows(page).nth(2).getByRole('checkbox').check()
    await rows(page)
      .nth(5)
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    const bar = page.locator('.review .bar')
    await bar.getByText('4 selected').waitFor()
    await rows(page).nth(8).getByRole('link').click()
    await page.keyboard.press('Shift+J')
    // From the anchor of the range on: what is between is part of it.
    await bar.getByText('8 selected').waitFor()
    await bar.getByLabel('Select all 50 packages on this page').check()
    await bar.getByText('50 selected').waitFor()
    await bar.getByRole('button', { name: 'Select all 200' }).click()
    await bar.getByText('200 selected').waitFor()
    await page.locator('.review .list .scroll').evaluate((pane) => pane.scrollTo(0, 99_999))
    await bar.getByRole('button', { name: 'Approve' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('200 packages would be decided').waitFor()
    await expect.poll(() => dialog.getByLabel('Reason for all').evaluate((field) => field.matches(':focus'))).toBe(true)
    const risks = dialog.getByRole('cell').getByText('high')
    expect(await risks.count()).toBe(100)
    await dialog.getByRole('button', { name: 'Show 100 more of 200' }).click()
    expect(await risks.count()).toBe(200)
    await dialog.getByLabel('Reason for all').scrollIntoViewIfNeeded()
    const box = await dialog.getByRole('button', { name: 'Approve' }).boundingBox()
    expect(box?.y).toBeLessThan(900)
    await dialog.getByRole('button', { name: 'Not reachable' }).click()
    expect(await dialog.getByLabel('Reason for all').inputValue()).toContain('the affected code is not used here')
  })

  test('findings are folded to the first ten, and the rest of the page is near', async () => {
    const page = await place(itemOf(SINGLE[0] as string))
    await page.getByText(`${MANY} of ${MANY} findings hold it, no fix is known, no client has it.`).waitFor()
    const table = page.getByRole('region', { name: 'Findings' })
    expect(await table.getByRole('row').count()).toBe(11)
    await page.getByRole('button', { name: `Show ${MANY - 10} more` }).click()
    expect(await table.getByRole('row').count()).toBe(1 + MANY)
  })

  test.each([390, 720])('at %i px there is one pane, a way back, and the list is where it was', async (width) => {
    const page = await place('/review', width)
    await rows(page).nth(20).waitFor()
    expect(await page.locator('.review .open').isVisible()).toBe(false)
    await rows(page).nth(20).getByRole('link').click()
    await heading(page).waitFor()
    expect(await page.locator('.review .list').isVisible()).toBe(false)
    await expect.poll(() => focused(page)).toBe('open-record')
    expect(await heading(page).evaluate((title) => title.getBoundingClientRect().top)).toBeLessThan(400)
    await page.getByRole('button', { name: 'Back to the queue' }).click()
    await rows(page).nth(20).waitFor()
    await expect
      .poll(() =>
        rows(page)
          .nth(20)
          .getByRole('link')
          .evaluate((link) => link.matches(':focus')),
      )
      .toBe(true)
    const top = await rows(page)
      .nth(20)
      .evaluate((row) => row.getBoundingClientRect().top)
    expect(top).toBeGreaterThan(0)
    expect(top).toBeLessThan(900)
  })
})

describe('decisions', () => {
  test('28 packages of one source are one decision', async () => {
    const page = await place('/review')
    await rows(page).first().waitFor()
    await page.getByLabel('Groups').selectOption('by source package')
    const group = rows(page).filter({ hasText: '28 packages' })
    await group.getByRole('link').click()
    await page.getByRole('button', { name: 'Approve all 28' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('28 packages would be decided, 0 would fail; noble would be published once').waitFor()
    await dialog.getByRole('button', { name: 'Not reachable' }).click()
    await dialog.getByLabel('Reason for all').press('Control+Enter')
    await page.getByText(/^Approved 28 packages\. Published in noble/).waitFor()
    for (const name of SIBLINGS) expect(await statusOf(name)).toBe('published')
    await group.getByText('decided').waitFor()
    await expect.poll(() => focused(page)).toBe('open-record')
    expect(page.url()).toContain('group=source')
  })

  test('undo puts a package back in review and out of the index, and tells who fetched it meanwhile', async () => {
    const name = SINGLE[171] as string
    const page = await place(itemOf(name))
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByLabel('Reason').fill('too fast')
    await page.keyboard.press('Control+Enter')
    await page.getByText(new RegExp(`^Approved ${name} 1.0-1\\. Published in noble`)).waitFor()
    await expect.poll(() => focused(page)).toBe('open-record')
    expect(await heading(page).innerText()).not.toContain(name)
    const at = `${service.apt}/repos/`
    const index = async () => (await fetch(`${at}dists/noble/main/binary-amd64/Packages`)).text()
    const path = new RegExp(`^Filename: (.*/${name}_.*)$`, 'm').exec(await index())?.[1] ?? ''
    expect((await fetch(at + path)).status).toBe(200)
    await expect
      .poll(async () => (await service.call('GET', `/downloads/packages/${name}`)).body.downloads as number, {
        timeout: 40_000,
      })
      .toBe(1)
    await page.keyboard.press('z')
    await page.getByText(`Undone: ${name} 1.0-1 waits again. 1 client has fetched it meanwhile and keeps it.`).waitFor()
    expect(await statusOf(name)).toBe('pending_review')
    expect(await index()).not.toContain(`/${name}_`)
    await expect.poll(() => heading(page).innerText()).toContain(name)
    const { body } = await service.call('GET', `/artifacts/audit/logs?action=DECISION_UNDONE&package=${name}`)
    expect(body.items).toMatchObject([{ user: 'maria' }])
  })

  test('what is typed at the sign-in stays when an older request is answered', async () => {
    const page = await place('/review')
    await heading(page).waitFor()
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/onlookers*', (route) => released.then(() => route.continue()))
    const asked = page.waitForRequest('**/onlookers*')
    await page.keyboard.press('j')
    await asked
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Reject', exact: true }).click()
    await page.getByLabel('Reason').fill('a reason')
    await page.keyboard.press('Control+Enter')
    await titled(page, 'Sign in')
    await page.getByLabel('User name').fill(MARIA.username)
    let refused = 0
    page.on('response', (answer) => (refused += Number(answer.url().includes('/onlookers') && answer.status() === 401)))
    release()
    // The console asks twice before it takes a session for ended.
    await expect.poll(() => refused).toBeGreaterThan(1)
    await page.locator('input[name=password]').fill(MARIA.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await titled(page, 'Review')
  })

  test('a typed reason survives a session that ended, about the same package', async () => {
    const name = SINGLE[30] as string
    const page = await place(itemOf(name))
    await page.getByRole('button', { name: 'Reject', exact: true }).click()
    await page.getByLabel('Reason').fill('exploited in the wild, INC-9')
    await page.context().clearCookies()
    await page.keyboard.press('Control+Enter')
    await titled(page, 'Sign in')
    await signIn({ page }, MARIA)
    await expect.poll(() => heading(page).innerText()).toContain(name)
    expect(await page.getByLabel('Reason').inputValue()).toBe('exploited in the wild, INC-9')
    await page.getByLabel('Reason').press('Control+Enter')
    await page.getByText(`Rejected ${name} 1.0-1.`).waitFor()
    expect(await statusOf(name)).toBe('rejected')
    await page.goto(itemOf(name))
    await heading(page).waitFor()
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).not.toContain('INC-9')
  })
})

test('nothing broke the content policy, and no script failed, in any of these', () => {
  expect(seats.length).toBeGreaterThan(7)
  expect(seats.flatMap(({ faults }) => faults)).toEqual([])
})
