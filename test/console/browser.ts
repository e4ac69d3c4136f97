// Chromium of Debian's packages, and pages that record everything that a person should never see in the browser's own console.
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { need } from '../need.ts'

export interface Seat {
  page: Page
  context: BrowserContext
  /** violations of the content policy, script errors, and failed loads, since the start */
  faults: string[]
}

export interface Person {
  username: string
  password: string
}

/** How long a stalled machine may take for one step; usually a page needs a second. */
const STEP_MS = 120_000

export async function openBrowser(): Promise<Browser> {
  need('chromium')
  const quiet = [
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ]
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', ...quiet] })
}

export async function seat(
  browser: Browser,
  base: string,
  options: { colorScheme?: 'light' | 'dark'; width?: number } = {},
): Promise<Seat> {
  const context = await browser.newContext({
    baseURL: base,
    colorScheme: options.colorScheme ?? 'light',
    viewport: { width: options.width ?? 1280, height: 900 },
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(STEP_MS)
  const faults: string[] = []
  const page = await context.newPage()
  watch(page, faults)
  return { page, context, faults }
}

export function watch(page: Page, faults: string[]): void {
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error.message}`))
  page.on('console', (message) => {
    // Refused calls are part of some tests; the browser notes each as a failed load.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
      faults.push(`${page.url()}: ${message.text()}`)
  })
}

/** Types name and password on the page that asks for them. */
export async function signIn({ page }: Pick<Seat, 'page'>, { username, password }: Person): Promise<void> {
  await page.getByLabel('User name').fill(username)
  await page.locator('input[name=password]').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

export const titled = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()
