// Copies text, also over plain HTTP, where browsers have no `navigator.clipboard`.

/**
 * @param shown the element that shows the text; it stays selected when nothing else works, for Ctrl+C
 * @returns whether the text is in the clipboard
 */
export async function copy(text: string, shown?: HTMLElement | null): Promise<boolean> {
  const { clipboard } = navigator as { clipboard?: Clipboard }
  try {
    if (clipboard) {
      await clipboard.writeText(text)
      return true
    }
  } catch {
    // Not allowed: the older way may be.
  }
  return shown ? copySelected(shown) : copyHidden(text)
}

function copySelected(shown: HTMLElement): boolean {
  getSelection()?.selectAllChildren(shown)
  return run()
}

function copyHidden(text: string): boolean {
  const field = document.createElement('textarea')
  const focused = document.activeElement
  field.value = text
  field.style.position = 'fixed'
  field.style.opacity = '0'
  document.body.append(field)
  field.select()
  const done = run()
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return done
}

/** Deprecated, but the only way without a secure context. */
function run(): boolean {
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other way
    return document.execCommand('copy')
  } catch {
    return false
  }
}
