// Whether two questions are about the same thing, and differ only in page, filter or order. Pure.

interface Question {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
}

/** In a list below one thing (the files of a package), these identify the thing. In other lists they are filters. */
const NAMING = ['version', 'distribution', 'arch', 'format']

export function isAboutSame(one: unknown, other: unknown): boolean {
  return identity(one) === identity(other)
}

function identity(question: unknown): string {
  const { params, query } = (question ?? {}) as Question
  return JSON.stringify([params ?? null, params ? NAMING.map((name) => query?.[name] ?? null) : null])
}
