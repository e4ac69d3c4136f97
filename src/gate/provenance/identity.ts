// Who signed a statement, and what it says of the build. Runs inside a reader.
import type { TransparencyLogEntry } from '@sigstore/bundle'
import type { Signer } from '@sigstore/verify'
import { objectAt, stringAt, type Json } from '../../domain/json.ts'
import type { Attestation } from '../../domain/provenance.ts'

/** Extensions of the certificates of Sigstore: https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md */
const FULCIO = '1.3.6.1.4.1.57264.1.'
const SOURCE_REPOSITORY = 12
const SOURCE_COMMIT = 13
const SOURCE_REF = 14
const BUILD_CONFIG = 18
/** of certificates before 2023: plain text */
const GITHUB_COMMIT = 3
const GITHUB_REPOSITORY = 5
const GITHUB_REF = 6

const LONGEST = 500

/** What the certificate says counts; only the builder comes from the statement, which the signer wrote. */
export function identityOf(
  { identity }: Signer,
  statement: Json,
  entry: TransparencyLogEntry | undefined,
): Attestation {
  const oids = new Map((identity?.oids ?? []).map(({ oid, value }) => [oid?.id.join('.'), value]))
  const stated = (number: number) => derText(oids.get(`${FULCIO}${number}`))
  const old = (number: number) => textOf(oids.get(`${FULCIO}${number}`))
  const signer = identity?.subjectAlternativeName ?? null
  const before = old(GITHUB_REPOSITORY)
  const repository = stated(SOURCE_REPOSITORY) ?? (before && `https://github.com/${before}`)
  const config = stated(BUILD_CONFIG) ?? signer
  const logged = Number(entry?.integratedTime ?? 0)
  const index = Number(entry?.logIndex ?? NaN)
  return {
    predicate: cut(stringAt(statement, 'predicateType')) ?? '',
    ...{ signer: cut(signer), issuer: cut(identity?.extensions?.issuer ?? null), repository },
    ...{ commit: stated(SOURCE_COMMIT) ?? old(GITHUB_COMMIT), ref: stated(SOURCE_REF) ?? old(GITHUB_REF) },
    workflow:
      repository !== null && config?.startsWith(`${repository}/`) ? workflowIn(config.slice(repository.length)) : null,
    builder: cut(builderIn(objectAt(statement, 'predicate'))),
    log_index: Number.isSafeInteger(index) ? index : null,
    logged_at: logged > 0 && logged < 1e11 ? new Date(logged * 1000).toISOString() : null,
  }
}

/** `/.github/workflows/release.yml@refs/tags/v1`, and `//.gitlab-ci.yml@…` */
const workflowIn = (path: string): string => path.replace(/@.*$/s, '').replace(/^\/+/, '')

/** SLSA provenance, version 1 and 0.2 */
const builderIn = (predicate: Json): string | null =>
  stringAt(objectAt(objectAt(predicate, 'runDetails'), 'builder'), 'id') ??
  stringAt(objectAt(predicate, 'builder'), 'id')

const cut = (text: string | null): string | null => text && text.slice(0, LONGEST)

const textOf = (value: Uint8Array | undefined): string | null =>
  value ? cut(Buffer.from(value).toString('utf8')) : null

/** A UTF8String of DER with fewer than 64 KiB. */
function derText(value: Uint8Array | undefined): string | null {
  if (!value || value[0] !== 0x0c) return null
  const [, length = 0] = value
  return textOf(value.subarray(length < 0x80 ? 2 : length === 0x81 ? 3 : 4))
}
