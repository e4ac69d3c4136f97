// Requests that provoke each error code on a running service, and the database rows they need.
import { findDistribution } from '../../../src/formats/index.ts'
import { createHash } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { ProblemCode } from '../../../src/domain/problem.ts'
import type { Db } from '../../../src/store/db.ts'
import { buildDeb } from '../../samples/deb.ts'
import { PASSWORD, ROOT, startGate, type Gate } from '../harness.ts'
import { form, send, type Reply } from '../http.ts'

type Case = [code: ProblemCode, status: number, when: string, provoke: (gate: Gate) => Promise<Reply>]

export const rejectedBytes = () => buildDeb({ name: 'refused-once' })
/** A program that asks for a session. */
async function program(gate: Gate) {
  const { body } = await gate.call('POST', '/auth/device', { as: null, body: { client: 'a program' } })
  const ask = () => gate.call('POST', '/auth/device/token', { as: null, body: { device_code: body['device_code'] } })
  return { ask, userCode: String(body['user_code']) }
}

const digest = (algorithm: string, bytes: Uint8Array) => createHash(algorithm).update(bytes).digest('hex')

/** Prepares an LDAP user, a rejected record, and triggers that fail when certain rows are touched. */
export async function ordinaryDatabase(db: Db): Promise<void> {
  const now = new Date()
  await db
    .insertInto('users')
    .values({
      username: 'from-ldap',
      username_key: 'from-ldap',
      password_hash: null,
      role: 'reader',
      auth_source: 'ldap',
      created_at: now,
    })
    .execute()
  const bytes = await rejectedBytes()
  const sha256 = digest('sha256', bytes)
  const filename = 'refused-once_1.0-1_amd64.deb'
  const definition = JSON.stringify(findDistribution('jammy')?.distribution)
  await db
    .insertInto('distributions')
    .values({ codename: 'jammy', format: 'deb', definition, initialized_at: now, rejected_count: 1 })
    .execute()
  await db
    .insertInto('blobs')
    .values({
      sha256,
      format: 'deb',
      filename,
      size_bytes: bytes.length,
      sha512: digest('sha512', bytes),
      sha1: digest('sha1', bytes),
      md5: digest('md5', bytes),
      facts: '{}',
      files: Buffer.alloc(0),
      created_at: now,
    })
    .execute()
  await db
    .insertInto('packages')
    .values({
      distribution: 'jammy',
      format: 'deb',
      name: 'refused-once',
      version: '1.0-1',
      arch: 'amd64',
      status: 'rejected',
      cve_status: 'blocked',
      sha256,
      received_sha256: sha256,
      imported_at: now,
      imported_by: 'somebody',
      import_method: 'upload',
      pipeline: '{}',
      validation_steps: '[]',
      coverage: '{}',
      deps_missing: '[]',
      tags: '[]',
      changes: 1,
      manifest_changes: 1,
    })
    .execute()
  await sql`create function poison() returns trigger language plpgsql as $$ begin
    if new.username = 'poison' then raise exception 'poison in the table: % %', new.username, new.password_hash; end if; return new; end $$`.execute(
    db,
  )
  await sql`create trigger poison before insert on users for each row execute function poison()`.execute(db)
  await sql`create function stubborn() returns trigger language plpgsql as $$ begin
    if old.name = 'stubborn' then return null; end if; return old; end $$`.execute(db)
  await sql`create trigger stubborn before delete on packages for each row execute function stubborn()`.execute(db)
}

const put = async (gate: Gate, name: string, fields: Record<string, string> = {}, more: object = {}, query = '') =>
  gate.upload(await buildDeb({ name, ...more }), { distribution: 'focal', ...fields }, { query })
const patch = (gate: Gate, validation: object) => gate.call('PATCH', '/settings/', { body: { validation } })
const user = (gate: Gate, username: string, body: object, as?: string) =>
  gate.call('PATCH', `/auth/users/${username}`, { body, ...(as ? { as } : {}) })

