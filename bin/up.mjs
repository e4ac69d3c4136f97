// `npm run up`: from a fresh clone to a running service with an admin and a published package, everything below ./data.
// Safe to repeat: a second run starts on the same data.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from './build.mjs'
import { begin } from './runtime.mjs'
import { SERVICE_ENV } from './service-env.mjs'
import { sampleDeb } from './sample-deb.mjs'

const data = join(process.cwd(), 'data')
const secretsFile = join(data, 'secrets.json')
const logFile = join(data, 'service.log')
const CODENAME = 'bookworm'

/** @returns {Secrets} */
function secrets() {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  if (!existsSync(secretsFile)) {
    const random = () => randomBytes(32).toString('base64url')
    const made = {
      JWT_SECRET_KEY: random(),
      WEBHOOK_SECRET: random(),
      SETTINGS_ENCRYPTION_KEY: random(),
      admin: { username: 'admin', password: `Gate-${randomBytes(12).toString('base64url')}` },
    }
    writeFileSync(secretsFile, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 })
  }
  return JSON.parse(readFileSync(secretsFile, 'utf8'))
}

/**
 * @typedef {{ api: number, apt: number, rpm: number, console: number }} Ports
 * @typedef {{ username: string, password: string }} Login
 * @typedef {Record<string, string> & { admin: Login }} Secrets
 */

/**
 * Starts the service with its log in a file.
 * @param {Secrets} secrets
 * @returns {Promise<{ child: import('node:child_process').ChildProcess, ports: Ports, notes: string[] }>}
 */
function start({ admin: _admin, ...keys }) {
  const child = spawn(process.execPath, [join('dist', 'main.js')], {
    env: {
      ENV: 'development',
      BIND_HOST: '127.0.0.1',
      REPO_FORMAT: 'all',
      ...SERVICE_ENV,
      ...process.env,
      DATABASE_URL: `pglite://${join(data, 'db')}`,
      REPOS_DIR: join(data, 'repos'),
      ...keys,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 })
  child.stderr.pipe(log, { end: false })
  child.stderr.pipe(process.stderr)
  return new Promise((resolve, reject) => {
    /** @type {Ports} */
    let ports
    /** @type {string[]} */
    const notes = []
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.write(`${line}\n`)
      const { msg, level, ...rest } = line.startsWith('{') ? JSON.parse(line) : { msg: line }
      if (/cannot be had/.test(msg ?? '')) notes.push(msg)
      if (msg === 'listening') ports = rest.ports
      if (msg === 'ready') resolve({ child, ports, notes })
      if (level === 'fatal') process.stderr.write(`${line}\n`)
    })
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}; see ${logFile}`)))
  })
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<{ status: number, body: any }>}
 */
async function request(url, options = {}) {
  const response = await fetch(url, options)
  return { status: response.status, body: await response.json() }
}

/**
 * @param {unknown} body
 * @param {Record<string, string>} headers
 */
const json = (body, headers = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/**
 * Creates the first admin, or logs in as it.
 * @param {string} api
 * @param {Login} login
 */
async function admin(api, { username, password }) {
  const { body } = await request(`${api}/setup/status`)
  if (body.needs_setup) {
    const made = await request(`${api}/setup/`, json({ admin_username: username, admin_password: password }))
    if (made.status !== 200) throw new Error(`the admin could not be created: ${made.body.detail}`)
    return { token: made.body.access_token, note: '' }
  }
  const login = await request(`${api}/auth/token`, json({ username, password }))
  if (login.status === 200) return { token: login.body.access_token, note: '' }
  return { token: null, note: '  (no longer valid: it was changed since)' }
}

/**
 * Uploads through the real gate.
 * @param {string} api
 * @param {string} token
 */
async function publishSample(api, token) {
  const form = new FormData()
  form.set('distribution', CODENAME)
  form.set(
    'file',
    new Blob([sampleDeb({ name: 'gatehouse-sample', version: '1.0', description: 'shows that the repository works' })]),
    'gatehouse-sample_1.0_all.deb',
  )
  const { status, body } = await request(`${api}/upload/`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${token}` },
  })
  if (status === 201) return body.status
  if (status === 409 && body.code === 'already_exists') return body.status
  return `not uploaded: ${body.detail}`
}

await begin()
await build()
const kept = secrets()
const { child, ports, notes } = await start(kept)
const api = `http://127.0.0.1:${ports.api}/api/v1`
const apt = `http://127.0.0.1${ports.apt === 80 ? '' : `:${ports.apt}`}`
const { token, note } = await admin(api, kept.admin)
const sample = token ? await publishSample(api, token) : 'not checked'

console.log(`
Gatehouse runs. Everything it keeps is under ${data}

  Console          http://127.0.0.1:${ports.console}/
  API              ${api}
  API docs         http://127.0.0.1:${ports.api}/docs
  apt, apk         ${apt}/repos   ${apt}/apk
  dnf, zypper      http://127.0.0.1:${ports.rpm}/repos
${notes.map((line) => `\n  Note: ${line}`).join('')}
  User             ${kept.admin.username}
  Password         ${kept.admin.password}${note}
  Sample package   gatehouse-sample 1.0 in ${CODENAME}: ${sample}

On an apt client of this machine, as root:

  curl -fsSo /etc/apt/keyrings/gatehouse.asc ${apt}/repos/gpg.key
  cat > /etc/apt/sources.list.d/gatehouse.sources <<'EOF'
Types: deb
URIs: ${apt}/repos
Suites: ${CODENAME}
Components: main
Architectures: amd64
Signed-By: /etc/apt/keyrings/gatehouse.asc
EOF
  apt-get update && apt-get install gatehouse-sample

Ctrl-C stops it; the log is in ${logFile}`)

child.removeAllListeners('exit')
child.once('exit', (code) => process.exit(code ?? 1))
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill('SIGTERM'))
