// All colours and sizes. Contrast was measured with axe in both schemes: shade 8 and the dimmed colours below pass 4.5:1.
import { createTheme, type CSSVariablesResolver } from '@mantine/core'

/** The button of a dialog has a name, and its head is none of the page. */
const dialog = {
  defaultProps: { closeButtonProps: { 'aria-label': 'Close' }, attributes: { header: { role: 'presentation' } } },
}

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: '"Geist Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace',
  headings: { fontWeight: '650' },
  components: { Modal: dialog, Drawer: dialog },
})

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5a6068',
    '--mantine-color-anchor': 'var(--mantine-color-indigo-8)',
    '--gh-line': 'var(--mantine-color-gray-3)',
    '--gh-soft': 'var(--mantine-color-gray-0)',
    '--gh-selected': 'var(--mantine-color-indigo-0)',
    '--gh-good': 'var(--mantine-color-teal-8)',
    '--gh-care': '#b25e00',
    '--gh-bad': 'var(--mantine-color-red-8)',
    '--gh-review': 'var(--mantine-color-violet-7)',
  },
  dark: {
    '--mantine-color-dimmed': '#a9aeb5',
    '--mantine-color-anchor': 'var(--mantine-color-indigo-3)',
    '--gh-line': 'var(--mantine-color-dark-4)',
    '--gh-soft': 'var(--mantine-color-dark-6)',
    '--gh-selected': 'var(--mantine-color-dark-5)',
    '--gh-good': 'var(--mantine-color-teal-5)',
    '--gh-care': 'var(--mantine-color-yellow-5)',
    '--gh-bad': 'var(--mantine-color-red-5)',
    '--gh-review': 'var(--mantine-color-violet-4)',
  },
})
