import { runNow } from '../../base/async/cooperative.ts'
import type { Steps } from '../../base/async/cooperative.ts'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { joinPath } from '../../base/paths.ts'
import { fewText } from '../../base/text/first-few.ts'
import { comparePaths } from '../model/digest.ts'
import { shownValue } from '../skill/contract/contract-value.ts'
import type { Catalog } from './catalog.ts'

/** The part of a contract skill that concerns its neighbors. */
export interface ContractNeighbor {
  readonly id: string
  readonly dependsOn: readonly string[]
  readonly source: string
  /** The path of its folder, from the source's root. */
  readonly path: string
  /** True if it is in the lists, false if only clients that know its URI can read it. */
  readonly isListed: boolean
  /** True if its source does not require the contract: others can depend on it, and it gets no diagnostic. */
  readonly isOffered?: true
}

/** Stable identifiers for programs. */
export const CONTRACT_CODES = ['id-clash', 'dependency-missing', 'dependency-cycle'] as const
export type ContractCode = (typeof CONTRACT_CODES)[number]

/**
 * A diagnostic about contract skills together, across sources. No skill is withheld for a dependency: otherwise a commit of one
 * source could remove what another serves. If two skills have one id, neither is at `resource://`.
 */
export interface ContractDiagnostic extends Diagnostic<ContractCode> {
  /** The message names the first of them, with source and path. */
  readonly skills: readonly Pick<ContractNeighbor, 'id' | 'source' | 'path'>[]
}

/**
 * The diagnostics of the served skills: the first ones of each code and the number of the rest; for cycles, only that
 * there are more.
 */
export function contractDiagnostics(catalog: Catalog): ContractDiagnostic[] {
  return runNow(contractDiagnosticSteps(catalog))
}

/** `contractDiagnostics` in steps, for a caller that must let other work run. */
export function contractDiagnosticSteps(catalog: Catalog): Steps<ContractDiagnostic[]> {
  return diagnosticsBetween(declaredIn(catalog), MOST_OF_A_CODE)
}

/** The diagnostics that involve a skill of one of these sources. */
export function diagnosticsAbout<Found extends Pick<ContractDiagnostic, 'skills'>>(
  sources: ReadonlySet<string>,
  diagnostics: readonly Found[],
): Found[] {
  return diagnostics.filter(({ skills }) => skills.some(({ source }) => sources.has(source)))
}

/**
 * Clashes, then missing dependencies, then cycles; each code in the order of its ids. There is at most one of a code
 * for an id. If there are more than `most` of a code, the last one gives the number left out; for cycles, it only says
 * that some are.
 */
export function diagnosticsAmong(
  declared: readonly ContractNeighbor[],
  most = Number.POSITIVE_INFINITY,
): ContractDiagnostic[] {
  return runNow(diagnosticsBetween(declared, most))
}

/**
 * Missing dependencies and cycles among skills that name each other in `metadata`. The `id` of each is its name, and a
 * name stands for all skills that have it: several may.
 */
export function nameDiagnosticsAmong(declared: readonly ContractNeighbor[]): ContractDiagnostic[] {
  const owners = byId(declared)
  return [...few(unmet(owners, 'name'), MOST_OF_A_CODE), ...runNow(describingCycles(owners))]
}

function* diagnosticsBetween(declared: readonly ContractNeighbor[], most: number): Steps<ContractDiagnostic[]> {
  if (declared.length === 0) return []
  const owners = byId(declared)
  yield
  const clashing = few(clashes(owners), most)
  yield
  const missing = few(unmet(owners), most)
  yield
  return [...clashing, ...missing, ...(yield* describingCycles(owners))]
}

/** More than a person reads at once, and few enough to send. */
const MOST_OF_A_CODE = 100

function few(diagnostics: readonly ContractDiagnostic[], most: number): readonly ContractDiagnostic[] {
  const [next] = diagnostics.slice(most)
  if (next === undefined) return diagnostics
  const left = diagnostic(
    next.code,
    `${diagnostics.length - most} more of these are left out; fix those named first`,
    [],
  )
  return [...diagnostics.slice(0, most), left]
}

