// Declarations of /downloads: what package clients fetched, and who did.
import Type from 'typebox'
import { CLIENT_TYPES } from '../../operations/downloads/client-type.ts'
import { ECOSYSTEMS } from '../../formats/index.ts'
import { ClientDownloadSchema, PerDaySchema, ReaderSchema } from '../shared/download-schemas.ts'
import { declare } from '../http/route.ts'
import { FormatSchema } from '../shared/words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

const count = Type.Integer()
const countOf = (keys: readonly string[]) => Type.Object(Object.fromEntries(keys.map((key) => [key, count])))
const days = Type.Integer({ minimum: 1, maximum: 365, default: 30, description: 'the last days up to today, UTC' })

export const getDownloadsStats = declare({
  method: 'GET',
  path: '/downloads/stats',
  tag: 'downloads',
  summary: 'Downloads of packages, from the access logs of the repositories',
  access: 'maintainer+',
  query: Type.Object({ days }),
  answer: Type.Object(
    {
      days: count,
      summary: Type.Object({
        total_downloads: count,
        unique_packages: count,
        unique_clients: Type.Integer({ description: 'different addresses' }),
        total_bytes: count,
        log_available: Type.Boolean({ description: 'whether any log was read' }),
        per_format: countOf(ECOSYSTEMS),
        per_client_type: countOf(CLIENT_TYPES),
        avg_per_day: Type.Number(),
        peak_day: Nullable(Type.String()),
      }),
      per_package: Type.Array(
        Type.Object({
          name: Type.String(),
          format: Type.String(),
          downloads: count,
          bytes: count,
          versions: Type.Array(Type.String()),
          clients: count,
        }),
        { maxItems: 50 },
      ),
      per_day: PerDaySchema,
      recent: Type.Array(
        Type.Object({
          ip: Type.String(),
          reader: ReaderSchema,
          date: TimeSchema,
          filename: Type.String(),
          name: Type.String(),
          version: Type.String(),
          arch: Type.String(),
          format: Type.String(),
          distribution: Type.String(),
          bytes: count,
          user_agent: Type.String(),
          client_type: Type.String(),
          status: count,
          path: Type.String(),
        }),
        { maxItems: 50 },
      ),
      logs: Type.Array(
        Type.Object({
          path: Type.String(),
          kind: Type.String(),
          lines: count,
          unreadable: Type.Integer({ description: 'lines of another format' }),
          unknown: Type.Integer({ description: 'answered requests for packages that are not known' }),
          seen_at: TimeSchema,
        }),
        { maxItems: 50 },
      ),
    },
    { title: 'DownloadStats' },
  ),
  problems: ['validation_error'],
})

export const getDownloadsPackagesName = declare({
  method: 'GET',
  path: '/downloads/packages/{name}',
  tag: 'downloads',
  summary: 'Who downloaded a package, and how often on each day; also after it was deleted',
  access: 'auditor+',
  params: Type.Object({ name: Type.String({ minLength: 1 }) }),
  query: Type.Object({
    days,
    format: Type.Optional(FormatSchema),
    version: Type.Optional(Type.String()),
    distribution: Type.Optional(Type.String()),
    arch: Type.Optional(Type.String()),
    include_clients: Type.Boolean({ default: true, description: 'with `downloaded_by`' }),
  }),
  answer: Type.Object(
    {
      name: Type.String(),
      format: Nullable(Type.String()),
      days: count,
      downloads: count,
      bytes: count,
      clients: Type.Integer({ description: 'different addresses' }),
      per_day: PerDaySchema,
      downloaded_by: Type.Array(ClientDownloadSchema),
      total: Type.Integer({ description: 'entries of downloaded_by' }),
    },
    { title: 'PackageDownloads' },
  ),
  problems: ['validation_error'],
})
