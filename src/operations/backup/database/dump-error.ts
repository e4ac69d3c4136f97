// Why a dump cannot be read or loaded.

/** The message is a sentence for people: it names the expected and the actual value. */
export class DumpError extends Error {
  override readonly name = 'DumpError'
}
