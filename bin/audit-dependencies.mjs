// `npm run audit-dependencies`: reports faults of the packages in package-lock.json. Ends with 1 when there are any.
// Known vulnerabilities come from SVC_OSV_DIR, as in the service; without it they are not checked, and the output says so.
import { begin } from './runtime.mjs'

await begin()
const { dependencies, unknownLicences, vulnerabilitiesOf } = await import('./dependencies.ts')
const all = dependencies()
const licences = unknownLicences(all)
for (const line of licences) console.log(`licence: ${line}`)

/** @param {string} directory */
async function vulnerabilities(directory) {
  const { migrate, openDatabase } = await import('../src/store/db.ts')
  const { createAdvisories } = await import('../src/store/advisories/advisories.ts')
  const { systemClock } = await import('../src/kernel/clock.ts')
  const { db, close } = await openDatabase('pglite://memory')
  await migrate(db)
  const found = await vulnerabilitiesOf(createAdvisories({ db, clock: systemClock }), directory, all)
  await close()
  return found
}

const directory = process.env['SVC_OSV_DIR']
const found = directory ? await vulnerabilities(directory) : null
for (const line of found ?? []) console.log(`vulnerability: ${line}`)
const said = found
  ? `${found.length} known vulnerabilities`
  : 'vulnerabilities not checked: SVC_OSV_DIR has no advisories for npm'
console.log(`${all.length} packages, ${licences.length} licences that nobody agreed to, ${said}`)
process.exit(licences.length > 0 || (found ?? []).length > 0 ? 1 : 0)
