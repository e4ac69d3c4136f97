// The packages that one client could choose from, and which of them can be installed.
import type { HeldStatus, PackageIdentity, Step } from '../../domain/installability.ts'
import type { Capability, Relation, Requirement } from '../../domain/package.ts'
import { BUDGET, checkItems, type Budget } from '../solver/check.ts'
import { createConstraintsBuilder } from '../solver/constraints.ts'
import { explain } from '../solver/explain.ts'
import type { Answer, Cause } from '../solver/search.ts'
import type { Reach } from '../architectures.ts'
import { satisfies } from '../dependencies.ts'
import type { VersionScheme } from '../ecosystem.ts'
import { createFormulas } from './formulas.ts'
import { createOffers } from './offers.ts'
import type { InstallationRules } from '../installation-rules.ts'
import { createRequirements, type Need } from './requirements.ts'
import { describeSteps, type Exclusion } from './steps.ts'

export interface UniversePackage {
  name: string
  version: string
  arch: string
  multiArch?: string | null
  requirements: readonly Requirement[]
  provides: readonly Capability[]
}

/** What the universe needs from a format. */
export interface UniverseFormat {
  versions: Pick<VersionScheme, 'compare' | 'meets'>
  installation: InstallationRules
}

export interface Installability {
  answerOf(index: number): Answer
  /** Packages that can be installed together, this one among them; null unless the answer is `possible`. */
  installationOf(index: number): number[] | null
  /** Why a package for which the answer is `impossible` cannot be installed: a minimal cause, from the package outwards. */
  explain(index: number): Step[]
}

export interface Universe {
  /** @returns the index of the package */
  add(pkg: UniversePackage): number
  /**
   * Whether the universe has a set of packages that contains the package, meets all strong requirements and violates no
   * exclusion. Nothing is assumed to be installed, and weak relations do not count.
   * @param asked indexes
   * @param isLeftOut packages that count as missing
   * @param heldAs why a left-out package is not offered, for explanations; null for other packages
   */
  check(
    asked: readonly number[],
    isLeftOut?: (index: number) => boolean,
    budget?: Budget,
    heldAs?: (index: number) => HeldStatus | null,
  ): Installability
  identityOf(index: number): PackageIdentity
}

