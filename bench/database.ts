// Creates an empty database for a benchmark, on the server of TEST_DATABASE_URL or embedded in a directory.
import { join } from 'node:path'
import pg from 'pg'

export async function createBenchDatabase(base: string): Promise<{ url: string; drop(): Promise<void> }> {
  const server = process.env['TEST_DATABASE_URL']
  if (!server) return { url: `pglite://${join(base, 'db')}`, drop: async () => {} }
  const name = `bench_${Date.now()}`
  const ask = async (statement: string) => {
    const client = new pg.Client({ connectionString: server })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await ask(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => ask(`drop database ${name} with (force)`) }
}

/** @param share 0.5 for the median, 0.99 for the 99th percentile */
export function quantile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}