export const ORDINARY: Case[] = [
  ['validation_error', 400, 'a field is missing', (gate) => gate.call('POST', '/auth/users', { body: {} })],
  [
    'wrong_password',
    400,
    'the current password is wrong',
    (gate) =>
      gate.call('POST', '/auth/change-password', {
        as: gate.people.reader.session,
        body: { current_password: 'Wrong-pass-1', new_password: 'Other-pass-1' },
      }),
  ],
  [
    'oidc_disabled',
    400,
    'nobody has set up an identity provider',
    (gate) =>
      gate.call('POST', '/auth/oidc/authorize', {
        as: null,
        body: { code_challenge: 'c'.repeat(43), state: 's'.repeat(16) },
      }),
  ],
  [
    'wrong_code',
    400,
    'the code that confirms a second factor is wrong',
    async (gate) => {
      const as = gate.people.reader.session
      await gate.call('POST', '/auth/mfa/setup', { as })
      return gate.call('POST', '/auth/mfa/confirm', { as, body: { totp_code: 'wrong' } })
    },
  ],
  [
    'unknown_key',
    400,
    'a setting does not exist',
    (gate) => gate.call('PATCH', '/settings/', { body: { nonsense: true } }),
  ],
  [
    'changed_meanwhile',
    412,
    'a change names a state of the settings that is no more',
    (gate) => gate.call('PATCH', '/settings/', { body: {}, headers: { 'if-match': '"other"' } }),
  ],
  ['invalid_role', 400, 'a role does not exist', (gate) => user(gate, 'reader-person', { role: 'root' })],
  [
    'weak_password',
    400,
    'a password has no uppercase letter',
    (gate) =>
      gate.call('POST', '/auth/users', { body: { username: 'weakling', password: 'weak-pass-1', role: 'reader' } }),
  ],
  ['self_role_change', 400, 'admins change their own role', (gate) => user(gate, 'admin-person', { role: 'reader' })],
  [
    'self_deactivate',
    400,
    'admins deactivate their own account',
    (gate) => user(gate, 'Admin-Person', { active: false }),
  ],
  ['self_delete', 400, 'admins delete their own account', (gate) => gate.call('DELETE', '/auth/users/ADMIN-person')],
  [
    'external_account',
    400,
    'the password is managed by LDAP',
    (gate) => gate.call('POST', '/auth/users/from-ldap/reset-password', { body: { new_password: PASSWORD } }),
  ],
  [
    'reset_token_invalid',
    400,
    'a reset token was never issued',
    (gate) =>
      gate.call('POST', '/auth/reset-password', { as: null, body: { token: 'x'.repeat(43), new_password: PASSWORD } }),
  ],
  [
    'expired_token',
    400,
    'a program asks with a code that was never issued',
    (gate) => gate.call('POST', '/auth/device/token', { as: null, body: { device_code: 'x'.repeat(43) } }),
  ],
  [
    'authorization_pending',
    400,
    'a program asks before a person has answered',
    async (gate) => (await program(gate)).ask(),
  ],
  [
    'slow_down',
    400,
    'a program asks twice within five seconds',
    async (gate) => {
      const { ask } = await program(gate)
      await ask()
      return ask()
    },
  ],
  [
    'access_denied',
    400,
    'the person refused the program',
    async (gate) => {
      const { ask, userCode } = await program(gate)
      await gate.call('POST', `/auth/device/${userCode}`, { as: gate.people.reader.session, body: { approve: false } })
      return ask()
    },
  ],
  [
    'invalid_package',
    400,
    'the file is not a package',
    (gate) => gate.upload(Buffer.from('text'), { distribution: 'focal' }),
  ],
  ['unknown_distribution', 400, 'a codename does not exist', (gate) => put(gate, 'any', { distribution: 'warty' })],
  [
    'distribution_inactive',
    400,
    'REPO_FORMAT excludes the format',
    (gate) => put(gate, 'any', { distribution: 'almalinux9' }),
  ],
  [
    'format_mismatch',
    400,
    'an rpm is uploaded to a deb distribution',
    (gate) =>
      gate.upload(Buffer.concat([Buffer.from('edabeedb0300', 'hex'), Buffer.alloc(4090)]), { distribution: 'focal' }),
  ],
  [
    'arch_mismatch',
    400,
    'the distribution has another architecture',
    (gate) => put(gate, 'any', {}, { arch: 'riscv64' }),
  ],
  ['checksum_mismatch', 400, 'the declared digest is wrong', (gate) => put(gate, 'any', { sha256: 'f'.repeat(64) })],
  [
    'unauthorized',
    401,
    'a login fails',
    (gate) => gate.call('POST', '/auth/token', { as: null, body: { username: ROOT, password: 'Wrong-pass-1' } }),
  ],
  ['ldap_unavailable', 503, 'the directory refuses connections', withoutDirectory],
  ['feature_unavailable', 402, 'the edition does not include SBOMs', community],
  [
    'forbidden',
    403,
    'a reader uploads',
    async (gate) => gate.upload(await buildDeb(), { distribution: 'focal' }, { as: gate.people.reader.token }),
  ],
  [
    'session_required',
    403,
    'an API token changes a password',
    (gate) =>
      gate.call('POST', '/auth/change-password', {
        as: gate.people.admin.token,
        body: { current_password: PASSWORD, new_password: PASSWORD },
      }),
  ],
  ['not_found', 404, 'a user does not exist', (gate) => user(gate, 'nobody-at-all', { active: true })],
  [
    'unknown_api_version',
    404,
    'an API version does not exist',
    (gate) => send(gate.port, { method: 'GET', path: '/api/v3/artifacts/' }),
  ],
  ['method_not_allowed', 405, 'a path does not accept PUT', (gate) => gate.call('PUT', '/artifacts/')],
  [
    'already_exists',
    409,
    'a user name differs only in case',
    (gate) =>
      gate.call('POST', '/auth/users', { body: { username: 'READER-person', password: PASSWORD, role: 'reader' } }),
  ],
  [
    'already_exists',
    409,
    'an active token has the name',
    (gate) => gate.call('POST', '/auth/api-tokens', { body: { name: 'reader-robot', role: 'reader' } }),
  ],
  ['already_exists', 409, 'the same package is uploaded twice', twice],
  ['already_running', 409, 'another request keeps changing a package that is being deleted', stubborn],
  [
    'duplicate_conflict',
    409,
    'the file name is in use by other bytes',
    (gate) => put(gate, 'twice', {}, { files: { other: 'bytes' } }),
  ],
  [
    'policy_blocked',
    409,
    'rejected bytes are uploaded again with ?strict=true',
    async (gate) => gate.upload(await rejectedBytes(), { distribution: 'jammy' }, { query: '?strict=true' }),
  ],
  [
    'forbidden_target',
    400,
    'an import source is a directory of the machine',
    (gate) =>
      gate.call('POST', '/import/sources', {
        body: { name: 'etc', type: 'rpm', url: 'file:///etc', allow_unsigned: true },
      }),
  ],
  ['index_empty', 424, 'nothing was synced yet', (gate) => gate.call('GET', '/import/search?q=any')],
  [
    'same_distribution',
    400,
    'a package is promoted to its own distribution',
    (gate) => promote(gate, 'any', 'jammy', 'jammy'),
  ],
  ['not_published', 409, 'a held package is promoted', heldPromotion],
  ['rejected_bytes', 409, 'a package is promoted whose bytes were rejected elsewhere', rejectedPromotion],
  [
    'signing_key_exists',
    409,
    'a signing key is made where one exists',
    (gate) => gate.call('POST', '/settings/gpg/generate'),
  ],
  ['mfa_required', 403, 'a role needs a second factor and the account has none', withoutFactor],
  ['signing_key_missing', 409, 'the signing key is missing', withoutKey],
  ['file_too_large', 413, 'a file is over the limit', tooLarge],
  [
    'body_too_large',
    413,
    'a body is larger than 1 MB',
    (gate) => gate.call('POST', '/auth/users', { body: { username: 'x'.repeat(1_100_000) } }),
  ],
  [
    'internal_error',
    500,
    'the database fails',
    (gate) => gate.call('POST', '/auth/users', { body: { username: 'poison', password: PASSWORD, role: 'reader' } }),
  ],
  ['publication_failed', 500, 'the index cannot be written', unpublishable],
  [
    'not_under_review',
    409,
    'a package is not under review',
    async (gate) => {
      await put(gate, 'undisputed')
      return approve(gate, 'undisputed')
    },
  ],
  [
    'built_in_source',
    409,
    'a built-in source is deleted',
    (gate) => gate.call('DELETE', '/import/sources/debian-bookworm'),
  ],
  [
    'name_reserved',
    409,
    'a package is uploaded whose name is reserved for a source',
    async (gate) => {
      const { body } = await gate.call('GET', '/import/sources')
      const [source] = body['sources'] as { id: number }[]
      await gate.call('POST', '/import/reservations', { body: { pattern: 'reserved-*', source_id: source?.id } })
      return put(gate, 'reserved-name')
    },
  ],
  [
    'invalid_archive_name',
    400,
    'a backup has another name than one of ours',
    (gate) => gate.call('GET', '/backup/everything.tar.gz'),
  ],
  ['task_ended', 409, 'a task that has ended is cancelled', endedTask],
  ['ambiguous', 409, 'two different held packages have the same name and version', ambiguous],
  ['bytes_changed', 409, 'a decision names another file than the one that is held', bytesChanged],
  ['self_approval', 403, 'uploaders approve their own package', selfApproval],
  [
    'webhook_not_configured',
    503,
    'no webhook secret is configured',
    (gate) =>
      send(gate.port, {
        method: 'POST',
        path: '/webhooks/kev',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }),
  ],
  [
    'idempotency_key_reused',
    422,
    'another request has the key',
    async (gate) => {
      const headers = { 'idempotency-key': 'used-before' }
      await gate.call('POST', '/import/reservations', { headers, body: { pattern: 'used-before' } })
      return gate.call('POST', '/import/reservations', { headers, body: { pattern: 'used-again' } })
    },
  ],
  ['scan_incomplete', 503, 'a package cannot be scanned and on_unscanned is refuse', unscanned],
]