function declaredIn(catalog: Catalog): ContractNeighbor[] {
  return [...catalog.skills.values()].flatMap(({ source, skill: { contract, path, standing } }) =>
    contract === undefined
      ? []
      : [
          {
            id: contract.id,
            dependsOn: contract.isOffered === true ? [] : contract.dependsOn,
            source,
            path,
            isListed: standing === 'served',
            ...(contract.isOffered === true && { isOffered: true }),
          },
        ],
  )
}

type Owners = ReadonlyMap<string, readonly ContractNeighbor[]>

function byId(declared: readonly ContractNeighbor[]): Owners {
  const owners = Map.groupBy(declared, ({ id }) => id)
  const inOrder = (a: ContractNeighbor, b: ContractNeighbor): number => comparePaths(placeOf(a), placeOf(b))
  return new Map(
    [...owners]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, all]) => [id, all.length === 1 ? all : all.toSorted(inOrder)]),
  )
}

function clashes(owners: Owners): ContractDiagnostic[] {
  return [...owners].flatMap(([id, sharing]) => {
    const all = sharing.filter(({ isOffered }) => isOffered !== true)
    if (all.length < 2) return []
    const [listed, unlisted] = [all.filter(({ isListed }) => isListed), all.filter(({ isListed }) => !isListed)]
    const so =
      listed.length === 1
        ? `it leads to ${places(listed)}, and skills in no list have it too: ${places(unlisted)}; rename those`
        : `none of them is served at resource://: ${places(all)}; rename all but one`
    return [diagnostic('id-clash', `${all.length} skills have the id "${id}", so ${so}`, all)]
  })
}

/** At most one per id, whatever the number of its dependencies: a frontmatter has room for ten thousand ids. */
function unmet(owners: Owners, what: 'id' | 'name' = 'id'): ContractDiagnostic[] {
  return [...owners].flatMap(([id, all]) => {
    const isUnmet = (target: string): boolean => !owners.has(target)
    const targets = [...new Set(all.flatMap(({ dependsOn }) => dependsOn.filter(isUnmet)))]
    if (targets.length === 0) return []
    const wanting = all.filter(({ dependsOn }) => dependsOn.some(isUnmet))
    const which = targets.length === 1 ? `that ${what}` : `those ${what}s`
    const message = `"${id}" depends on ${fewText(targets, MOST_NAMED, shownValue)}, and no skill that is served has ${which}: ${places(wanting)}`
    return [diagnostic('dependency-missing', message, wanting)]
  })
}

function* describingCycles(owners: Owners): Steps<ContractDiagnostic[]> {
  const isMet = (target: string): boolean => owners.has(target)
  const dependencies = new Map(
    [...owners].map(([id, all]) => [id, all.flatMap(({ dependsOn }) => dependsOn.filter(isMet))]),
  )
  yield
  const found = yield* findingCycles(dependencies, MOST_CYCLES + 1)
  const more = 'More of these are left out; fix those named first'
  const told = found.slice(0, MOST_CYCLES).map((cycle) => {
    const members = cycle.flatMap((id) => owners.get(id) ?? [])
    const way = [...cycle, cycle[0]].map((id) => `"${id}"`)
    const steps = way.length > MOST_NAMED ? [...way.slice(0, MOST_NAMED), '…', way.at(-1)] : way
    return diagnostic('dependency-cycle', `A cycle of dependencies: ${steps.join(' → ')}: ${places(members)}`, members)
  })
  return found.length > MOST_CYCLES ? [...told, diagnostic('dependency-cycle', more, [])] : told
}

/** Each cycle takes a search of its own, so they are not counted. When these are fixed, the next ones are reported. */
const MOST_CYCLES = 20

/** In a message; `skills` has all of them. */
const MOST_NAMED = 12

function places(skills: readonly ContractNeighbor[]): string {
  return fewText(skills, MOST_NAMED, placeOf)
}

