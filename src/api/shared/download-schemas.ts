// Schemas of downloads that several routes share.
import Type from 'typebox'
import { Nullable } from '../http/schemas.ts'

const count = Type.Integer()

export const PerDaySchema = Type.Array(Type.Object({ date: Type.String(), downloads: count, bytes: count }))

export const ReaderSchema = Nullable(Type.String({ description: 'who signed in: `machine:web-01`, `token:ci`' }))

/** Downloads of a file by a client with one user agent on one day. */
export const ClientDownloadSchema = Type.Object(
  {
    ip: Type.String(),
    reader: ReaderSchema,
    user_agent: Type.String(),
    client_type: Type.String(),
    distribution: Type.String(),
    version: Type.String(),
    arch: Type.String(),
    date: Type.String({ description: 'UTC' }),
    downloads: count,
    bytes: count,
  },
  { title: 'ClientDownload' },
)

/** Who downloaded a record, in the last days. */
export const RadiusSchema = Type.Object(
  {
    days: count,
    downloads: count,
    bytes: count,
    clients: Type.Integer({ description: 'different addresses' }),
    downloaded_by: Type.Array(ClientDownloadSchema, { maxItems: 20, description: 'the latest' }),
  },
  { title: 'BlastRadius' },
)