/** @param reach architectures whose packages the client installs */
export function createUniverse({ versions, installation }: UniverseFormat, reach: Reach): Universe {
  const names: string[] = []
  const packageVersions: string[] = []
  const archs: string[] = []
  const offers = createOffers()
  const requirements = createRequirements(installation)
  const strings = new Map<string, string>()
  const intern = (text: string) => {
    const known = strings.get(text)
    if (known !== undefined) return known
    strings.set(text, text)
    return text
  }

  function add(pkg: UniversePackage): number {
    const index = names.push(intern(pkg.name)) - 1
    packageVersions.push(intern(pkg.version))
    archs.push(intern(pkg.arch))
    const multiArch = pkg.multiArch ?? null
    offers.add(intern(pkg.name), index, intern(pkg.version), true, multiArch)
    for (const { name, version } of pkg.provides)
      offers.add(
        intern(name),
        index,
        version === undefined || version === '' ? null : intern(version),
        false,
        multiArch,
      )
    for (const requirement of pkg.requirements) requirements.add(index, requirement)
    return index
  }

  /** Newer versions first, and packages of the name before others that provide it: what clients prefer. */
  function matching(relation: Relation, byName: boolean, isLeftOut: (index: number) => boolean): number[] {
    const found: { index: number; own: boolean }[] = []
    offers.each(relation.name, (index, version, own, multiArch) => {
      if (isLeftOut(index) || (byName && !own)) return
      const offer = { version, arch: archs[index]!, multiArch }
      if (satisfies(relation, offer, versions, reach)) found.push({ index, own })
    })
    if (found.length > 1)
      found.sort(
        (a, b) =>
          Number(b.own) - Number(a.own) || versions.compare(packageVersions[b.index]!, packageVersions[a.index]!),
      )
    return [...new Set(found.map(({ index }) => index))]
  }

  function check(
    asked: readonly number[],
    isLeftOut = (_: number) => false,
    budget = BUDGET,
    heldAs: (index: number) => HeldStatus | null = () => null,
  ): Installability {
    const heldFor = ({ anyOf }: Need) =>
      [...new Set(anyOf.flatMap((relation) => matching(relation, false, (index) => heldAs(index) === null)))].map(
        (index) => ({ ...identityOf(index), status: heldAs(index)! }),
      )
    const { needs, exclusions, packageNeeds, packageExclusions } = requirements
    const builder = createConstraintsBuilder()
    const needSets: number[][] = []
    const banSets: number[][] = []
    /** the meaning of each set, for explanations */
    const needOf: Need[] = []
    const exclusionOf: (Exclusion | null)[] = []
    const auxiliaries: string[] = []

    const addNeedSet = (members: number[], need: Need) => {
      needOf.push(need)
      return needSets.push(members) - 1
    }
    const addBanSet = (members: number[], exclusion: Exclusion | null) => {
      exclusionOf.push(exclusion)
      return banSets.push(members) - 1
    }
    const formulas = createFormulas({
      matching: (relation) => matching(relation, false, isLeftOut),
      auxiliary(text, sets, banned) {
        const item = names.length + auxiliaries.push(text) - 1
        for (const members of sets) builder.addNeed(item, addNeedSet(members, { anyOf: [], text, whole: text }))
        if (banned) builder.addBan(item, addBanSet(banned, null))
        return item
      },
    })

    const needSetIds = new Map<number, number[]>()
    const setsOf = (id: number): number[] => {
      const known = needSetIds.get(id)
      if (known) return known
      const need = needs[id]!
      const sets =
        need.whole !== null && installation.whole
          ? formulas.required(installation.whole.parse(need.whole), need.whole)
          : [[...new Set(need.anyOf.flatMap((relation) => matching(relation, false, isLeftOut)))]]
      const made = sets.map((members) => addNeedSet(members, need))
      needSetIds.set(id, made)
      return made
    }
    for (let i = 0; i < packageNeeds.length; i += 2) {
      if (isLeftOut(packageNeeds[i]!)) continue
      for (const set of setsOf(packageNeeds[i + 1]!)) builder.addNeed(packageNeeds[i]!, set)
    }

    const banSetIds = new Map<number, number>()
    for (let i = 0; i < packageExclusions.length; i += 2) {
      const [index, id] = [packageExclusions[i]!, packageExclusions[i + 1]!]
      if (isLeftOut(index)) continue
      const exclusion = exclusions[id]!
      if (exclusion.whole !== null && installation.whole) {
        for (const members of formulas.excluded(installation.whole.parse(exclusion.whole), exclusion.whole))
          builder.addNeed(index, addNeedSet(members, { anyOf: [], text: exclusion.text, whole: exclusion.whole }))
        continue
      }
      let set = banSetIds.get(id)
      if (set === undefined) {
        set = addBanSet(matching(exclusion.relation, exclusion.byName, isLeftOut), exclusion)
        banSetIds.set(id, set)
      }
      if (banSets[set]!.length > 0) builder.addBan(index, set)
    }

    // One version of a name at a time.
    offers.eachName((name, list) => {
      const present = list.filter(({ index }) => !isLeftOut(index))
      const counted = installation.exclusiveProvides ? present : present.filter(({ own }) => own)
      const members = [...new Set(counted.map(({ index }) => index))]
      if (members.length < 2) return
      const owners = new Set(counted.filter(({ version }) => version !== null).map(({ index }) => index))
      if (owners.size === 0) return
      const set = addBanSet(members, { kind: 'same_name', text: name, relation: { name }, whole: null, byName: true })
      for (const owner of owners) builder.addBan(owner, set)
    })

    const constraints = builder.build(names.length + auxiliaries.length, needSets, banSets)
    const { answerOf, search } = checkItems(constraints, asked, budget)
    const identities = {
      identityOf: (index: number) => (index < names.length ? identityOf(index) : null),
      conditionOf: (index: number) => auxiliaries[index - names.length] ?? '',
    }
    return {
      answerOf,
      installationOf(index) {
        if (search.solve(index, budget.conflicts) !== 'possible') return null
        return [...search.chosen()].filter((item) => item < names.length)
      },
      explain: (index) =>
        describeSteps(explain(constraints, search, index), {
          ...identities,
          need: ({ set }: Cause & { kind: 'need' }) => ({
            text: needOf[set]!.text,
            candidates: needSets[set]!,
            held: needSets[set]!.length > 0 ? [] : heldFor(needOf[set]!),
            others: needOf[set]!.anyOf.flatMap(({ name }) => offers.packagesOf(name).filter((one) => !isLeftOut(one))),
          }),
          exclusion: ({ set }: Cause & { kind: 'ban' }) => exclusionOf[set] ?? null,
        }),
    }
  }

  const identityOf = (index: number) => ({
    name: names[index]!,
    version: packageVersions[index]!,
    arch: archs[index]!,
  })
  return { add, check, identityOf }
}