/** Starts another service, because the edition is chosen at the start. */
async function community(): Promise<Reply> {
  const other = await startGate({ env: { SVC_EDITION: 'community' } })
  try {
    return await other.call('GET', '/sbom/export')
  } finally {
    await other.close()
  }
}

async function twice(gate: Gate): Promise<Reply> {
  await put(gate, 'twice')
  return put(gate, 'twice')
}

async function stubborn(gate: Gate): Promise<Reply> {
  await put(gate, 'stubborn')
  return gate.call('DELETE', '/artifacts/stubborn')
}

async function withoutFactor(gate: Gate): Promise<Reply> {
  const rule = (require_mfa: string) => ({ as: gate.people.admin.token, body: { security: { require_mfa } } })
  await gate.call('PATCH', '/settings/', rule('admins'))
  const reply = await gate.call('GET', '/artifacts/', { as: gate.people.admin.session })
  await gate.call('PATCH', '/settings/', rule('nobody'))
  return reply
}

async function withoutKey(gate: Gate): Promise<Reply> {
  const key = join(gate.reposDir, 'gnupg', 'signing-key.asc')
  await rename(key, `${key}.away`)
  const reply = await gate.call('POST', '/distributions/init')
  await rename(`${key}.away`, key)
  return reply
}

async function tooLarge(gate: Gate): Promise<Reply> {
  await patch(gate, { max_upload_size_mb: 1 })
  const reply = await gate.call(
    'POST',
    '/upload/',
    form([
      { name: 'distribution', value: 'focal' },
      { name: 'file', value: Buffer.alloc(1024 * 1024 + 1), filename: 'a' },
    ]),
  )
  await patch(gate, { max_upload_size_mb: 500 })
  return reply
}

