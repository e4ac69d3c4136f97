// The registries that this machine's own clients use, as upstreams of proxies.
import { execFileSync } from 'node:child_process'
import { startService, type Service, type ServiceOptions } from '../service.ts'

/** vitest was started by npm, whose variables would answer in place of the configuration. */
const plain = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:npm_|vitest|node_env$)/i.test(name)))
const said = (program: string, args: readonly string[]) =>
  execFileSync(program, args, { encoding: 'utf8', env: plain() }).trim()

/** What a service needs of this environment to reach them. */
const REACHING = ['NODE_EXTRA_CA_CERTS', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

/** A service with a public proxy for each of these rules, by name. */
export async function startProxies(
  format: 'npm' | 'pypi',
  rules: Readonly<Record<string, object>>,
  options: ServiceOptions = {},
): Promise<Service> {
  const environment = REACHING.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  const service = await startService({ ...options, env: Object.fromEntries(environment) as Record<string, string> })
  const url = format === 'npm' ? said('npm', ['config', 'get', 'registry']) : pythonIndex()
  for (const [name, curation] of Object.entries(rules)) {
    const body = { format, name, kind: 'proxy', public: true, upstream: { url }, curation }
    const made = await service.call('POST', '/registries', body)
    if (made.status !== 201) throw new Error(`no proxy ${name}: ${JSON.stringify(made.body)}`)
  }
  return service
}

/** Of pip's configuration, else the one that pip has built in. */
export const pythonIndex = () =>
  said('python3', [
    '-c',
    [
      'from pip._internal.configuration import Configuration',
      'from pip._internal.models.index import PyPI',
      'known = Configuration(isolated=False)',
      'known.load()',
      'values = dict(known.items())',
      'print(values.get(":env:.index-url") or values.get("global.index-url") or PyPI.simple_url)',
    ].join('\n'),
  ])
