// Checks whether a secret is strong enough for production. Never repeats its value.

/** JWT_SECRET_KEY: the length is from the specification ("Authentication", 10); 80 bits cannot be guessed offline. */
export const SIGNING_SECRET = { length: 32, bits: 80 }
/** Secrets that can be guessed only online, by requests or deliveries. */
export const ONLINE_SECRET = { length: 1, bits: 24 }

/** Words that examples use as defaults, compared without case, digits and punctuation. */
// prettier-ignore
const DEFAULT_WORDS = new Set([
  'changeme', 'changemenow', 'changeit', 'changethis', 'changemeinproduction', 'pleasechangeme', 'replaceme', 'replace',
  'secret', 'secretkey', 'mysecret', 'mysecretkey', 'supersecret', 'supersecretkey', 'topsecret', 'yoursecret',
  'yoursecretkey', 'yoursecretkeyhere', 'jwtsecret', 'jwtsecretkey', 'jwtsecretkeychangeme', 'webhooksecret',
  'vendorkey', 'licensekey', 'password', 'passw', 'pass', 'passwd', 'admin', 'administrator', 'root', 'default',
  'test', 'testing', 'testsecret', 'dev', 'devsecret', 'devsecretkey', 'development', 'developmentsecret',
  'example', 'insecure', 'insecuresecret', 'unsafe', 'none', 'null', 'undefined', 'todo', 'key', 'token', 'letmein',
  'qwerty', 'foobar', 'repoddevpassword', 'gatehouse', 'keyboardcat',
])

/** Parts of placeholders that no generated secret contains by chance. */
const PLACEHOLDERS = [
  'changeme',
  'changethis',
  'replaceme',
  'replacethis',
  'replacewith',
  'pleasechange',
  'insertyour',
  'putyour',
]

/**
 * Why a secret is refused in production, as the end of the sentence "NAME …"; null when it is acceptable.
 * @param least.length characters
 * @param least.bits of `estimatedBits`
 */
export function weakness(secret: string | null, least: { length: number; bits: number }): string | null {
  if (!secret) return 'is not set'
  const letters = secret.toLowerCase().replace(/[^a-z]/g, '')
  const known = DEFAULT_WORDS.has(letters) || DEFAULT_WORDS.has(repeatedUnit(letters))
  if (known || PLACEHOLDERS.some((part) => letters.includes(part))) return WELL_KNOWN
  if (secret.length < least.length) return `is shorter than ${least.length} characters`
  const bits = Math.floor(estimatedBits(secret))
  if (bits < least.bits)
    return `is too easy to guess: about ${bits} bits of entropy where ${least.bits} are needed; \`openssl rand -base64 32\` makes a good one`
  return null
}

export const WELL_KNOWN = 'is a well-known default'

/** Alphabet, keyboard rows and default words: text found here is easy to guess. */
const DICTIONARY = `abcdefghijklmnopqrstuvwxyz qwertyuiop asdfghjkl zxcvbnm 0123456789 ${[...DEFAULT_WORDS].join(' ')} `
/** Only this much is estimated: the rest of a longer text could only increase the estimate. */
const JUDGED_CHARACTERS = 1024
/** Shortest piece that counts as a repetition or a sequence; shorter ones occur in random text. */
const SHORTEST_PIECE = 3

/**
 * A rough upper estimate of how hard a text is to guess, in bits. A character by itself costs the logarithm of the
 * number of different characters; a repetition of earlier text, a part of the dictionary, or a sequence (`aaaa`,
 * `4567`, `zyxw`) costs about one character, however long it is.
 */
export function estimatedBits(secret: string): number {
  const text = secret.slice(0, JUDGED_CHARACTERS).toLowerCase()
  const perCharacter = Math.log2(Math.max(2, new Set(secret.slice(0, JUDGED_CHARACTERS)).size))
  let bits = 0
  for (let at = 0; at < text.length;) {
    const piece = Math.max(sequenceAt(text, at), repetitionAt(text, at))
    const isPiece = piece >= SHORTEST_PIECE
    bits += isPiece ? Math.min(perCharacter * piece, perCharacter + Math.log2(piece)) : perCharacter
    at += isPiece ? piece : 1
  }
  return bits
}

/** How many characters from here differ from the one before by the same step of 0, 1 or -1. */
function sequenceAt(text: string, at: number): number {
  const step = text.charCodeAt(at + 1) - text.charCodeAt(at)
  if (!(Math.abs(step) <= 1)) return 1
  let end = at + 1
  while (text.charCodeAt(end + 1) - text.charCodeAt(end) === step) end++
  return end + 1 - at
}

/** How many characters from here occurred before, in the text or in the dictionary. */
function repetitionAt(text: string, at: number): number {
  const before = DICTIONARY + text.slice(0, at)
  let length = 0
  // A repetition may overlap itself, as `ab` does in `ababab`.
  while (at + length < text.length) {
    const piece = text.slice(at, at + length + 1)
    if ((before + piece.slice(0, -1)).indexOf(piece) === -1) break
    length++
  }
  return length
}

/** The shortest text whose repetition, perhaps cut at its end, is the whole text. */
function repeatedUnit(text: string): string {
  for (let length = 1; length <= text.length / 2; length++) {
    const unit = text.slice(0, length)
    if (unit.repeat(Math.ceil(text.length / length)).slice(0, text.length) === text) return unit
  }
  return text
}
