import type { Principal } from './principal.ts'

/** The packs and the ring that one client sees: the only key of what is served. */
export interface View {
  /** The key of the catalog. Views of packs that do not exist have the same one. */
  readonly name: ViewName
  /** The packs that the client may see, also those that do not exist; `undefined`: everything. */
  readonly packs: ReadonlySet<string> | undefined
  /** The ring of the client; `undefined` for the first, or without rings. */
  readonly ring: string | undefined
}

/** A client, as far as it decides on its view. Without an id, it is a client without a token. */
export interface Viewer {
  readonly id?: Principal['id'] | undefined
  readonly packs?: Principal['packs'] | undefined
}

/** The packs and the rings that exist. */
export interface ViewRules {
  has(pack: string): boolean
  ringOf(principal: string | undefined): string | undefined
}

/** Returns what a client may see: no surface reads the packs of a principal. Without `rules`, there are no packs. */
export function viewOf({ id, packs }: Viewer = {}, rules: ViewRules = NO_PACKS): View {
  const ring = rules.ringOf(id)
  return { name: nameOfView(packs, ring, rules), packs, ring }
}

/** Returns the part of a view that is one pack; `undefined` if the view lacks the pack, or it does not exist. */
export function viewOfPack({ packs, ring }: View, id: string, rules: ViewRules = NO_PACKS): View | undefined {
  if (!rules.has(id) || packs?.has(id) === false) return undefined
  const one = new Set([id])
  return { name: nameOfView(one, ring, rules), packs: one, ring }
}

const NO_PACKS: ViewRules = { has: () => false, ringOf: () => undefined }

/**
 * The set of visible packs as one string: their ids in order. The empty string means everything, in packs or not. A view
 * of a ring after the first begins with its id behind a tilde.
 */
export type ViewName = string

export const WHOLE: ViewName = ''

/** The view of no pack. No id contains a space, so it differs from the view of everything. */
export const NONE: ViewName = ' '

/** A client's ring, by the id of its principal; `undefined` stands for a client without a token. */
export type RingOf = (principal: string | undefined) => string

/** The rings that clients are in. */
export interface RingRoster {
  /** The ids of the rings, that of the newest content first. */
  readonly ids: readonly string[]
  readonly ringOf: RingOf
}

/** The view of a ring after the first, with the rest of the name for its packs. No id begins with a tilde. */
const OF_RING = /^~([^ ]+)(?: (.*))?$/s

/** Splits the name of a view. `ring`: `undefined` for the first ring, or if there are no rings. */
export function partsOfView(view: ViewName): { readonly ring: string | undefined; readonly packs: ViewName } {
  const [, ring, packs = WHOLE] = OF_RING.exec(view) ?? []
  return ring === undefined ? { ring: undefined, packs: view } : { ring, packs }
}

/** Returns the name of the view of these packs in a ring; for `undefined`, in the first ring. By default, it sees all. */
export function viewOfRing(ring: string | undefined, packs: ViewName = WHOLE): ViewName {
  if (ring === undefined) return packs
  return packs === WHOLE ? `~${ring}` : `~${ring} ${packs}`
}

/** Returns the name of the view of the existing packs among `packs`, in a ring; for `undefined`, of everything there. */
export function nameOfView(
  packs: ReadonlySet<string> | undefined,
  ring: string | undefined,
  rules: Pick<ViewRules, 'has'>,
): ViewName {
  if (packs === undefined) return viewOfRing(ring)
  const known = [...packs].filter((id) => rules.has(id))
  return viewOfRing(ring, known.length === 0 ? NONE : known.toSorted().join(' '))
}

/** A digest of each pack's selection rules, by pack id. Equal digests select the same from the same skills. */
export type Choices = Readonly<Record<string, string>>

/** The selection digests of the packs in a view. */
export function choicesIn(choices: Choices | undefined, view: ViewName): string {
  return partsOfView(view)
    .packs.split(' ')
    .map((id) => choices?.[id])
    .join(' ')
}
