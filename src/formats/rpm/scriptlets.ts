// Scripts in an rpm header, which run when the package is installed or removed.
import { TYPE, type Header } from './header.ts'
import { TAG } from './tags.ts'

/** Tags of a script's text and of its interpreter; a script may have only an interpreter (`%post -p /sbin/ldconfig`). */
const SCRIPTS: readonly { name: string; script: number; program?: number }[] = [
  { name: 'pretrans', script: TAG.PRETRANS, program: TAG.PRETRANSPROG },
  { name: 'pre', script: TAG.PREIN, program: TAG.PREINPROG },
  { name: 'post', script: TAG.POSTIN, program: TAG.POSTINPROG },
  { name: 'preun', script: TAG.PREUN, program: TAG.PREUNPROG },
  { name: 'postun', script: TAG.POSTUN, program: TAG.POSTUNPROG },
  { name: 'preuntrans', script: TAG.PREUNTRANS },
  { name: 'postuntrans', script: TAG.POSTUNTRANS },
  { name: 'posttrans', script: TAG.POSTTRANS, program: TAG.POSTTRANSPROG },
  { name: 'verify', script: TAG.VERIFYSCRIPT, program: TAG.VERIFYSCRIPTPROG },
  { name: 'triggers', script: TAG.TRIGGERSCRIPTS },
  { name: 'filetriggers', script: TAG.FILETRIGGERSCRIPTS },
  { name: 'transfiletriggers', script: TAG.TRANSFILETRIGGERSCRIPTS },
]

export function scriptletNames(header: Header): string[] {
  return SCRIPTS.filter(({ script, program }) => header.has(script) || (program && header.has(program))).map(
    ({ name }) => name,
  )
}

/** Each script with a text; several triggers make one file. */
export function* scripts(header: Header): Generator<{ name: string; content: Uint8Array }> {
  for (const { name, script } of SCRIPTS) {
    const entry = header.entries.find(({ tag }) => tag === script)
    if (!entry) continue
    const bytes = header.bytes.subarray(entry.start, entry.end - 1)
    // Line feeds replace NUL, at which a reader of text would stop.
    const content = entry.type === TYPE.STRING_ARRAY ? Buffer.from(bytes.map((byte) => byte || 0x0a)) : bytes
    yield { name, content }
  }
}
