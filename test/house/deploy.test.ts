// What the files of deploy/ must have in common. test/deploy tests their effects.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

const DEPLOY = resolve(import.meta.dirname, '../../deploy')
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')

/** PostgreSQL of each Debian release: `postgresql-client` installs it. */
const CLIENT_OF_DEBIAN: Record<string, number> = { 12: 15, 13: 17 }

test('pg_dump of the image is as new as the PostgreSQL of compose: an older one refuses to dump it', () => {
  const container = read('container/Containerfile')
  const [, debian = ''] = /^FROM \S*debian:(\d+)-slim$/m.exec(container) ?? []
  expect(container).toContain(' postgresql-client ')
  const { services } = parse(read('container/compose.yaml')) as { services: Record<string, { image: string }> }
  const [, server] = /postgres:(\d+)\./.exec(services['postgres']!.image) ?? []
  expect(CLIENT_OF_DEBIAN[debian]).toBeGreaterThanOrEqual(Number(server))
})

test.each(readdirSync(join(DEPLOY, 'systemd')).filter((name) => name.endsWith('.service')))(
  '%s runs only what the package or any Debian has',
  (name) => {
    const programs = [...read(`systemd/${name}`).matchAll(/^Exec\w+=[-+@!]*(\S+)/gm)].map(([, program]) => program)
    expect(programs.length).toBeGreaterThan(1)
    for (const program of programs) expect(program).toMatch(/^\/(?:usr\/bin\/gatehouse-server|bin\/sh)$/)
  },
)

interface Manifest {
  kind: string
  metadata: { name: string }
  data?: Record<string, string>
  spec: {
    selector: { matchLabels: object }
    template: {
      spec: {
        containers: { envFrom?: { configMapRef?: { name: string } }[]; env?: { name: string }[] }[]
        topologySpreadConstraints: { topologyKey: string; labelSelector: object }[]
      }
    }
  }
}

test('in Kubernetes service and listeners offer the same distributions, on several machines that are emptied one by one', () => {
  const { resources } = parse(read('kubernetes/kustomization.yaml')) as { resources: string[] }
  const manifests = resources
    .filter((name) => name !== 'secret.yaml')
    .flatMap((name) => parseAllDocuments(read(`kubernetes/${name}`)).map((one) => one.toJS() as Manifest))
  const of = (kind: string) => manifests.filter((one) => one.kind === kind)
  const shared = of('ConfigMap').find(({ metadata }) => metadata.name === 'gatehouse-repositories')!.data!
  expect(Object.keys(shared)).toEqual(expect.arrayContaining(['REPO_FORMAT', 'SVC_DISTRIBUTIONS', 'SVC_ARCHITECTURES']))
  expect(of('Deployment')).toHaveLength(2)
  for (const { spec, metadata } of of('Deployment')) {
    const [container] = spec.template.spec.containers
    expect(container!.envFrom).toContainEqual({ configMapRef: { name: 'gatehouse-repositories' } })
    for (const { name } of container!.env ?? []) expect(Object.keys(shared)).not.toContain(name)
    expect(spec.template.spec.topologySpreadConstraints).toMatchObject([
      { topologyKey: 'kubernetes.io/hostname', labelSelector: spec.selector },
    ])
    const budget = of('PodDisruptionBudget').find((one) => one.metadata.name === metadata.name)
    expect(budget?.spec).toMatchObject({ maxUnavailable: 1, selector: spec.selector })
  }
})

test.each([
  ['a purge by dpkg', 'purge', /kept.*\/var\/lib\/gatehouse.*secrets\.env.*user gatehouse/],
  ['a removal by rpm', '0', /kept/],
  ['a removal by dpkg, which may come back', 'remove', /^$/],
  ['an upgrade', '1', /^$/],
])('%s says what stays, where it is the last word', (_, argument, expected) => {
  const { status, stdout } = spawnSync('sh', [join(DEPLOY, 'package/postremove.sh'), argument], { encoding: 'utf8' })
  expect([status, stdout.trim()]).toEqual([0, expect.stringMatching(expected)])
})
