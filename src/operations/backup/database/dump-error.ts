// Why a dump cannot be read or loaded.

/** The message is a sentence for people: it names what was expected and what came. */
export class DumpError extends Error {
  override readonly name = 'DumpError'
}
