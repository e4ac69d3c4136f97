// The Helm chart of deploy/kubernetes: linted by helm, and what it renders read by kubeconform with the schemas of Kubernetes.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { need } from '../need.ts'

const CHART = join(import.meta.dirname, '../../deploy/kubernetes')

/** That of the schemas. A helm that is built without the flags of its makers believes in Kubernetes 1.20. */
const RELEASE = ['--kube-version', '1.34.0']

let directory: string
let helm: string
let kubeconform: string
let schemas: string

beforeAll(async () => {
  need('python3-venv')
  directory = mkdtempSync(join(tmpdir(), 'chart-'))
  const printed = async (script: string, ...args: string[]) => {
    const { stdout } = await promisify(execFile)(join(import.meta.dirname, script), args, { maxBuffer: 2 ** 26 })
    return stdout.trim()
  }
  helm = await printed('go-tool.sh', 'helm')
  kubeconform = await printed('go-tool.sh', 'kubeconform')
  schemas = await printed('schemas.sh')
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

interface Manifest {
  kind: string
  metadata: { name: string }
  data: Record<string, string>
  spec: any
}

/** Where kubeconform finds the schema of each kind. */
const location = () => `${schemas}/{{ .ResourceKind }}{{ .KindSuffix }}.json`

/** Values that people give, which must render what Kubernetes takes. */
const VALUES: Record<string, object> = {
  'the values of the chart': {},
  'an object store and the volume of somebody else': {
    storage: { existingClaim: 'nfs' },
    image: { tag: '0.1.0@sha256:abc', pullSecrets: [{ name: 'registry' }] },
    listeners: { secretName: 'pool' },
    networkPolicy: { listenersEgress: [{ to: [{ ipBlock: { cidr: '192.0.2.7/32' } }], ports: [{ port: 9000 }] }] },
  },
  'distributions, a controller and a class of volumes': {
    distributions: [{ codename: 'acme', format: 'deb' }],
    storage: { className: 'cephfs' },
    ingress: { className: 'traefik', annotations: { 'a/b': 'true' }, repositoryAnnotations: { 'c/d': 'x: y' } },
  },
  'a Gateway': { ingress: { enabled: false }, gateway: { enabled: true, parentRefs: [{ name: 'public' }] } },
  'no way in': { ingress: { enabled: false }, networkPolicy: { enabled: false } },
}

function withValues(values: object): string {
  const file = join(directory, 'values.json')
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(values))
  return file
}

function render(values: object): string {
  return execFileSync(helm, ['template', 'gate', CHART, ...RELEASE, '--values', withValues(values)], {
    encoding: 'utf8',
  })
}

/** No package of schemas has HTTPRoute: the test of the ways in reads what it names. */
const UNKNOWN = ['-skip', 'HTTPRoute']

const manifests = (values: object): Manifest[] =>
  parseAllDocuments(render(values)).flatMap((one) => (one.toJS() as Manifest | null) ?? [])

describe.each(Object.entries(VALUES))('with %s', (_, values) => {
  test('helm finds nothing to say', () => {
    const { status, stdout } = spawnSync(
      helm,
      ['lint', '--strict', CHART, ...RELEASE, '--values', withValues(values)],
      {
        encoding: 'utf8',
      },
    )
    expect([status, stdout]).toEqual([0, expect.not.stringMatching(/\[(?:WARNING|ERROR)\]/)])
  })

  test('Kubernetes knows every object and every field', () => {
    const flags = ['-strict', '-summary', ...UNKNOWN, '-schema-location', location()]
    const { status, stdout } = spawnSync(kubeconform, flags, { input: render(values), encoding: 'utf8' })
    const routes = manifests(values).filter(({ kind }) => kind === 'HTTPRoute').length
    expect([status, stdout]).toEqual([0, expect.stringMatching(`Invalid: 0, Errors: 0, Skipped: ${routes}`)])
  })
})

test.each<[string, object, RegExp]>([
  ['a name that is none of the chart', { ingres: { enabled: false } }, /ingres\b/],
  ['a name that is none of its part', { storage: { class: 'cephfs' } }, /storage.*class\b/s],
  ['a number of replicas in quotes', { service: { replicas: '3' } }, /replicas/],
  ['no replica', { listeners: { replicas: 0 } }, /replicas/],
  ['a word for no formats', { repositories: { REPO_FORMAT: 'dnf' } }, /REPO_FORMAT/],
  ['a variable that is an object', { config: { CLAMAV_HOST: { host: 'clamav' } } }, /CLAMAV_HOST/],
  ['a version that YAML takes for a number', { image: { tag: 1.1 } }, /tag/],
  ['a size without a unit that there is', { storage: { size: '200 GB' } }, /size/],
  ['a Gateway that is not named', { gateway: { enabled: true } }, /parentRefs/],
  ['a distribution without a format', { distributions: [{ codename: 'acme' }] }, /format/],
])('%s is refused, and the value is named', (_, values, name) => {
  const { status, stdout } = spawnSync(helm, ['lint', CHART, ...RELEASE, '--values', withValues(values)], {
    encoding: 'utf8',
  })
  expect([status, stdout]).toEqual([1, expect.stringMatching(name)])
  expect(() => render(values)).toThrow(name)
})

test('a field that Kubernetes does not know is noticed', () => {
  const { status } = spawnSync(kubeconform, ['-strict', '-schema-location', location()], {
    input: render({}).replace('maxUnavailable: 1\n', 'maxUnavailble: 1\n'),
  })
  expect(status).toBe(1)
})

test('the example of secrets is one, and has what production requires', () => {
  const example = join(CHART, 'secret.example.yaml')
  expect(spawnSync(kubeconform, ['-strict', '-schema-location', location(), example]).status).toBe(0)
})

const portOf = (rule: any): string => rule.http.paths[0].backend.service.port.name

describe('the service and the listeners', () => {
  const of = (kind: string, values = {}) => manifests(values).filter((one) => one.kind === kind)

  test('offer the same distributions', () => {
    const shared = of('ConfigMap').find(({ metadata }) => metadata.name === 'gate-repositories')!.data
    expect(Object.keys(shared)).toEqual(
      expect.arrayContaining(['REPO_FORMAT', 'SVC_DISTRIBUTIONS', 'SVC_ARCHITECTURES', 'TRUSTED_PROXIES']),
    )
    const deployments = of('Deployment')
    expect(deployments).toHaveLength(2)
    for (const { spec } of deployments) {
      const [container] = spec.template.spec.containers
      expect(container.envFrom).toContainEqual({ configMapRef: { name: 'gate-repositories' } })
      for (const { name } of container.env) expect(Object.keys(shared)).not.toContain(name)
    }
  })

  test('are on several machines, which are emptied one by one', () => {
    for (const { spec, metadata } of of('Deployment')) {
      expect(spec.template.spec.topologySpreadConstraints).toMatchObject([
        { topologyKey: 'kubernetes.io/hostname', labelSelector: spec.selector },
      ])
      const budget = of('PodDisruptionBudget').find((one) => one.metadata.name === metadata.name)
      expect(budget?.spec).toMatchObject({ maxUnavailable: 1, selector: spec.selector })
      expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels)
    }
  })

  test('go on serving until nobody sends them requests any more', () => {
    for (const { spec } of of('Deployment')) {
      const { terminationGracePeriodSeconds: grace, containers } = spec.template.spec
      const pause = containers[0].lifecycle.preStop.sleep.seconds as number
      // A stop drains for 30 s and ends after 20 s more at most.
      expect(grace - pause).toBeGreaterThan(50)
    }
  })

  test('are replaced when their settings change, and only then', () => {
    const sums = (values: object) => of('Deployment', values).map(({ spec }) => spec.template.metadata.annotations)
    expect(sums({ service: { replicas: 3 } })).toEqual(sums({}))
    for (const [n, sum] of sums({ repositories: { REPO_FORMAT: 'apt' } }).entries())
      expect(sum).not.toEqual(sums({})[n])
  })

  test('have a policy of the network each: listeners reach nothing, and nobody reaches a port that is not offered', () => {
    const policies = of('NetworkPolicy')
    for (const { spec, metadata } of of('Deployment')) {
      const policy = policies.find((one) => one.metadata.name === metadata.name)!.spec
      expect(policy.podSelector).toEqual(spec.selector)
      expect(policy.policyTypes).toEqual(['Ingress', 'Egress'])
      const ports = spec.template.spec.containers[0].ports.map(({ name }: { name: string }) => ({ port: name }))
      expect(policy.ingress).toEqual([{ from: [{ namespaceSelector: {} }], ports }])
    }
    expect(policies.find(({ metadata }) => metadata.name === 'gate-listeners')!.spec.egress).toEqual([])
    expect(JSON.stringify(policies.find(({ metadata }) => metadata.name === 'gate')!.spec.egress)).toContain(
      '"except":["169.254.0.0/16"]',
    )
  })

  test('are reached by the names and ports of the services that the ways in name', () => {
    const ports = new Map(
      of('Service').flatMap(({ metadata, spec }) =>
        spec.ports.map((port: any) => [`${metadata.name} ${port.name}`, port.targetPort]),
      ),
    )
    const backends = of('Ingress').flatMap(({ spec }) => spec.rules.flatMap((rule: any) => rule.http.paths))
    expect(backends).toHaveLength(4)
    for (const { backend } of backends)
      expect([...ports.keys()]).toContain(`${backend.service.name} ${backend.service.port.name}`)

    const numbers = of('Service').flatMap(({ metadata, spec }) =>
      spec.ports.map((port: any) => [port.name, { name: metadata.name, port: port.port }]),
    )
    const hosts = new Map(of('Ingress').flatMap(({ spec }) => spec.rules.map((rule: any) => [portOf(rule), rule.host])))
    const parentRefs = [{ name: 'public', namespace: 'gateways' }]
    const routes = of('HTTPRoute', { ingress: { enabled: false }, gateway: { enabled: true, parentRefs } })
    expect(routes.map(({ spec }) => [spec.hostnames, spec.rules[0].backendRefs, spec.parentRefs]).sort()).toEqual(
      numbers.map(([name, backend]) => [[hosts.get(name)], [backend], parentRefs]).sort(),
    )
  })
})
