// Parameters in the document. What a name means everywhere is said here once; a schema that says something else wins.
import type { TSchema } from 'typebox'
import type { Declaration } from '../http/route.ts'

interface Word {
  description: string
  example: unknown
}

/** Uses of a parameter from which on it is one component. */
const SHARED_FROM = 2

const word = (description: string, example: unknown): Word => ({ description, example })

const WORDS: Record<string, Word> = {
  action: word('The action that was taken.', 'UPLOAD'),
  active: word('Whether it is in force.', true),
  arch: word('The architecture of the package.', 'amd64'),
  area: word('Where the difference was found.', 'pool'),
  as: word('The format of the file.', 'csv'),
  assigned_to: word('The user it is assigned to.', 'ada'),
  codename: word('The codename of the distribution.', 'bookworm'),
  days: word('The last days up to today, UTC.', 30),
  distribution: word('The codename of the distribution.', 'bookworm'),
  distro: word('The suite or release as the source names it.', 'bookworm'),
  dry_run: word('Changes nothing and says what would happen.', true),
  epss_min: word('This EPSS score or more.', 0.1),
  fix: word('Whether a finding is fixed in some version.', true),
  fix_state: word('States of the fix, separated by commas.', 'fixed'),
  format: word('The format of the package.', null),
  from: word('The first moment or day, ISO 8601.', '2026-01-01'),
  from_index: word('Lines to leave out.', 0),
  id: word('The number.', 42),
  include_clients: word('Whether the answer has `downloaded_by`.', true),
  include_findings: word('Whether the answer has `cve_results`.', true),
  kev: word('Whether it is known to be exploited.', true),
  kind: word('The kind of the task.', 'backup'),
  level: word('The least severe level.', 'warn'),
  limit: word('Most items of the answer.', 20),
  logger: word('Which process wrote it.', 'service'),
  member_of: word('With `group`: the key of one group.', 'glibc'),
  name: word('The name of the package.', 'acme-tool'),
  place: word('The key of the distribution.', 'bookworm'),
  package: word('The name of the package.', 'acme-tool'),
  page: word('The page, from 1.', 1),
  per_page: word('Items on a page.', 50),
  q: word('Text to look for.', 'acme'),
  reason: word('Why they are held, separated by commas.', 'cve_review'),
  result: word('SUCCESS, FAILURE or WARNING.', 'FAILURE'),
  search: word('Part of the name or of the description.', 'acme'),
  severity: word('Severities, separated by commas.', 'Critical,High'),
  since: word('The first moment, ISO 8601.', '2026-01-01T00:00:00+00:00'),
  sort: word('The order; `-` reverses it.', null),
  source: word('The source, by number or key.', '7'),
  source_id: word('The number of the source.', 7),
  state: word('The state.', 'open'),
  status: word('The status of the package.', 'published'),
  strict: word('Whether the status of the answer says that a package is not published.', true),
  tag: word('The tag: of machines, or a dist-tag of npm.', 'next'),
  target: word('The type of the sources, or `all`.', 'all'),
  to: word('The last moment or day, ISO 8601.', '2026-01-31'),
  token_id: word('The id of the API token.', '0b9f6c1e-6a3e-4f57-9a55-1f0c8a2d7e11'),
  unassigned: word('Whether nobody is assigned.', true),
  user: word('The user or token that did it.', 'ada'),
  user_code: word('The code that the program showed.', 'BCDF-GHJK'),
  username: word('The name of the user.', 'ada'),
  version: word('The version of the package.', '1.4.2-1'),
}

const IDEMPOTENCY_KEY = word(
  'Unique for each new request. The same request with the same key is answered from the first one for a day.',
  '8e03978e-40d5-43dd-bc93-6894a57f9324',
)
const IF_MATCH = word('The `ETag` that was read: the change is refused when another was made since.', '"3f1c"')

/** The parameters of a route, each with a description and an example where anything says them. */
export function parametersOf(route: Declaration, shown: (schema: TSchema) => object): object[] {
  return [...parameters('path', route.params), ...parameters('query', route.query), ...headersOf(route)]

  function parameters(place: 'path' | 'query', schema: TSchema | undefined): object[] {
    const { properties = {}, required = [] } = (schema ?? {}) as {
      properties?: Record<string, TSchema>
      required?: string[]
    }
    return Object.entries(properties).map(([name, given]) => {
      const { description, examples, ...inner } = given as { description?: string; examples?: unknown[] } & TSchema
      const known = WORDS[name]
      return {
        name,
        in: place,
        description: description ?? known?.description,
        ...(place === 'path' || (required.includes(name) && !('default' in inner)) ? { required: true } : {}),
        schema: shown(inner),
        example: examples?.[0] ?? chosenOf(inner) ?? known?.example,
      }
    })
  }
}

function headersOf({ method, idempotencyKey, edited }: Declaration): object[] {
  const header = (name: string, { description, example }: Word) => ({
    ...{ name, in: 'header', description, schema: { type: 'string' }, example },
  })
  return [
    ...(idempotencyKey ? [header('Idempotency-Key', IDEMPOTENCY_KEY)] : []),
    ...(edited && method !== 'GET' ? [header('If-Match', IF_MATCH)] : []),
  ]
}

/**
 * Replaces the parameters that many operations have by references.
 * @returns what they refer to, by name: `PathVersion`, `QueryDistribution`
 */
export function shareParameters(operations: readonly { parameters?: object[] }[]): Record<string, object> {
  const uses = new Map<string, number>()
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters)) {
    const text = JSON.stringify(parameter)
    uses.set(text, (uses.get(text) ?? 0) + 1)
  }
  const names = new Map<string, string>()
  for (const [text, count] of [...uses].sort(([, a], [, b]) => b - a)) {
    const { in: place, name } = JSON.parse(text) as { in: string; name: string }
    const first = `${place}_${name}`.replace(/(?:^|[_-])(\w)/g, (_, letter: string) => letter.toUpperCase())
    // Of several with one name, the most used one has the plain name.
    const taken = [...names.values()].filter((one) => one.replace(/\d+$/, '') === first).length
    if (count >= SHARED_FROM) names.set(text, taken === 0 ? first : `${first}${taken + 1}`)
  }
  for (const operation of operations)
    operation.parameters &&= operation.parameters.map((parameter) => {
      const name = names.get(JSON.stringify(parameter))
      return name === undefined ? parameter : { $ref: `#/components/parameters/${name}` }
    })
  return Object.fromEntries([...names].sort().map(([text, name]) => [name, JSON.parse(text) as object]))
}

/** One of the values that the schema itself names. */
function chosenOf(schema: { default?: unknown; enum?: readonly unknown[] }): unknown {
  return schema.default ?? schema.enum?.[0]
}
