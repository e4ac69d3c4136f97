// A worker thread with one universe of packages, which computes what can be installed. It ends after its question.
import { parentPort, workerData } from 'node:worker_threads'
import {
  HELD_STATUSES,
  type CheckResult,
  type HeldStatus,
  type PlanResult,
  type Step,
  type Uninstallable,
} from '../../domain/installability.ts'
import type { Capability, Requirement } from '../../domain/package.ts'
import { formatOf } from '../index.ts'
import type { Origin, PackageTuple, Reply, Request, Selector, ThreadData } from './messages.ts'
import { createUniverse, type Installability } from './universe.ts'

/** Steps of one cause; real ones have fewer than ten. */
const MOST_STEPS = 20

const { format: id, reach, budget } = workerData as ThreadData
const universe = createUniverse(formatOf(id), reach)
const origins: Origin[] = []
/** Keys of held packages and packages of sources: each is added once, and a held one is not taken from a source. */
const upstreamKeys = new Set<string>()
const heldAs = (index: number): HeldStatus | null => HELD_STATUSES.find((status) => status === origins[index]) ?? null

/** @returns how many relations they have */
function add(origin: Origin, packages: readonly PackageTuple[]): number {
  let relations = 0
  for (const [name, version, arch, multiArch, requirements, provides] of packages) {
    if (origin === 'upstream' || isHeld(origin)) {
      const key = `${name} ${version} ${arch}`
      if (upstreamKeys.has(key)) continue
      upstreamKeys.add(key)
    }
    const stated = { requirements: requirements as Requirement[], provides: provides as Capability[] }
    universe.add({ name, version, arch, multiArch, ...stated })
    origins.push(origin)
    relations += stated.provides.length
    for (const { anyOf } of stated.requirements) relations += anyOf.length
  }
  return relations
}

const isHeld = (origin: Origin | undefined) => HELD_STATUSES.some((status) => status === origin)

const indexesOf = (origin: Origin) => origins.flatMap((one, index) => (one === origin ? [index] : []))

function withCauses(index: number, { explain }: Installability): Uninstallable {
  const steps = explain(index)
  return { ...universe.identityOf(index), causes: steps.slice(0, MOST_STEPS), causes_total: steps.length }
}

const listed = <T>(indexes: readonly number[], most: number, show: (index: number) => T) =>
  indexes.slice(0, most).map(show)

function check(mostListed: number): CheckResult {
  const asked = indexesOf('distribution')
  const alone = universe.check(asked, (index) => origins[index] !== 'distribution', budget, heldAs)
  const impossible = asked.filter((index) => alone.answerOf(index) === 'impossible')
  const undecided = asked.filter((index) => alone.answerOf(index) === 'undecided')
  const upstream = indexesOf('upstream').length
  // More packages never make one uninstallable.
  const isOut = (index: number) => origins[index] === 'added' || isHeld(origins[index])
  const both = upstream > 0 ? universe.check(impossible, isOut, budget, heldAs) : null
  const isWith = (index: number) => both?.answerOf(index) ?? 'undecided'
  const order = (index: number) => (isWith(index) === 'possible' ? 1 : 0)
  impossible.sort((a, b) => order(a) - order(b))
  return {
    total: asked.length,
    upstream,
    uninstallable: listed(impossible, mostListed, (index) => {
      const answer = isWith(index)
      const upstreamSteps: Step[] | null =
        both && answer === 'impossible' ? both.explain(index).slice(0, MOST_STEPS) : null
      return {
        ...withCauses(index, alone),
        installable_with_upstream: answer === 'undecided' ? null : answer === 'possible',
        upstream_causes: upstreamSteps,
      }
    }),
    uninstallable_total: impossible.length,
    uninstallable_with_upstream_total: impossible.filter((index) => isWith(index) === 'impossible').length,
    undecided: listed(undecided, mostListed, universe.identityOf),
    undecided_total: undecided.length,
  }
}

function plan({ withUpstream, remove, mostListed }: Request & { kind: 'plan' }): PlanResult {
  const isRemoved = (index: number) => {
    const { name, version, arch } = universe.identityOf(index)
    return (
      origins[index] === 'distribution' &&
      (removals.get(name)?.some((one) => (one.version ?? version) === version && (one.arch ?? arch) === arch) ?? false)
    )
  }
  const removals = new Map<string, Selector[]>()
  for (const one of remove) removals.set(one.name, [...(removals.get(one.name) ?? []), one])
  const present = indexesOf('distribution')
  const staying = present.filter((index) => !isRemoved(index))
  const added = indexesOf('added')
  const isOut = (index: number) => isHeld(origins[index]) || (!withUpstream && origins[index] === 'upstream')
  const before = universe.check(staying, (index) => isOut(index) || origins[index] === 'added', budget, heldAs)
  const after = universe.check([...staying, ...added], (index) => isOut(index) || isRemoved(index), budget, heldAs)
  const changed = (from: string, to: string) =>
    staying.filter((index) => before.answerOf(index) === from && after.answerOf(index) === to)
  const broken = changed('possible', 'impossible')
  const fixed = changed('impossible', 'possible')
  const refused = added.filter((index) => after.answerOf(index) === 'impossible')
  const isUndecided = (index: number) => [before, after].some((one) => one.answerOf(index) === 'undecided')
  return {
    would_break: listed(broken, mostListed, (index) => withCauses(index, after)),
    would_break_total: broken.length,
    would_fix: listed(fixed, mostListed, universe.identityOf),
    would_fix_total: fixed.length,
    added_uninstallable: listed(refused, mostListed, (index) => withCauses(index, after)),
    added_uninstallable_total: refused.length,
    undecided_total: staying.filter(isUndecided).length,
    removed: present.length - staying.length,
  }
}

function answer(request: Request): Reply {
  try {
    if (request.kind === 'check') return { checked: check(request.mostListed) }
    if (request.kind === 'plan') return { planned: plan(request) }
    const packages = JSON.parse(request.packages) as PackageTuple[]
    const relations = add(request.origin, packages)
    return { added: packages.length, relations }
  } catch (error) {
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

parentPort?.on('message', (request: Request) => parentPort?.postMessage(answer(request)))
