// Does ten tasks of people in the console, in Chromium: how many clicks, keys and fields each takes, and how many seconds the console
// lets them wait. Usage: npx node bench/tasks.ts [--rounds 3]
// The counts are what to compare between builds; seconds are of a person who knows the way and types at once.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { build } from '../bin/build.mjs'
import { openBrowser, seat, signIn, titled } from '../test/console/browser.ts'
import { readAdvisories } from '../test/gate/read-advisories.ts'
import { buildDeb } from '../test/samples/deb.ts'
import { writeAdvisories } from '../test/samples/osv.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../test/service.ts'
import { median } from './database.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } })
const SOURCE = 'texlive-bin'
const SIBLINGS = 28

/** A person's hand: each act is counted. */
class Hand {
  counts = { clicks: 0, keys: 0, fields: 0 }
  readonly page: Page
  constructor(page: Page) {
    this.page = page
  }
  async click(what: Locator): Promise<void> {
    this.counts.clicks++
    await what.click()
  }
  async press(key: string): Promise<void> {
    this.counts.keys++
    await this.page.keyboard.press(key)
  }
  async fill(what: Locator, text: string): Promise<void> {
    this.counts.fields++
    await what.fill(text)
  }
  button(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole('button', { name, exact: typeof name === 'string' }))
  }
  link(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole('link', { name, exact: typeof name === 'string' }).first())
  }
  /** Opens what the search of all pages finds first. */
  async find(text: string, found: RegExp): Promise<void> {
    await this.press('Control+k')
    await this.fill(this.page.getByLabel('Search packages, CVEs and pages'), text)
    await this.page.getByRole('dialog').getByRole('button', { name: found }).first().waitFor()
    await this.press('Enter')
  }
  async choose(list: string, option: string | RegExp): Promise<void> {
    await this.click(this.page.getByRole('combobox', { name: list }))
    await this.click(this.page.getByRole('option', { name: option }))
  }
}

interface Task {
  name: string
  /** begins on the Overview; `round` tells apart what each round uses up */
  work(hand: Hand, round: number): Promise<void>
}

let files = ''

const TASKS: Task[] = [
  {
    name: 'accept the risk of the package that is first in the queue',
    async work(hand) {
      await hand.link(/^Review/)
      await hand.button('Approve')
      await hand.button('Not reachable')
      await hand.press('Control+Enter')
      await hand.page.locator('.toast').getByText('Published in noble').waitFor()
    },
  },
  {
    name: `accept the risk of ${SIBLINGS} packages of one source`,
    async work(hand) {
      await hand.link(/^Review/)
      hand.counts.clicks += 2
      await hand.page.getByLabel('Groups').selectOption('by source package')
      await hand.click(hand.page.locator('.entry', { hasText: `${SIBLINGS} packages` }).getByRole('link'))
      await hand.button(`Approve all ${SIBLINGS}`)
      await hand.button('Not reachable')
      await hand.press('Control+Enter')
      await hand.page.locator('.toast').getByText(`Approved ${SIBLINGS} packages`).waitFor()
    },
  },
  {
    name: 'take that back',
    async work(hand) {
      await hand.button(/^Undo/)
      await hand.page
        .locator('.toast')
        .getByText(/^Undone/)
        .waitFor()
    },
  },
  {
    name: 'reject a package with a reason of one’s own',
    async work(hand) {
      await hand.link(/^Review/)
      await hand.button('Reject')
      await hand.fill(hand.page.getByLabel('Reason'), 'exploited in the wild, INC-9')
      await hand.press('Control+Enter')
      await hand.page.locator('.toast').waitFor()
    },
  },
  {
    name: 'which packages have CVE-2026-11003',
    async work(hand) {
      await hand.find('CVE-2026-11003', /CVE-2026-11003/)
      await hand.page.getByText('held-3').first().waitFor()
    },
  },
  {
    name: 'who downloaded a package',
    async work(hand) {
      await hand.find('fine-0', /fine-0/)
      await titled(hand.page, /fine-0/)
      await hand.click(hand.page.getByRole('tab', { name: 'Downloads' }))
      await hand.page
        .getByText(/ownloaded/)
        .first()
        .waitFor()
    },
  },
  {
    name: 'upload a package and see what became of it',
    async work(hand, round) {
      await hand.link('Upload')
      hand.counts.clicks += 2
      await hand.page.locator('input[type=file]').setInputFiles(join(files, `fresh-${round}.deb`))
      await hand.choose('Distribution', 'noble')
      await hand.button(/^Send/)
      await hand.page.getByRole('article').getByText('published').first().waitFor()
    },
  },
  {
    name: 'take a served package away from clients',
    async work(hand, round) {
      await hand.find(`fine-${round}`, new RegExp(`fine-${round}`))
      await titled(hand.page, new RegExp(`fine-${round}`))
      await hand.button('Quarantine')
      const dialog = hand.page.getByRole('dialog')
      await hand.fill(dialog.getByLabel('Reason'), 'INC-10')
      await hand.click(dialog.getByRole('button', { name: /^Quarantine/ }))
      await hand.page.getByText('quarantined').first().waitFor()
    },
  },
  {
    name: 'a token for a pipeline',
    async work(hand, round) {
      await hand.link('API tokens')
      await hand.button('New token')
      await hand.fill(hand.page.getByRole('textbox', { name: 'Name' }), `pipeline ${round}`)
      await hand.choose('Role', 'Uploader')
      await hand.button('Create')
      await hand.page.getByLabel('Token', { exact: true }).waitFor()
      await hand.button('I have stored it')
    },
  },
  {
    name: 'what was decided, as a file',
    async work(hand) {
      await hand.link('Audit')
      await hand.choose('Action', /APPROVE|DECISION/)
      const [saved] = await Promise.all([
        hand.page.waitForEvent('download'),
        hand.click(hand.page.getByRole('link', { name: /CSV/ })),
      ])
      await saved.path()
    },
  },
]

