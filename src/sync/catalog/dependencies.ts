import type { Steps } from '../../base/async/cooperative.ts'

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
