// Inserts many records as rows only, without files and index entries, for benchmarks of lists and of the nightly match.
import { sql } from 'kysely'
import { findDistribution } from '../src/formats/index.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { ensureDistributions } from '../src/publish/initialize.ts'
import { migrate, openDatabase, type Database, type Db } from '../src/store/db.ts'

const CODENAMES = ['jammy', 'bookworm', 'almalinux9', 'alpine3.21']
const VERSIONS: Record<string, string> = { deb: '1.0-1', rpm: '1.0-1.el9', apk: '1.0-r1' }

/** Inserts `count` records in four distributions and three formats. Every tenth has findings, every hundredth is held. */
export async function fillRows(databaseUrl: string, count: number): Promise<Database> {
  const database = await openDatabase(databaseUrl)
  const { db } = database
  await migrate(db)
  const places = CODENAMES.map((codename) => findDistribution(codename)!)
  await ensureDistributions(db, systemClock, places)
  for (const [n, { format, distribution }] of places.entries()) {
    const share = Math.floor(count / places.length)
    const from = n * share
    const name = sql`'sample-' || lpad(((i * 7919) % ${count})::text, 6, '0')`
    await sql`insert into blobs (sha256, format, filename, size_bytes, sha512, sha1, md5, facts, files, created_at,
        description, section, source_package, source_version)
      select md5(i::text) || md5('b' || i), ${format.id}, ${name} || '.' || ${format.id}::text, 10000 + i, '', '', '',
        jsonb_build_object('name', ${name}, 'version', ${VERSIONS[format.id]}::text, 'arch', ${distribution.architectures[0]}::text, 'provides', '[]'::jsonb), '', now(),
        'number ' || i || ' of many, which reads what the others write', 'misc', 'source-' || (i % 20000), ${VERSIONS[format.id]}
      from generate_series(${from}::bigint, ${from + share - 1}::bigint) i`.execute(db)
    await sql`insert into packages (distribution, format, name, version, arch, status, cve_status, sha256, received_sha256,
        imported_at, imported_by, import_method, pipeline, validation_steps, coverage,
        deps_missing, tags, cve_summary, cve_results, last_scan, severities, risk, manifest_changes, review_due_at)
      select ${distribution.codename}, ${format.id}, ${name}, ${VERSIONS[format.id]}, ${distribution.architectures[0]},
        case when i % 100 = 0 then 'pending_review' else 'published' end, 'approved',
        md5(i::text) || md5('b' || i), md5(i::text) || md5('b' || i),
        now() - (i || ' seconds')::interval, 'bench', 'upload', '{"cve_scan":"no_findings"}', '[]', '{}', '[]', '[]', '{"scanned":true}',
        case when i % 10 = 0 then jsonb_build_array(jsonb_build_object('id', 'CVE-2025-' || (1000 + i % 5000), 'severity', 'Medium', 'action', 'warn', 'fix_state', 'unknown',
          'cvss', null, 'description', null, 'package_name', ${name}, 'package_version', '1', 'package_type', 'deb', 'fix_versions', '[]'::jsonb, 'urls', '[]'::jsonb,
          'epss', null, 'epss_percent', null, 'epss_label', null, 'in_kev', false, 'first_seen', '2026-01-01T00:00:00+00:00', 'sources', '["osv"]'::jsonb, 'accepted_by_decision', false)) else '[]'::jsonb end,
        now(), case when i % 10 = 0 then 4 else 0 end, case when i % 10 = 0 then 300 else 0 end, 1,
        case when i % 100 = 0 then now() + '30 days'::interval end
      from generate_series(${from}::bigint, ${from + share - 1}::bigint) i`.execute(db)
  }
  await sql`insert into reviews (package_id, review_origin, review_since)
    select id, 'upload', now() from packages where status = 'pending_review'`.execute(db)
  await sql`insert into offers (distribution, package_id, from_revision, sha256, filename, name, version, arch, began_by)
    select p.distribution, p.id, p.id, p.sha256, b.filename, p.name, p.version, p.arch, 'upload'
    from packages p join blobs b on b.sha256 = p.sha256 where p.status = 'published'`.execute(db)
  await sql`insert into findings (package_id, cve, distribution, severity, fix_state, action, in_kev, epss, first_seen, risk, finding)
    select p.id, f ->> 'id', p.distribution, f ->> 'severity', f ->> 'fix_state', f ->> 'action', false, null, now(), p.risk, f
    from packages p, jsonb_array_elements(p.cve_results) f`.execute(db)
  await sql`insert into artifacts (format, name, latest_id, search, latest_imported_at, distributions, statuses, archs)
    select format, name, max(id), lower(name || ' ' || max(description)), max(imported_at), array_agg(distinct distribution), array_agg(distinct status), array_agg(distinct arch)
    from records group by format, name`.execute(db)
  await sql`update distributions d set revision = ${count}, published_count = (select count(*) from packages p where p.distribution = d.codename and p.status = 'published'),
    pending_count = (select count(*) from packages p where p.distribution = d.codename and p.status <> 'published')`.execute(
    db,
  )
  await db
    .updateTable('packages')
    .set({ deps_missing: '["libabsent"]' })
    .where(sql<boolean>`id % 20 = 0`)
    .execute()
  await fillAudit(db, count)
  await recount(db)
  await sql`vacuum analyze`.execute(db)
  return database
}

/** One chained entry for each record, over a year. */
async function fillAudit(db: Db, count: number): Promise<void> {
  await sql`insert into audit (at, action, result, outcome, username, package, version, distribution, extra, seq, hash, day, filed)
    select now() - ((${count} - i) * 31536000.0 / ${count} || ' seconds')::interval, 'UPLOAD', 'SUCCESS', 'published', 'bench', 'sample-' || i, '1', 'jammy',
      '{}', i, 'none', '2026-01-01', true from generate_series(1, ${count}::bigint) i`.execute(db)
  await db.insertInto('audit_chain').values({ id: 1, seq: count, hash: 'none', day: '2026-01-01' }).execute()
}

/** Computes the counters that changes of records otherwise update. */
async function recount(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`lock table packages, findings in share row exclusive mode`.execute(tx)
    await tx.deleteFrom('package_counts').execute()
    await tx.deleteFrom('finding_counts').execute()
    await sql`insert into package_counts (distribution, status, cve_status, scanned, severities, n)
      select distribution, status, coalesce(cve_status, ''), last_scan is not null, severities, count(*) from packages group by 1, 2, 3, 4, 5`.execute(
      tx,
    )
    await sql`insert into finding_counts (distribution, status, severity, fix_state, n)
      select p.distribution, p.status, f.severity, f.fix_state, count(*) from findings f join packages p on p.id = f.package_id
      group by 1, 2, 3, 4`.execute(tx)
  })
}