/** Puts a file in place of the directory of generations. */
async function unpublishable(gate: Gate): Promise<Reply> {
  const generations = join(gate.reposDir, '.generations', 'deb', 'bookworm')
  await rename(generations, `${generations}.away`)
  await writeFile(generations, '')
  const reply = await put(gate, 'unpublishable', { distribution: 'bookworm' })
  await rm(generations)
  await rename(`${generations}.away`, generations)
  return reply
}

const approve = (gate: Gate, name: string) =>
  gate.call('POST', `/security/packages/${name}/1.0-1/decide`, { body: { decision: 'approve', justification: 'seen' } })

const promote = (gate: Gate, name: string, from_dist: string, to_dist: string) =>
  gate.call('POST', '/distributions/promote', { body: { package: name, from_dist, to_dist } })

async function heldPromotion(gate: Gate): Promise<Reply> {
  await patch(gate, { on_unscanned: 'hold' })
  await put(gate, 'still-held')
  await patch(gate, { on_unscanned: 'allow' })
  return promote(gate, 'still-held', 'focal', 'noble')
}

async function rejectedPromotion(gate: Gate): Promise<Reply> {
  await put(gate, 'disputed')
  await patch(gate, { on_unscanned: 'hold' })
  await put(gate, 'disputed', { distribution: 'noble' })
  await patch(gate, { on_unscanned: 'allow' })
  const body = { decision: 'reject', justification: 'not here', distribution: 'noble' }
  await gate.call('POST', '/security/packages/disputed/1.0-1/decide', { body })
  return promote(gate, 'disputed', 'focal', 'bookworm')
}

