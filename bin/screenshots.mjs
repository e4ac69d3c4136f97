// Screenshots of every page of the console, in light, in dark and 390 px wide, in data/screenshots. People look at them.
//
//   npm run up            in one terminal
//   npm run screenshots   in another; `-- --readme` takes only the two of README.md, in docs/pictures. CONSOLE_URL, CONSOLE_USER and CONSOLE_PASSWORD name another service or person
//
// Needs Chromium of Debian's packages (`apt-get install chromium`), or CHROMIUM with the path of another.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const isReadme = process.argv.includes('--readme')
const target = isReadme ? join(root, 'docs', 'pictures') : join(root, 'data', 'screenshots')
const secretsFile = join(root, 'data', 'secrets.json')
const kept = existsSync(secretsFile) ? JSON.parse(readFileSync(secretsFile, 'utf8')) : { admin: {} }
const base = process.env['CONSOLE_URL'] ?? 'http://127.0.0.1:3003/'
const username = process.env['CONSOLE_USER'] ?? kept.admin.username
const password = process.env['CONSOLE_PASSWORD'] ?? kept.admin.password

const PAGES = [
  ...[
    '',
    'review',
    'packages',
    'packages/gatehouse-sample',
    'upload',
    'uploads',
    'import',
    'import?tab=updates',
    'import?tab=jobs',
    'import?tab=mirrors',
    'import?tab=reserved',
  ],
  ...[
    'distributions',
    'distributions/bookworm',
    'repositories',
    'vulnerabilities',
    'decisions',
    'audit',
    'tasks',
    'drift',
  ],
  ...['users', 'tokens', 'machines', 'settings', 'settings/validation', 'settings/ldap', 'backup', 'health', 'logs'],
  ...['account', 'account/tokens', 'device'],
]
/** @type {[colorScheme: 'light' | 'dark', width: number][]} */
const LOOKS = isReadme
  ? [['light', 1280]]
  : [
      ['light', 1280],
      ['dark', 1280],
      ['light', 390],
    ]

mkdirSync(target, { recursive: true })
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
})
for (const [colorScheme, width] of LOOKS) {
  const context = await browser.newContext({ baseURL: base, colorScheme, viewport: { width, height: 900 } })
  const page = await context.newPage()
  const take = (/** @type {string} */ name) => {
    const stem = name.replace(/\W+/g, '-') || 'overview'
    const path = join(target, isReadme ? `${stem}.png` : `${stem}-${colorScheme}-${width}.png`)
    return page.screenshot({ path, fullPage: !isReadme })
  }
  await page.goto('/login')
  await page.getByLabel('User name').waitFor()
  if (!isReadme) await take('login')
  await page.getByLabel('User name').fill(username)
  await page.locator('input[name=password]').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  for (const path of isReadme ? ['', 'review'] : PAGES) {
    await page.locator('#page-title').waitFor()
    await page.goto(`/${path}`)
    await page.locator('#page-title').waitFor()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    await take(path)
  }
  await context.close()
}
await browser.close()
console.log(`${isReadme ? 2 : (PAGES.length + 1) * LOOKS.length} pictures in ${target}`)
