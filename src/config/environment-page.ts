// The documentation page of the environment, made from the declaration and from nothing else.
import { VARIABLES, type Variable } from './variables.ts'

/** The text of `docs/environment.md`. */
export function environmentPage(): string {
  const variables = Object.values(VARIABLES) as Variable[]
  const groups = [...new Set(variables.map((variable) => variable.group))]
  const lines = [
    '# Environment',
    '',
    '<!-- Made by `node bin/docs.mjs` from src/config/variables.ts. Change it there. -->',
    '',
    'Read once, at the start. A variable that is empty counts as unset. All faults are told at once and stop the start.',
    'Values marked *secret* appear in no error and no log. Variables marked **No effect** are accepted, but change nothing yet.',
    '',
  ]
  for (const group of groups) {
    lines.push(`## ${group}`, '', '| Variable | Value | Default | Meaning |', '|---|---|---|---|')
    for (const variable of variables) if (variable.group === group) lines.push(row(variable))
    lines.push('')
  }
  return lines.join('\n')
}

function row(variable: Variable): string {
  const meaning = [variable.description]
  if (variable.required) meaning.push(`**Required ${variable.required}.**`)
  if (variable.secret) meaning.push('*Secret.*')
  if (variable.inactive) meaning.push(`**No effect: ${variable.inactive}.**`)
  const cells = [`\`${variable.name}\``, variable.kind.label, variable.shown || 'none', meaning.join(' ')]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