async function seed(service: Service): Promise<void> {
  const send = async (name: string, fields = {}) => {
    const { body } = await service.upload(await buildDeb({ name, fields }), `${name}.deb`, { distribution: 'noble' })
    return String(body.status)
  }
  const rounds = Number(values.rounds)
  for (let i = 0; i < 10 + 2 * rounds; i++) await send(`held-${i}`)
  for (let i = 0; i < SIBLINGS; i++) await send(`texlive-${i}`, { Source: SOURCE })
  for (let i = 0; i < rounds; i++) {
    await send(`fine-${i}`)
    await writeFile(join(files, `fresh-${i}.deb`), await buildDeb({ name: `fresh-${i}` }))
  }
}

await build()
const base = await mkdtemp(join(tmpdir(), 'bench-tasks-'))
files = base
const about = { ecosystem: 'Ubuntu:24.04:LTS', fixed: null, severity: 'high' as const }
const named = [SOURCE, ...Array.from({ length: 40 }, (_, i) => `held-${i}`)]
await writeAdvisories(
  base,
  named.map((name, i) => ({ ...about, package: name, id: `USN-1${i}-1`, cve: `CVE-2026-1${1000 + i - 1}` })),
)
const service = await startService({ optimized: true, env: { SVC_OSV_DIR: base } })
const browser = await openBrowser()
try {
  await readAdvisories(service)
  await seed(service)
  const { page } = await seat(browser, service.console, { width: 1440 })
  page.setDefaultTimeout(30_000)
  await page.goto('/login')
  await signIn({ page }, ADMIN)
  await titled(page, 'Overview')
  const took = new Map<Task, number[]>()
  const counts = new Map<Task, Hand['counts']>()
  for (let round = 0; round < Number(values.rounds); round++)
    for (const task of TASKS) {
      if (task.name !== 'take that back') await page.goto('/').then(() => titled(page, 'Overview'))
      const hand = new Hand(page)
      const began = performance.now()
      await task.work(hand, round)
      took.set(task, [...(took.get(task) ?? []), (performance.now() - began) / 1000])
      counts.set(task, hand.counts)
    }
  console.log(
    `load ${loadavg()[0]!.toFixed(1)}, ${values.rounds} rounds, medians\n| task | clicks | keys | fields | seconds |\n|---|---|---|---|---|`,
  )
  for (const [task, seconds] of took) {
    const { clicks, keys, fields } = counts.get(task)!
    console.log(`| ${task.name} | ${clicks} | ${keys} | ${fields} | ${median(seconds).toFixed(1)} |`)
  }
} catch (error) {
  const [page] = browser.contexts().flatMap((context) => context.pages())
  await page?.screenshot({ path: join(tmpdir(), 'bench-tasks.png') })
  throw error
} finally {
  await browser.close()
  await service.stop()
  await removeTemporary()
  await rm(base, { recursive: true, force: true })
}
