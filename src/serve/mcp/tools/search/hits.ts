import type { Offered, OfferedSkills } from '../../../../sync/catalog/tool-catalog.ts'

/** A found skill, in the form that a model receives. */
export interface Hit {
  readonly id: string
  readonly name: string
  readonly source: string
  /** The ids of all places with the same content under the same name, if there are several; at most `MOST_PLACES`. */
  readonly places?: readonly string[]
  /** The description on one line; it ends in `…` if it is shortened. */
  readonly description: string
}

/** The found skills that fit the token limit. */
export interface Hits {
  readonly skills: readonly Hit[]
  /** The number of found skills that did not fit. */
  readonly omitted?: number
}

/** UTF-8 bytes counted as one token. Tokenizers differ; most need fewer tokens for English text. */
export const BYTES_PER_TOKEN = 4

/** The estimated number of tokens of a text. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/**
 * Returns the hits that fit in `maxTokens` as JSON. It first shortens all descriptions to the same length. If that
 * leaves next to nothing of them, it drops the last hits. `more` are found besides, and counted as omitted.
 */
export function hitsWithin(
  all: readonly Offered[],
  maxTokens = Number.POSITIVE_INFINITY,
  placesOf: OfferedSkills['placesOf'] = (offered) => [offered],
  more = 0,
): Hits {
  // Prepared only once: the loop tries many lengths, and the length of a description is not bounded.
  const found = all.map((offered) => toldOf(offered, placesOf(offered)))
  const fits = (hits: Hits): boolean => tokensIn(JSON.stringify(hits)) <= maxTokens
  for (let count = found.length; count > 0; count -= 1) {
    const of = (characters: number): Hits => hitsOf(found, more, { count, characters })
    const least = count === 1 ? 0 : LEAST_CHARACTERS
    if (!fits(of(least))) continue
    let [fitting, tooMany] = [least, MOST_CHARACTERS + 1]
    while (tooMany - fitting > 1) {
      const middle = Math.floor((fitting + tooMany) / 2)
      if (fits(of(middle))) fitting = middle
      else tooMany = middle
    }
    return of(fitting)
  }
  return hitsOf(found, more, { count: 0, characters: 0 })
}

/** The limit of Agent Skills for a description; some skills exceed it. */
const MOST_CHARACTERS = 1_024

/** A shorter description does not say what the skill is for. */
const LEAST_CHARACTERS = 60

type Told = Pick<Offered, 'id' | 'name' | 'source' | 'description'> & Pick<Hit, 'places'>

function toldOf({ id, name, source, description }: Offered, places: readonly Offered[]): Told {
  return { id, name, source, description: onOneLine(description), ...placesTold(places) }
}

/** Returns the `places` property of a skill; empty if there is only one place. */
export function placesTold(places: readonly Offered[]): Pick<Hit, 'places'> {
  return places.length > 1 ? { places: places.slice(0, MOST_PLACES).map(({ id }) => id) } : {}
}

const MOST_PLACES = 8

function hitsOf(found: readonly Told[], more: number, kept: { count: number; characters: number }): Hits {
  const skills = found.slice(0, kept.count).map((told) => hitOf(told, kept.characters))
  const omitted = found.length - kept.count + more
  return omitted === 0 ? { skills } : { skills, omitted }
}

function hitOf({ id, name, source, places, description }: Told, characters: number): Hit {
  return { id, name, source, ...(places !== undefined && { places }), description: shorten(description, characters) }
}

/** Keeps one character more than the limit, so that the caller sees that the text was longer. */
function onOneLine(text: string): string {
  return text
    .slice(0, 4 * MOST_CHARACTERS)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MOST_CHARACTERS + 1)
}

/** Cuts at the end of a word, if one is near. */
function shorten(text: string, characters: number): string {
  if (text.length <= characters) return text
  if (characters === 0) return '…'
  const cut = text.slice(0, characters - 1).toWellFormed()
  const whole = cut.replace(/\s+\S{0,20}$/, '')
  return `${whole === '' ? cut : whole}…`
}
