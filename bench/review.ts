// Measures the review with thousands of held packages in Chromium: how long a person waits for the list, the next package, a decision
// about all of them and its undo; and how long the service's event loop is held meanwhile.
// Usage: node bin/with-postgres.mjs npx node bench/review.ts [--packages 2000] [--rounds 20]
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { openBrowser, seat, signIn, titled } from '../test/console/browser.ts'
import { buildDeb } from '../test/samples/deb.ts'
import { ADMIN } from '../test/service.ts'
import type { Finding } from '../src/domain/finding.ts'
import type { NewRecord } from '../src/packages/records/insert-records.ts'
import { createBenchDatabase, quantile } from './database.ts'
import { fill } from './fill.ts'
import { startWatched, type Watched } from './watch.ts'

const { values } = parseArgs({
  options: { packages: { type: 'string', default: '2000' }, rounds: { type: 'string', default: '20' } },
})
const count = Number(values.packages)
/** as the console shows it */
const shown = new Intl.NumberFormat('en').format(count)
const rounds = Number(values.rounds)
/** One source for each ten packages. */
const sourceOf = (i: number) => `source-${Math.floor(i / 10)}`
/** of each package */
const FINDINGS = 5
/** a decision about all, on a busy machine */
const LONG_MS = 900_000
/** the package that is open */
let last = ''

if (!process.env['BENCH_BUILT'])
  execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-review-'))
const { url, drop } = await createBenchDatabase(base)
const engine = process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'
console.log(`${count} held packages, ${engine}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`)
try {
  const [databaseUrl, reposDir] = [url, join(base, 'repos')]
  await fill({ databaseUrl, reposDir, codename: 'noble', files: await packages(join(base, 'files')), also: heldOne })
  const service = await startWatched(base, { reposDir, databaseUrl })
  const browser = await openBrowser()
  try {
    const { page } = await seat(browser, service.console, { width: 1440 })
    await page.goto('/login?next=/review')
    await signIn({ page }, ADMIN)
    await titled(page, 'Review')
    await look(page)
    await decideAll(page, service)
  } finally {
    await browser.close()
    await service.stop()
  }
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}

/** @returns the paths of the package files */
async function packages(directory: string): Promise<string[]> {
  await mkdir(directory)
  const paths: string[] = []
  for (let i = 0; i < count; i++) {
    const path = join(directory, `held-${i}.deb`)
    await writeFile(path, await buildDeb({ name: `held-${i}`, fields: { Source: sourceOf(i) } }))
    paths.push(path)
  }
  return paths
}

/** What the gate would have stored: the findings that hold it. Every second one has a fix. */
function heldOne(i: number): Partial<NewRecord['record']> {
  const source = Math.floor(i / 10)
  const findings = Array.from({ length: FINDINGS }, (_, n): Finding => {
    const fixed = n % 2 === 0
    return {
      ...{
        id: `CVE-2026-${10_000 + source * FINDINGS + n}`,
        severity: 'High',
        cvss: 7.5,
        description: 'a hole',
        urls: [],
      },
      ...{ package_name: sourceOf(i), package_version: '1.0-1', package_type: 'deb', sources: ['osv'] },
      ...{ fix_state: fixed ? 'fixed' : 'not-fixed', fix_versions: fixed ? ['9.0-1'] : [] },
      ...{ epss: (i % 100) / 100, epss_percent: i % 100, epss_label: null, in_kev: false, action: 'review' },
      ...{ first_seen: new Date().toISOString(), accepted_by_decision: false, aliases: [] },
    }
  })
  return {
    ...{ status: 'pending_review', cve_status: 'pending_review', held_reason: 'cve_review' },
    ...{ cve_results: JSON.stringify(findings), review_due_at: new Date(Date.now() + 30 * 86_400_000) },
  }
}

async function look(page: Page): Promise<void> {
  const first: number[] = []
  for (let round = 0; round < rounds; round++)
    first.push(await timed(() => page.goto('/review').then(() => rowsAre(page, 50))))
  told('the page until its first 50 rows are shown', first)
  const large: number[] = []
  for (let round = 0; round < rounds; round++)
    large.push(await timed(() => page.goto('/review?size=200').then(() => rowsAre(page, 200))))
  told('the page with 200 rows', large)
  told('a frame while 200 rows scroll', await framesOfScroll(page))
  const steps: number[] = []
  await opened(page)
  for (let round = 0; round < rounds; round++) {
    steps.push(await timed(() => page.keyboard.press('j').then(() => opened(page))))
    // Somebody reads it; meanwhile the neighbours are loaded.
    await page.waitForTimeout(300)
  }
  told('j until the next package is open', steps)
}

async function decideAll(page: Page, service: Watched): Promise<void> {
  await page.goto('/review')
  await rowsAre(page, 50)
  const bar = page.locator('.review .bar')
  await bar.getByLabel('Select all 50 packages on this page').check()
  const select = () => bar.getByRole('button', { name: `Select all ${shown}` }).click()
  told(`select all ${count}`, [await timed(() => select().then(() => bar.getByText(`${shown} selected`).waitFor()))])
  const dialog = page.getByRole('dialog')
  const preview = async () => {
    await bar.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByRole('button', { name: 'Not reachable' }).click()
    await dialog.getByText(`${shown} packages would be decided, 0 would fail`).waitFor({ timeout: LONG_MS })
  }
  told('the form with what would happen to each', [await timed(() => service.during('preview', preview))])
  const approve = async () => {
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText(`Approved ${shown} packages`).waitFor({ timeout: LONG_MS })
  }
  told(`approval of ${count}`, [await timed(() => service.during('approval', approve))])
  const undo = async () => {
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page
      .locator('.toast')
      .getByText(/^Undone|^Not undone/)
      .waitFor({ timeout: LONG_MS })
  }
  told('undo of all', [await timed(() => service.during('undo', undo))])
  console.log(await page.locator('.toast').innerText())
  const { body } = await service.call('GET', '/security/review-queue?per_page=1&include_findings=false')
  console.log(`${body.total} of ${count} wait again`)
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}

function told(what: string, times: readonly number[]): void {
  const [middle, most] = [0.5, 0.95].map((share) => quantile(times, share).toFixed(0))
  console.log(what.padEnd(50), times.length === 1 ? `${middle} ms` : `median ${middle} ms, 95 % within ${most} ms`)
}

async function rowsAre(page: Page, rows: number): Promise<void> {
  await page
    .locator('.review .entry')
    .nth(rows - 1)
    .waitFor()
}

/** Waits until another package is open, with the buttons for its decision. */
async function opened(page: Page): Promise<void> {
  const article = page.locator(`article:not([aria-label="${last}"])`)
  await article.getByRole('button', { name: 'Approve', exact: true }).waitFor()
  last = (await page.locator('article').getAttribute('aria-label')) ?? ''
}

/** Scrolls the list to its end, 120 px with each frame. @returns the time from each frame to the next */
function framesOfScroll(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`new Promise((resolve) => {
    const pane = document.querySelector('.review .list .scroll')
    const frames = []
    let before = performance.now()
    const step = (now) => {
      frames.push(now - before)
      before = now
      pane.scrollBy(0, 120)
      if (pane.scrollTop + pane.clientHeight < pane.scrollHeight - 1) requestAnimationFrame(step)
      else resolve(frames)
    }
    requestAnimationFrame(step)
  })`)
}