/** The source and path, in the form that the commands take. */
function placeOf({ source, path }: Pick<ContractNeighbor, 'source' | 'path'>): string {
  return joinPath(source, path)
}

function diagnostic(code: ContractCode, message: string, skills: readonly ContractNeighbor[]): ContractDiagnostic {
  return { code, message, skills: skills.map(({ id, source, path }) => ({ id, source, path })) }
}

/** The ids that each id depends on. */
export type Dependencies = ReadonlyMap<string, readonly string[]>

/**
 * Finds at most `most` cycles, such that every id on any cycle is on one of these. Each is listed once and begins with
 * its least id. It does not enumerate all cycles: forty skills that depend on each other have far too many.
 */
export function* findingCycles(dependencies: Dependencies, most: number): Steps<readonly string[][]> {
  const named = new Set<string>()
  const cycles: string[][] = []
  const knotOf = yield* findingKnots(dependencies)
  const isOfKnot = (id: string, other: string): boolean => knotOf.get(id) === knotOf.get(other)
  // No path that leaves a strongly connected component returns to it. Edges that lead out of it need no sorting.
  const knotted = new Map(
    [...dependencies].map(([id, others]) => [id, others.filter((other) => isOfKnot(id, other)).toSorted()]),
  )
  for (const id of [...dependencies.keys()].toSorted()) {
    if (cycles.length === most) break
    const cycle = named.has(id) ? undefined : shortestFrom(id, knotted)
    if (cycle === undefined) continue
    for (const member of cycle) named.add(member)
    cycles.push(rotate(cycle))
    yield
  }
  return cycles
}

/** The shortest path from an id back to itself; the first such by order of the ids. */
function shortestFrom(start: string, dependencies: Dependencies): string[] | undefined {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  // The array grows during the loop.
  for (const at of queue) {
    for (const next of dependencies.get(at) ?? []) {
      if (next === start) return wayTo(at, start, cameFrom)
      if (cameFrom.has(next)) continue
      cameFrom.set(next, at)
      queue.push(next)
    }
  }
  return undefined
}

function wayTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [end]
  for (let at = end; at !== start;) {
    at = cameFrom.get(at) ?? start
    way.push(at)
  }
  return way.toReversed()
}

function rotate(cycle: readonly string[]): string[] {
  const least = cycle.reduce((first, id, index) => (id < (cycle[first] ?? '') ? index : first), 0)
  return [...cycle.slice(least), ...cycle.slice(0, least)]
}

/**
 * The strongly connected component of each id: two ids share one if each is reachable from the other (Tarjan, without
 * recursion).
 */
function* findingKnots(dependencies: Dependencies): Steps<ReadonlyMap<string, number>> {
  const knotOf = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  for (const root of dependencies.keys()) {
    if (lowest.has(root)) continue
    yield
    const walks = [walkFrom(root)]
    for (let walk = walks.at(-1); walk !== undefined; walk = walks.at(-1)) {
      const next = walk.left.pop()
      if (next === undefined) {
        walks.pop()
        close(walk)
        lower(walks.at(-1)?.id, lowest.get(walk.id))
        yield
      } else if (!lowest.has(next)) walks.push(walkFrom(next))
      else if (!knotOf.has(next)) lower(walk.id, lowest.get(next))
    }
  }
  return knotOf

  function walkFrom(id: string): Walk {
    const order = lowest.size
    lowest.set(id, order)
    open.push(id)
    return { id, order, left: [...(dependencies.get(id) ?? [])] }
  }

  function lower(id: string | undefined, to: number | undefined): void {
    if (id === undefined || to === undefined) return
    lowest.set(id, Math.min(lowest.get(id) ?? to, to))
  }

  function close({ id, order }: Walk): void {
    if (lowest.get(id) !== order) return
    for (const member of open.splice(open.lastIndexOf(id))) knotOf.set(member, order)
  }
}

interface Walk {
  readonly id: string
  readonly order: number
  /** The ids that are still to be visited. */
  readonly left: string[]
}
