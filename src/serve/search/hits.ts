import type { Offered, OfferedSkills } from '../../sync/catalog/tool-catalog.ts'

/** A skill that was found, as a model is told of it. */
export interface Hit {
  readonly id: string
  readonly name: string
  readonly source: string
  /** The ids of the places where this very content lies under this name, where there are several: `MOST_PLACES` at most. */
  readonly places?: readonly string[]
  /** On one line; it ends in `…` where there is more of it. */
  readonly description: string
}

/** What was found, as far as there is room. */
export interface Hits {
  readonly skills: readonly Hit[]
  /** How many more were found, for which there was no room. */
  readonly omitted?: number
}

/** The bytes of UTF-8 that count as one token. Tokenizers differ; of English most take fewer tokens. */
export const BYTES_PER_TOKEN = 4

/** The tokens that a text takes, as we count them. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/**
 * The hits that take so many tokens at the most, written as JSON. First the descriptions are made shorter, all to the same
 * length; where that would leave next to nothing of them, the last hits are left out.
 */
export function hitsWithin(
  all: readonly Offered[],
  maxTokens = Number.POSITIVE_INFINITY,
  placesOf: OfferedSkills['placesOf'] = (offered) => [offered],
): Hits {
  // Once: it is tried many times, and nobody bounds how long a description is.
  const found = all.map((offered) => toldOf(offered, placesOf(offered)))
  const fits = (hits: Hits): boolean => tokensIn(JSON.stringify(hits)) <= maxTokens
  for (let count = found.length; count > 0; count -= 1) {
    const of = (characters: number): Hits => hitsOf(found, count, characters)
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
  return hitsOf(found, 0, 0)
}

/** What Agent Skills lets a description be; some are longer all the same. */
const MOST_CHARACTERS = 1_024

/** Less of a description does not tell what a skill is for. */
const LEAST_CHARACTERS = 60

type Told = Pick<Offered, 'id' | 'name' | 'source' | 'description'> & Pick<Hit, 'places'>

function toldOf({ id, name, source, description }: Offered, places: readonly Offered[]): Told {
  return { id, name, source, description: onOneLine(description), ...placesTold(places) }
}

/** The `places` of a skill as an answer names them: none where there is one alone. */
export function placesTold(places: readonly Offered[]): Pick<Hit, 'places'> {
  return places.length > 1 ? { places: places.slice(0, MOST_PLACES).map(({ id }) => id) } : {}
}

const MOST_PLACES = 8

function hitsOf(found: readonly Told[], count: number, characters: number): Hits {
  const skills = found.slice(0, count).map((told) => hitOf(told, characters))
  const omitted = found.length - count
  return omitted === 0 ? { skills } : { skills, omitted }
}

function hitOf({ id, name, source, places, description }: Told, characters: number): Hit {
  return { id, name, source, ...(places !== undefined && { places }), description: shortened(description, characters) }
}

/** No more of it than whoever shortens it has to see. */
function onOneLine(text: string): string {
  return text
    .slice(0, 4 * MOST_CHARACTERS)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MOST_CHARACTERS + 1)
}

/** At the end of a word, where there is one near. */
function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text
  if (characters === 0) return '…'
  const cut = text.slice(0, characters - 1).toWellFormed()
  const whole = cut.replace(/\s+\S{0,20}$/, '')
  return `${whole === '' ? cut : whole}…`
}
