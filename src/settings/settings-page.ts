// The documentation page of the runtime settings, made from the declaration and from nothing else.
import type { TSchema } from 'typebox'
import { defaultOf, LEAVES, SECTIONS, type Leaf } from './leaves.ts'

/** The text of `docs/settings.md`. */
export function settingsPage(): string {
  const lines = [
    '# Runtime settings',
    '',
    '<!-- Made by `node bin/docs.mjs` from src/domain/settings.ts. Change it there. -->',
    '',
    'Read by `GET /api/v1/settings`, changed by `PATCH /api/v1/settings` (administrators), kept in `settings.json`.',
    'A change is a partial document: all of it is taken, or none. Secrets are shown as `***`; sending `***` keeps one,',
    '`null` or empty text clears it. Each key may also be sent flat, as `<section>_<key>`; `ldap_url` (`ldap://host:port`,',
    '`ldaps://host:port`) stands for `ldap.host`, `ldap.port` and `ldap.use_ssl`. In maps, `null` removes an entry.',
    'Settings marked **No effect** are accepted and kept, but change nothing yet; `_meta.inactive` lists them.',
    '',
  ]
  const root = [...LEAVES.values()].filter((leaf) => leaf.section === null)
  lines.push('## At the root', '', ...table(root), '')
  for (const [name, schema] of SECTIONS) {
    lines.push(`## ${name}`, '', (schema as { description?: string }).description ?? '', '')
    lines.push(...table([...LEAVES.values()].filter((leaf) => leaf.section === name)), '')
  }
  return lines.join('\n')
}

function table(leaves: Leaf[]): string[] {
  return ['| Key | Value | Default | Meaning |', '|---|---|---|---|', ...leaves.map(row)]
}

function row(leaf: Leaf): string {
  const { description = '' } = leaf.schema as { description?: string }
  const cells = [`\`${leaf.key}\``, kindOf(leaf), shownDefault(leaf), meaningOf(leaf, description)]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function meaningOf(leaf: Leaf, description: string): string {
  const secret = leaf.secret ? ' *Secret.*' : ''
  return `${description}${secret}${leaf.inactive === null ? '' : ` **No effect: ${leaf.inactive}.**`}`
}

function shownDefault(leaf: Leaf): string {
  const [value, inDevelopment] = [show(defaultOf(leaf, 'production')), show(defaultOf(leaf, 'development'))]
  return value === inDevelopment ? value : `${value}, in development ${inDevelopment}`
}

function show(value: unknown): string {
  if (value === '') return 'empty'
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

interface Shape {
  type?: string
  enum?: string[]
  anyOf?: Shape[]
  minimum?: number
  maximum?: number
  patternProperties?: Record<string, Shape>
}

function kindOf(leaf: Leaf): string {
  return kindOfShape(leaf.schema)
}

function kindOfShape(shape: Shape): string {
  if (shape.enum) return shape.enum.map((word) => `\`${word}\``).join(', ')
  if (shape.anyOf) return shape.anyOf.map(kindOfShape).join(', ')
  if (shape.patternProperties) return `map to ${Object.values(shape.patternProperties).map(kindOfShape).join()}`
  if (shape.type === 'integer') return `whole number, ${shape.minimum} to ${shape.maximum}`
  if (shape.type === 'boolean') return '`true`, `false`'
  if (shape.type === 'null') return '`null`'
  return 'text'
}
