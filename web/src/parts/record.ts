import type { Answered } from '../api/api.ts'

export type Detail = Answered<'GET /artifacts/{name}'>
export type PackageRecord = Detail['versions'][number]
