// Reads the environment once, at start: typed and frozen. Reports all faults at once.
import { StartError } from '../kernel/start-error.ts'
import { faultsOf, poolFaultsOf, proxyFaultsOf, warningsOf } from './rules.ts'
import {
  LISTENER_PROPERTIES,
  POOL_PROPERTIES,
  VARIABLES,
  type Env,
  type BaseValues,
  type ListenerEnv,
  type PoolEnv,
  type Variable,
} from './variables.ts'

export type { Env, ListenerEnv, PoolEnv } from './variables.ts'

export type Source = Record<string, string | undefined>

/** The environment is not valid; `faults` holds one sentence per faulty variable, without secrets. */
export class EnvironmentError extends StartError {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(
      `the environment has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    )
    this.faults = faults
  }
}

/**
 * @param source `process.env`; an empty or blank variable counts as unset
 * @returns the values, and warnings to log
 * @throws EnvironmentError naming every fault
 */
export function readEnv(source: Source): { env: Env; warnings: string[] } {
  const { values, given, faults, warnings } = parse(source, Object.entries(VARIABLES))
  const env = values as unknown as Env
  faults.push(...faultsOf(env, given))
  if (faults.length > 0) throw new EnvironmentError(faults)
  const checked = warningsOf(env, given)
  return { env: freeze({ ...env, ...checked.corrections }), warnings: [...warnings, ...checked.warnings] }
}

/**
 * Reads the variables of a process that only serves repositories: no database, and no secrets except those of the object store.
 * @throws EnvironmentError naming every fault
 */
export function readListenerEnv(source: Source): { env: ListenerEnv; warnings: string[] } {
  return readSome(source, LISTENER_PROPERTIES)
}

/**
 * Reads the variables of a command that reads or writes package files.
 * @throws EnvironmentError naming every fault
 */
export const readPoolEnv = (source: Source): PoolEnv => readSome(source, POOL_PROPERTIES).env

function readSome<K extends keyof Env>(
  source: Source,
  properties: readonly (K | keyof PoolEnv)[],
): { env: Pick<Env, K | keyof PoolEnv>; warnings: string[] } {
  const { values, faults, warnings } = parse(
    source,
    properties.map((property) => [property, VARIABLES[property]]),
  )
  const env = values as unknown as Pick<Env, K | keyof PoolEnv>
  faults.push(...poolFaultsOf(env), ...proxyFaultsOf(env as Partial<Env>))
  if (faults.length > 0) throw new EnvironmentError(faults)
  return { env: freeze(env), warnings }
}

/** The variables of a process that only serves repositories, for its own environment. */
export function listenerSource(source: Source): Source {
  // The keys of an object store may be in the environment for other reasons.
  const needed = LISTENER_PROPERTIES.filter((property) => source[VARIABLES.poolUrl.name] || !VARIABLES[property].secret)
  const names = needed.map((property) => VARIABLES[property].name)
  return Object.fromEntries(names.map((name) => [name, source[name]]))
}

function parse(source: Source, variables: readonly [property: string, variable: Variable][]) {
  const faults: string[] = []
  const warnings: string[] = []
  const values: Record<string, unknown> = {}
  const given = new Set<string>()
  for (const [property, variable] of variables) {
    const text = textOf(source, variable)
    // Defaults depend only on variables declared earlier; a test checks the order in `variables.ts`.
    values[property] = variable.fallback(values as unknown as BaseValues)
    if (text === undefined) continue
    given.add(variable.name)
    try {
      values[property] = variable.kind.parse(text)
    } catch (error) {
      const fault = `${variable.name} ${(error as Error).message}`
      if (variable.lenient) warnings.push(`${fault}; ${variable.shown.replaceAll('`', '')} is used`)
      else faults.push(fault)
    }
  }
  return { values, given, faults, warnings }
}

function textOf(source: Source, variable: Variable): string | undefined {
  // The proxy variables are often written in lower case.
  const text =
    source[variable.name] ?? (variable.name.endsWith('_PROXY') ? source[variable.name.toLowerCase()] : undefined)
  if (text === undefined || text.trim() === '') return undefined
  // A secret may begin or end with blanks; blanks around other values are left by a file or a shell.
  return variable.secret && variable.kind.label === 'text' ? text : text.trim()
}

function freeze<T extends object>(env: T): T {
  for (const value of Object.values(env) as unknown[])
    if (typeof value === 'object' && value !== null) Object.freeze(value)
  return Object.freeze(env)
}
