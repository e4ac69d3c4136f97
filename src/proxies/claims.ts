// Claims: names that belong to a hosted repository before anything is published under them.
import type { AuditLog } from '../audit/log.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Actor, Repository } from '../registries/repositories.ts'
import { registryFormats } from '../formats/index.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'

export interface Claim {
  pattern: string
  created_at: Date
  created_by: string
}

export interface Claims {
  list(repository: Repository): Promise<Claim[]>
  /**
   * @param pattern a name, or its beginning with `*` behind it: `@team/*`
   * @throws Problem('validation_error'), 'not_hosted', 'not_found' when the repository was removed meanwhile, or 'already_exists' when
   * another one has the claim
   */
  add(repository: Repository, pattern: string, by: Actor): Promise<Claim>
  /** @throws Problem('not_found') */
  remove(repository: Repository, pattern: string, by: Actor): Promise<void>
}

export function createClaims({ db, clock, audit }: { db: Db; clock: Clock; audit: AuditLog }): Claims {
  const record = (tx: Db, action: string, { key }: Repository, pattern: string, { name, origin }: Actor) =>
    audit.record(
      {
        ...{ action, result: 'SUCCESS', user: name, distribution: key, detail: pattern },
        ...{ ip: origin.ip, requestId: origin.requestId },
      },
      tx,
    )
  return {
    list: ({ key }) =>
      db
        .selectFrom('name_claims')
        .select(['pattern', 'created_at', 'created_by'])
        .where('repository', '=', key)
        .orderBy('pattern')
        .execute(),
    async add(repository, pattern, by) {
      if (repository.kind !== 'hosted')
        throw new Problem('not_hosted', `${repository.key} is not hosted: names belong to hosted ones`)
      if (!/^[^*\s]+\*?$/.test(pattern))
        throw invalidField('pattern', 'is a name, or the beginning of names with * behind it')
      return transaction(db, async (tx) => {
        const { key } = repository
        const kept = await tx.selectFrom('repositories').select('key').where('key', '=', key).forKeyShare().execute()
        if (kept.length === 0) throw new Problem('not_found', `there is no repository ${key}`)
        const claim = { pattern: canonical(repository, pattern), created_at: clock.now(), created_by: by.name }
        const made = await tx
          .insertInto('name_claims')
          .values({ ...claim, format: repository.format, repository: key })
          .onConflict((c) => c.doNothing())
          .returning('pattern')
          .executeTakeFirst()
        if (!made) throw new Problem('already_exists', `${claim.pattern} is claimed already`)
        await record(tx, 'NAME_CLAIMED', repository, claim.pattern, by)
        return claim
      })
    },
    remove: (repository, written, by) =>
      transaction(db, async (tx) => {
        const pattern = canonical(repository, written)
        const removed = await tx
          .deleteFrom('name_claims')
          .where('repository', '=', repository.key)
          .where('pattern', '=', pattern)
          .returning('pattern')
          .executeTakeFirst()
        if (!removed) throw new Problem('not_found', `${repository.key} does not claim ${pattern}`)
        await record(tx, 'NAME_RELEASED', repository, pattern, by)
      }),
  }
}

/** As the format writes names, so that no other spelling of a name is asked for. */
function canonical({ format }: Repository, pattern: string): string {
  const names = registryFormats.find(({ id }) => id === format)
  const isPrefix = pattern.endsWith('*')
  const stem = isPrefix ? pattern.slice(0, -1) : pattern
  // A beginning may be no name by itself: `acme-`.
  const name = isPrefix ? names?.canonicalName(`${stem}x`)?.slice(0, -1) : names?.canonicalName(stem)
  return `${name ?? stem}${isPrefix ? '*' : ''}`.toLowerCase()
}
