// Which secrets are too weak for production. Knows values only to judge them; never repeats one.

/** Shortest JWT_SECRET_KEY in production (specification, "Authentication", 10). */
export const JWT_SECRET_MINIMUM = 32

/** Words that ship as defaults in examples, compared without case, digits and punctuation. */
// prettier-ignore
const DEFAULT_WORDS = new Set([
  'changeme', 'changemenow', 'changeit', 'changethis', 'changemeinproduction', 'pleasechangeme', 'replaceme',
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
 * @param minimum least number of characters
 */
export function weakness(secret: string | null, minimum = 1): string | null {
  if (!secret) return 'is not set'
  const letters = secret.toLowerCase().replace(/[^a-z]/g, '')
  const known = DEFAULT_WORDS.has(letters) || DEFAULT_WORDS.has(repeatedUnit(letters)) || isCounting(secret)
  if (known || PLACEHOLDERS.some((part) => letters.includes(part))) return 'is a well-known default'
  if (secret.length < minimum) return `is shorter than ${minimum} characters`
  return null
}

/** True for text of so few different characters that its length says nothing about its strength. */
export function isMonotonous(secret: string): boolean {
  return new Set(secret).size < 6
}

/** `12345`, `1234567890123`: no letters at all and each digit follows the one before. */
function isCounting(text: string): boolean {
  return (
    /^\d+$/.test(text) && [...text].every((digit, at) => at === 0 || Number(digit) === (Number(text[at - 1]) + 1) % 10)
  )
}

/** The shortest text that, repeated and perhaps cut at its end, makes up the whole. */
function repeatedUnit(text: string): string {
  for (let length = 1; length <= text.length / 2; length++) {
    const unit = text.slice(0, length)
    if (unit.repeat(Math.ceil(text.length / length)).slice(0, text.length) === text) return unit
  }
  return text
}
