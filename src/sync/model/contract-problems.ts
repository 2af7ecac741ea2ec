import type { Catalog } from './catalog.ts'
import { comparePaths } from './digest.ts'
import { cyclesIn } from './dependencies.ts'
import { joinPath } from './paths.ts'

/** A skill that keeps the contract, as far as its neighbours are concerned. */
export interface Declared {
  readonly id: string
  readonly dependsOn: readonly string[]
  readonly source: string
  /** Of its folder, from the source's root. */
  readonly path: string
}

/**
 * What is wrong between skills of the contract, across sources. Nothing is withheld for a dependency: else a commit of one
 * source would take away what another serves. Of two skills with one id neither is at `resource://`.
 */
export interface ContractProblem {
  readonly kind: 'id-clash' | 'dependency-missing' | 'dependency-cycle'
  /** Says which skills, with source and path. */
  readonly message: string
  readonly skills: readonly Pick<Declared, 'id' | 'source' | 'path'>[]
}

/** The problems of what is served. */
export function contractProblems(catalog: Catalog): ContractProblem[] {
  return problemsAmong(declaredIn(catalog))
}

/** Clashes, then what is missing, then cycles; each kind in the order of its ids. */
export function problemsAmong(declared: readonly Declared[]): ContractProblem[] {
  const owners = byId(declared)
  return [...clashes(owners), ...missing(owners), ...cycles(owners)]
}

function declaredIn(catalog: Catalog): Declared[] {
  return [...catalog.skills.values()].flatMap(({ source, skill: { contract, path } }) =>
    contract === undefined ? [] : [{ id: contract.id, dependsOn: contract.dependsOn, source, path }],
  )
}

type Owners = ReadonlyMap<string, readonly Declared[]>

function byId(declared: readonly Declared[]): Owners {
  const owners = Map.groupBy(declared, ({ id }) => id)
  const inOrder = (a: Declared, b: Declared): number => comparePaths(placeOf(a), placeOf(b))
  return new Map([...owners].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, all]) => [id, all.toSorted(inOrder)]))
}

function clashes(owners: Owners): ContractProblem[] {
  return [...owners].flatMap(([id, all]) => {
    if (all.length === 1) return []
    const message = `${all.length} skills have the id "${id}", so none of them is served at resource://: ${places(all)}; rename all but one`
    return [problem('id-clash', message, all)]
  })
}

function missing(owners: Owners): ContractProblem[] {
  return [...owners].flatMap(([id, all]) => {
    const wanted = all.flatMap((skill) => skill.dependsOn.map((target) => ({ target, skill })))
    const lacking = Map.groupBy(wanted, ({ target }) => target)
    return [...lacking]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([target, edges]) => {
        if (owners.has(target)) return []
        const wanting = [...new Set(edges.map(({ skill }) => skill))]
        const message = `"${id}" depends on "${target}", and no skill that is served has that id: ${places(wanting)}`
        return [problem('dependency-missing', message, wanting)]
      })
  })
}

function cycles(owners: Owners): ContractProblem[] {
  const dependencies = new Map([...owners].map(([id, all]) => [id, all.flatMap(({ dependsOn }) => dependsOn)]))
  return cyclesIn(dependencies, MOST_CYCLES).map((cycle) => {
    const members = cycle.flatMap((id) => owners.get(id) ?? [])
    const way = [...cycle, cycle[0]].map((id) => `"${id}"`)
    const shown = way.length > MOST_NAMED ? [...way.slice(0, MOST_NAMED), '…', way.at(-1)] : way
    return problem('dependency-cycle', `A cycle of dependencies: ${shown.join(' → ')}: ${places(members)}`, members)
  })
}

/** Each is looked for on its own; when these are mended the next are named. */
const MOST_CYCLES = 20

/** In a message. `skills` has them all. */
const MOST_NAMED = 12

function places(skills: readonly Declared[]): string {
  const named = skills.slice(0, MOST_NAMED).map(placeOf)
  const left = skills.length - named.length
  return left > 0 ? `${named.join(', ')} and ${left} more` : named.join(', ')
}

/** As the commands take it: source and path. */
function placeOf({ source, path }: Pick<Declared, 'source' | 'path'>): string {
  return joinPath(source, path)
}

function problem(kind: ContractProblem['kind'], message: string, skills: readonly Declared[]): ContractProblem {
  return { kind, message, skills: skills.map(({ id, source, path }) => ({ id, source, path })) }
}
