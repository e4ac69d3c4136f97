// What somebody else changed of a document that is open in a form.

type Document = Readonly<Record<string, unknown>>

/** Keys with other values now; of a part that both have, its own keys. The time of the change is no difference. */
export function differences(now: Document, before: Document): [key: string, value: unknown][] {
  return Object.entries(now).flatMap(([key, value]): [string, unknown][] => {
    const was = before[key]
    if (key === 'updated_at' || JSON.stringify(value) === JSON.stringify(was)) return []
    return isPart(value) && isPart(was) ? differences(value, was) : [[key, value]]
  })
}

const isPart = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
