import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import { editDistance } from '../../../base/text/edit-distance.ts'
import { baseName } from '../../../base/paths.ts'
import type { Steps } from '../../../base/cooperative.ts'

/** A skill that models are told of, by its names. */
export interface Told {
  readonly offered: Offered
  readonly names: readonly Spelt[]
}

/** A folded text. */
interface Spelt {
  readonly text: string
  /** A bit for each character that it has: texts that differ in many are not compared any further. */
  readonly characters: number
}

/** A skill as one that models are told of. */
export function toldOf(offered: Offered): Told {
  const names = new Set([offered.name, baseName(offered.id)].map(folded))
  return { offered, names: [...names].map(spelt) }
}

/** The most that are near a name. */
export const MOST_NEAR = 5

/** The skills that are called nearly so, the nearest first, `MOST_NEAR` at most. */
export function* nearest(told: readonly Told[], name: string): Steps<readonly Offered[]> {
  const wanted = spelt(folded(name))
  let best: readonly Ranked[] = []
  if (wanted.text.length < LEAST_CHARACTERS || wanted.text.length > MOST_CHARACTERS) return []
  for (const { offered, names } of told) {
    const rank = Math.min(...names.map((one) => rankOf(one, wanted)))
    if (rank < (best[MOST_NEAR - 1]?.rank ?? TOO_FAR))
      best = [...best, { offered, rank }].toSorted((a, b) => a.rank - b.rank).slice(0, MOST_NEAR)
    yield
  }
  return best.map(({ offered }) => offered)
}

interface Ranked {
  readonly offered: Offered
  readonly rank: number
}

/** Fewer match anything, and more are no name. */
const LEAST_CHARACTERS = 3
const MOST_CHARACTERS = 100

/** A few slips of the keyboard come first, then names with the text in them and names in the text, by words: those that add the least. */
function rankOf(name: Spelt, wanted: Spelt): number {
  const slips = slipsBetween(name, wanted)
  if (slips <= Math.min(MOST_SLIPS, Math.floor(wanted.text.length / 3))) return slips
  const [shorter, longer] = name.text.length < wanted.text.length ? [name, wanted] : [wanted, name]
  if (shorter.text.length < LEAST_CHARACTERS || (shorter.characters & ~longer.characters) !== 0) return TOO_FAR
  const isPart =
    shorter === wanted ? `-${name.text}`.includes(`-${wanted.text}`) : `-${wanted.text}-`.includes(`-${name.text}-`)
  return isPart ? MOST_SLIPS + longer.text.length - shorter.text.length : TOO_FAR
}

function slipsBetween(name: Spelt, wanted: Spelt): number {
  if (Math.abs(name.text.length - wanted.text.length) > MOST_SLIPS) return TOO_FAR
  // A slip puts one character in another's place at the most.
  if (bitsIn(name.characters ^ wanted.characters) > 2 * MOST_SLIPS) return TOO_FAR
  return editDistance(name.text, wanted.text)
}

function bitsIn(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1
  return count
}

const MOST_SLIPS = 2
const TOO_FAR = Number.POSITIVE_INFINITY

function spelt(text: string): Spelt {
  let characters = 0
  for (let at = 0; at < text.length; at += 1) characters |= 1 << (text.charCodeAt(at) & 31)
  return { text, characters }
}

/** A name without what people write now so, now so: case, and spaces, underscores or hyphens. */
export function folded(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .trim()
    .replaceAll(/[\s_-]+/g, '-')
}
