// A service with npm repositories: `team` is private, `open` is public, `all` is a group of both.
import { expect } from 'vitest'
import type { CveScanner } from '../../src/gate/engines/scanner.ts'
import { buildNpm, publishBody, type PublishedNpm } from '../samples/npm.ts'
import { startGate, type CallOptions, type Gate, type GateOptions } from './harness.ts'
import type { Reply } from './http.ts'

export const JSON_TYPE = { 'content-type': 'application/json' }
export const SHORT = { accept: 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*' }

export interface Packument {
  name: string
  'dist-tags': Record<string, string>
  versions: Record<string, { dist: { tarball: string; integrity: string }; deprecated?: string; dependencies?: object }>
  policyRestrictions?: { message: string; versions: object }
  time: Record<string, string>
}

/** Packages described as `held` have a finding that people must decide about, those described as `refused` one too bad for that. */
export const holding: CveScanner = {
  name: 'fake',
  async scan({ facts: { name, version, description, format } }) {
    const finding = {
      ...{
        id: 'CVE-2026-1',
        severity: description === 'held' ? ('High' as const) : ('Critical' as const),
        cvss: null,
        description: null,
      },
      ...{ package_name: name, package_version: version, package_type: format },
      ...{ fix_state: 'unknown' as const, fix_versions: [], urls: [], sources: ['fake'] },
      ...{ epss: null, epss_percent: null, epss_label: null, in_kev: false },
    }
    const findings = description === 'held' || description === 'refused' ? [finding] : []
    const coverage = {
      ...{ engine: 'fake', engine_version: '1', database_date: '2026-01-01T00:00:00+00:00' },
      ...{ distro_matched: 'npm', files_seen: 1, files_skipped: [], bytes: 1 },
    }
    return { result: 'scanned', findings, message: '', coverage }
  },
}

export interface Publishing extends Partial<PublishedNpm> {
  as?: string | null
  /** of package.json */
  fields?: Record<string, unknown>
  /** where it is sent, in place of its name */
  path?: string
}

export async function startNpm(options: GateOptions = { overrides: { cveScanner: holding } }) {
  const gate: Gate = await startGate(options)
  const uploader = gate.people.uploader.token
  const repositories: [string, string, boolean, string[] | undefined][] = [
    ['team', 'hosted', false, undefined],
    ['open', 'hosted', true, undefined],
    ['all', 'group', true, ['team', 'open']],
  ]
  for (const [name, kind, isPublic, members] of repositories) {
    const { status, text } = await gate.call('POST', '/registries', {
      body: { format: 'npm', name, kind, public: isPublic, members },
    })
    expect(status, text).toBe(201)
  }
  return {
    gate,
    uploader,
    get: <T = Packument>(path: string, options: CallOptions = {}) =>
      gate.call<T>('GET', `/npm/${path}`, { as: uploader, ...options }),
    async publish(repo: string, name: string, version = '1.0.0', more: Publishing = {}): Promise<Reply> {
      const { as = uploader, fields = {}, path = name.replace('/', '%2f'), ...said } = more
      const tarball = said.tarball ?? (await buildNpm({ name, version, fields }))
      const body = publishBody({ name, version, ...said, tarball })
      return gate.call('PUT', `/npm/${repo}/${path}`, { as, body, headers: JSON_TYPE })
    },
  }
}

export const pathIn = (url: string) => new URL(url).pathname.slice('/npm/'.length)
