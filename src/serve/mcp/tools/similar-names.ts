import type { Steps } from '../../../base/async/cooperative.ts'
import { baseName } from '../../../base/paths.ts'
import { editDistance } from '../../../base/text/edit-distance.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'

/** A skill that models may see, with its names. */
export interface NameHint {
  readonly offered: Offered
  readonly names: readonly Spelt[]
}

/** A folded text. */
interface Spelt {
  readonly text: string
  /** One bit for each character: texts that differ in many bits need no further comparison. */
  readonly characters: number
}

/** Prepares a skill for the comparison. */
export function nameHint(offered: Offered): NameHint {
  const names = new Set([offered.name, baseName(offered.id)].map(foldName))
  return { offered, names: [...names].map(spellingOf) }
}

/** Maximum number of similar skills. */
export const MOST_NEAR = 5

/** Returns the skills with similar names, the most similar first, at most `MOST_NEAR`. */
export function* nearest(told: readonly NameHint[], name: string): Steps<readonly Offered[]> {
  const wanted = spellingOf(foldName(name))
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

/** A shorter text matches too much, and a longer one is not a name. */
const LEAST_CHARACTERS = 3
const MOST_CHARACTERS = 100

/**
 * Ranks a name. A few typing errors rank first. Then follow names that contain the text, and names in the text, by
 * whole words; fewer additional characters rank higher.
 */
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
  // A typing error replaces at most one character with another.
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

function spellingOf(text: string): Spelt {
  let characters = 0
  for (let at = 0; at < text.length; at += 1) characters |= 1 << (text.charCodeAt(at) & 31)
  return { text, characters }
}

/** Folds the variants of a name: case, and spaces, underscores or hyphens. */
export function foldName(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .trim()
    .replaceAll(/[\s_-]+/g, '-')
}
