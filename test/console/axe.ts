// What assistive technology would stumble over: WCAG 2.2 AA, and what axe calls best practice, such as landmarks and headings.
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** The options of a field stand beside the dialog that has it. */
const OPTIONS = '[role=presentation][data-position]'

/** @returns the violations in the light and in the dark scheme, with their elements; a page is loaded only once for both */
export async function violationsIn(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
    // Without legacy mode every analysis opens another page for frames, which the console does not have.
    const axe = new AxeBuilder({ page }).withTags(RULES).setLegacyMode(true).exclude(OPTIONS)
    for (const { id, nodes } of (await axe.analyze()).violations) {
      const some = nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))
      found.push(`${colorScheme}: ${id}: ${some.join(' | ')}`)
    }
  }
  return found
}

/** How many pixels the page is wider than its window. */
export const widthOver = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')
