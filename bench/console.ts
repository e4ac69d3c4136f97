// Measures how long a person waits in the console with many packages: the next package of the review, a filter, a long page.
// Usage: node bin/with-postgres.mjs npx node bench/console.ts [--packages 10000] [--rounds 20]
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { openBrowser, seat, signIn, titled } from '../test/console/browser.ts'
import { ADMIN, startService } from '../test/service.ts'
import { createBenchDatabase, quantile } from './database.ts'
import { fillRows } from './rows.ts'

const { values } = parseArgs({
  options: { packages: { type: 'string', default: '10000' }, rounds: { type: 'string', default: '20' } },
})
const count = Number(values.packages)
const rounds = Number(values.rounds)

execFileSync(process.execPath, [join(import.meta.dirname, '../bin/build.mjs')], { stdio: 'inherit' })
const base = await mkdtemp(join(tmpdir(), 'bench-console-'))
const { url, drop } = await createBenchDatabase(base)
const times = new Map<string, number[]>()
/** processor time of the page's main thread, which depends less on the load of the machine than the elapsed time */
const processor = new Map<string, number[]>()
let used = async () => NaN
/** the package that is open in the review */
let last = ''
try {
  await (await fillRows(url, count)).close()
  const service = await startService({ reposDir: join(base, 'repos'), databaseUrl: url, env: { REPO_FORMAT: 'all' } })
  const browser = await openBrowser()
  try {
    const { page, context } = await seat(browser, service.console)
    const devtools = await context.newCDPSession(page)
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    used = async () => {
      const { metrics } = await devtools.send('Performance.getMetrics')
      return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN)
    }
    await page.goto('/login?next=/review')
    await signIn({ page }, ADMIN)
    await titled(page, 'Review')
    await decided(page)
    for (let round = 0; round < rounds; round++) {
      await measure(page, 'review: j, until the next package is open', () => page.keyboard.press('j'), decided)
      // Somebody reads it; meanwhile the neighbours are loaded.
      await pause(500)
    }
    for (let round = 0; round < rounds; round++) {
      await page.goto('/packages')
      await rowsAre(page, 50)
      const status = page.getByRole('combobox', { name: 'Status' })
      await status.click()
      const held = page.getByRole('option', { name: 'in review' })
      await held.waitFor()
      // In the unfiltered list the first package is held and the second is not.
      const filtered = () => page.locator('tbody tr').nth(1).filter({ hasText: 'in review' }).waitFor()
      await measure(page, 'packages: choosing a status, until its rows are shown', () => held.click(), filtered)
    }
    for (const size of [100, 200])
      for (let round = 0; round < rounds; round++) {
        await page.goto('/packages')
        await rowsAre(page, 50)
        const choose = () => page.getByLabel('Rows on a page').selectOption(String(size))
        await measure(page, `packages: choosing ${size} rows, until they are shown`, choose, () => rowsAre(page, size))
      }
  } finally {
    await browser.close()
    await service.stop()
  }
} finally {
  await drop()
  await rm(base, { recursive: true, force: true })
}
const engine = process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'PGlite'
console.log(`${count} packages, ${engine}, Node ${process.version}, ${rounds} rounds, load ${loadavg()[0]?.toFixed(1)}`)
for (const [what, list] of times)
  console.log(
    what.padEnd(60),
    `median ${quantile(list, 0.5).toFixed(0)} ms, 95 % within ${quantile(list, 0.95).toFixed(0)} ms,`,
    `of the page's processor time ${quantile(processor.get(what) ?? [], 0.5).toFixed(0)} ms`,
  )

/** The time includes the driver's own communication with the browser, a few milliseconds each. */
async function measure(
  page: Page,
  what: string,
  act: () => Promise<unknown>,
  done: (page: Page) => Promise<unknown>,
): Promise<void> {
  const before = await used()
  const started = performance.now()
  await act()
  await done(page)
  times.set(what, [...(times.get(what) ?? []), performance.now() - started])
  processor.set(what, [...(processor.get(what) ?? []), (await used()) - before])
}

/** Waits until another package is open, with the buttons for its decision. */
async function decided(page: Page): Promise<void> {
  const article = page.locator(`article:not([aria-label="${last}"])`)
  await article.getByRole('button', { name: 'Approve', exact: true }).waitFor()
  last = (await page.locator('article').getAttribute('aria-label')) ?? ''
}

async function rowsAre(page: Page, count: number): Promise<void> {
  await page
    .locator('tbody tr')
    .nth(count - 1)
    .waitFor()
}