/** Nothing listens on port 1. */
async function withoutDirectory(gate: Gate): Promise<Reply> {
  const ldap = { enabled: true, host: '127.0.0.1', port: 1 }
  await gate.call('PATCH', '/settings/', { body: { ldap } })
  const reply = await gate.call('POST', '/auth/token', {
    as: null,
    body: { username: 'from-ldap', password: PASSWORD },
  })
  await gate.call('PATCH', '/settings/', { body: { ldap: { enabled: false, host: '', port: 389 } } })
  return reply
}

async function endedTask(gate: Gate): Promise<Reply> {
  const { body } = await gate.call('POST', '/artifacts/admin/sync-index')
  return gate.call('POST', `/tasks/${String(body['task_id'])}/cancel`)
}

async function ambiguous(gate: Gate): Promise<Reply> {
  await patch(gate, { on_unscanned: 'hold' })
  await put(gate, 'two-faced')
  await put(gate, 'two-faced', { distribution: 'noble' }, { files: { other: 'bytes' } })
  await patch(gate, { on_unscanned: 'allow' })
  return approve(gate, 'two-faced')
}

async function bytesChanged(gate: Gate): Promise<Reply> {
  await patch(gate, { on_unscanned: 'hold' })
  await put(gate, 'exchanged')
  await patch(gate, { on_unscanned: 'allow' })
  return gate.call('POST', '/security/packages/exchanged/1.0-1/decide', {
    body: { decision: 'approve', justification: 'seen', sha256: '0'.repeat(64) },
  })
}

async function selfApproval(gate: Gate): Promise<Reply> {
  await gate.call('PATCH', '/settings/', {
    body: { validation: { on_unscanned: 'hold' }, security: { forbid_self_approval: true } },
  })
  await put(gate, 'my-own')
  const reply = await approve(gate, 'my-own')
  await gate.call('PATCH', '/settings/', {
    body: { validation: { on_unscanned: 'allow' }, security: { forbid_self_approval: false } },
  })
  return reply
}

async function unscanned(gate: Gate): Promise<Reply> {
  await patch(gate, { on_unscanned: 'refuse', clamav_scan: false })
  const reply = await put(gate, 'unscanned')
  await patch(gate, { on_unscanned: 'allow', clamav_scan: true })
  return reply
}
