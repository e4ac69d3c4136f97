// Lines of CSV (RFC 4180) that spreadsheets read without running anything.

/** One line. Text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function csvLine(values: readonly (string | number | boolean | null)[]): string {
  return `${values.map(cellOf).join(',')}\r\n`
}

function cellOf(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
