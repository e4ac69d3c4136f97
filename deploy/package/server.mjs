// The program behind gatehouse-server: the service, and the commands that a checkout has as npm scripts.
import { existsSync, readFileSync } from 'node:fs'

const USAGE = `usage: gatehouse-server [service]           the whole service (gatehouse.service)
       gatehouse-server serve               only the repositories (gatehouse-serve.service)
       gatehouse-server restore ARCHIVE     loads a backup into an empty system
       gatehouse-server verify-audit DIR    verifies the audit log
       gatehouse-server --version

Settings are read from the environment, and from /etc/gatehouse where that has no DATABASE_URL. Run restore and verify-audit
as the user of the service: sudo -u gatehouse gatehouse-server restore ARCHIVE`

const { version } = /** @type {{ version: string }} */ (
  JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))
)
process.env['APP_VERSION'] ??= version
const [command = 'service', ...args] = process.argv.slice(2)

if (process.env['DATABASE_URL'] === undefined && command !== 'serve')
  for (const name of ['gatehouse.env', 'secrets.env'])
    if (existsSync(`/etc/gatehouse/${name}`)) process.loadEnvFile(`/etc/gatehouse/${name}`)

switch (command) {
  case 'service':
  case 'serve':
    await load('main')
    break
  case 'restore':
    process.exit(await run('restore', 'restore', args))
    break
  case 'verify-audit':
    process.exit(await run('verify-audit', 'verifyAudit', args))
    break
  case '--version':
    console.log(version)
    break
  default:
    console.log(USAGE)
    process.exit(command === '--help' ? 0 : 2)
}

/**
 * @param {string} file of the built code
 * @param {string} name of a command that it exports
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
async function run(file, name, args) {
  return (await load(file))[name]?.(args, process.env, { print: console.log, complain: console.error }) ?? 1
}

/**
 * @param {string} file of the built code
 * @returns {Promise<Record<string, (...args: unknown[]) => Promise<number>>>}
 */
function load(file) {
  return import(new URL(`dist/${file}.js`, import.meta.url).href)
}
