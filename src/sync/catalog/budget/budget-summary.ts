import { comparePaths } from '../../model/digest.ts'
import type { BudgetSkill } from './budget-skill.ts'
import { PRESENT_CLIENTS, SMALL_WINDOW } from './client-rules.ts'
import type { BudgetAllowance, BudgetClient } from './client-rules.ts'
import { contextBudget } from './context-budget.ts'
import type { BudgetTerms, ListingSize, SkillVisibility, Visibility } from './context-budget.ts'

/** The context budget of a set of skills, as plain data: the `budget` of `--json`. */
export interface BudgetSummary {
  /** The number of skills that any client lists. */
  readonly skills: number
  readonly clients: readonly ClientBudget[]
  /** Pairs of skills with nearly the same description, the most alike first. */
  readonly overlaps: readonly Overlap[]
  /** False if there may be more overlaps: the search has limits. */
  readonly allOverlaps: boolean
}

/** The listing of the skills in one client. */
export interface ClientBudget {
  readonly client: BudgetClient
  readonly role: BudgetRole
  /** The assumed context window in tokens; null for that of the client's default model, or for a number of characters. */
  readonly window: number | null
  /** The words for the model, or the number, that the allowance is of. */
  readonly of: string
  readonly allowance: BudgetAllowance
  /** The cost of the whole listing, in the unit of the allowance. */
  readonly cost: number
  /** The number of skills in the listing. */
  readonly skills: number
  readonly full: ListingSize
  readonly shown: ListingSize
  /** The numbers of skills by their visibility. */
  readonly visibility: Readonly<Record<Visibility, number>>
  /** The skills that are not shown whole, in the order of the listing; the first `MOST_AFFECTED` of them. */
  readonly affected: readonly SkillVisibility[]
}

/** `limit`: terms that were asked for. `default`: the client's default model. `smaller`: another model, for information. */
export type BudgetRole = 'limit' | 'default' | 'smaller'

/** The default models of the present clients, and the smaller ones of Claude Code. */
const PRESENT_TERMS: readonly BudgetTerms[] = [
  ...PRESENT_CLIENTS.map((client) => ({ client })),
  { client: 'claude-code', window: SMALL_WINDOW },
]

/**
 * The context budget of these skills under the terms that were asked for. Without them: that of each present client with
 * its usual models. A number of characters says nothing of a model: the usual ones of its client follow it.
 */
export function budgetSummary(skills: readonly BudgetSkill[], asked: readonly BudgetTerms[] = []): BudgetSummary {
  const usual = PRESENT_TERMS.filter(
    ({ client }) => asked.length === 0 || asked.some((one) => one.characters !== undefined && one.client === client),
  )
  // Between skills of which a model chooses.
  const { pairs, isComplete } = overlapsIn(skills.filter(({ isForPeople }) => isForPeople !== true))
  return {
    skills: skills.length,
    clients: [
      ...asked.map((terms) => clientBudget(skills, terms, 'limit')),
      ...usual.map((terms) => clientBudget(skills, terms, terms.window === undefined ? 'default' : 'smaller')),
    ],
    overlaps: pairs,
    allOverlaps: isComplete,
  }
}

function clientBudget(skills: readonly BudgetSkill[], terms: BudgetTerms, role: BudgetRole): ClientBudget {
  const { client, window = null, allowance, cost, full, shown, skills: listed } = contextBudget(skills, terms)
  const affected = listed.filter(({ visibility }) => visibility !== 'whole')
  return {
    client,
    role,
    window,
    of: termsText(terms),
    allowance,
    cost,
    skills: listed.length,
    full,
    shown,
    visibility: countVisibility(listed),
    affected: affected.slice(0, MOST_AFFECTED),
  }
}

/** The model, or the number, that a figure is for. */
export function termsText({ client, window, characters, list }: BudgetTerms): string {
  if (characters !== undefined) return 'for these skills alone'
  if (list !== undefined) return `of a list of ${list}`
  if (window !== undefined) return `with ${window} tokens`
  return client === 'claude-code-2.0' ? 'any model' : 'default model'
}

/** More rows help no reader, and a catalog can have a hundred thousand skills. */
const MOST_AFFECTED = 1_000

function countVisibility(listed: readonly SkillVisibility[]): Record<Visibility, number> {
  const counts: Record<Visibility, number> = { whole: 0, shortened: 0, 'name-only': 0, omitted: 0 }
  for (const { visibility } of listed) counts[visibility] += 1
  return counts
}

/** Two skills whose descriptions have nearly the same words: a model can hardly choose between them. */
export interface Overlap {
  readonly a: OverlapSide
  readonly b: OverlapSide
  /** The share of the words of both that are in both, 0.8 to 1: the Jaccard index of the two sets, rounded down. */
  readonly likeness: number
}

type OverlapSide = Pick<BudgetSkill, 'id' | 'name'>

interface Overlaps {
  /** Ordered by likeness, then by id. Of skills with equal words, each is paired with the first alone. */
  readonly pairs: readonly Overlap[]
  /** False if a limit ended the search; there may be other pairs. */
  readonly isComplete: boolean
}

/**
 * Finds descriptions that overlap. Two sets with a Jaccard index of at least `LEAST_LIKENESS` share one of the rarest
 * words of each ("prefix filter": Chaudhuri, Ganti and Kaushik, ICDE 2006), so an index of these rare words has all
 * candidates, and most skills are compared with none.
 */
export function overlapsIn(skills: readonly BudgetSkill[]): Overlaps {
  const sorted = skills.toSorted((a, b) => comparePaths(a.id, b.id))
  const described = sorted.map(({ id, name, ...texts }) => ({ side: { id, name }, words: wordsOf(texts) }))
  const search = new OverlapSearch(rarityIn(described))
  for (const { side, words } of described) search.add(side, words)
  return search.result
}

interface Described {
  readonly side: OverlapSide
  readonly words: readonly string[]
}

const LEAST_LIKENESS = 0.8
/** Shorter descriptions are alike by chance. */
const LEAST_WORDS = 4
/** A description that clients take has fewer words. */
const MOST_WORDS = 400
/** Some seconds of work at the most, whatever the descriptions are. */
const MOST_COMPARISONS = 200_000
const MOST_PAIRS = 1_000

/** The number of descriptions with each word. */
function rarityIn(all: readonly Described[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { words } of all) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

function wordsOf({ description, whenToUse = '' }: Pick<BudgetSkill, 'description' | 'whenToUse'>): readonly string[] {
  const words = `${description} ${whenToUse}`.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return [...new Set(words.slice(0, MOST_WORDS))]
}

/** A description in the index. */
interface Indexed {
  readonly side: OverlapSide
  readonly words: ReadonlySet<string>
}

class OverlapSearch {
  readonly #counts: ReadonlyMap<string, number>
  readonly #byWords = new Map<string, Indexed>()
  readonly #byRareWord = new Map<string, Indexed[]>()
  readonly #pairs: Overlap[] = []
  #comparisons = 0
  #isComplete = true

  constructor(counts: ReadonlyMap<string, number>) {
    this.#counts = counts
  }

  add(side: OverlapSide, unordered: readonly string[]): void {
    if (unordered.length < LEAST_WORDS) return
    const words = this.#rarestFirst(unordered)
    const indexed = { side, words: new Set(words) }
    const key = words.join(' ')
    const equal = this.#byWords.get(key)
    if (equal !== undefined) return this.#found(equal, indexed, 1)
    this.#byWords.set(key, indexed)
    const rare = words.slice(0, words.length - Math.ceil(LEAST_LIKENESS * words.length) + 1)
    for (const other of this.#candidates(rare)) this.#compare(other, indexed)
    for (const word of rare) this.#listOf(word).push(indexed)
  }

  get result(): Overlaps {
    const pairs = this.#pairs.toSorted(
      (x, y) => y.likeness - x.likeness || comparePaths(x.a.id, y.a.id) || comparePaths(x.b.id, y.b.id),
    )
    return { pairs, isComplete: this.#isComplete }
  }

  #rarestFirst(words: readonly string[]): readonly string[] {
    const countOf = (word: string): number => this.#counts.get(word) ?? 0
    return words.toSorted((a, b) => countOf(a) - countOf(b) || comparePaths(a, b))
  }

  *#candidates(rare: readonly string[]): Iterable<Indexed> {
    const met = new Set<Indexed>()
    for (const word of rare)
      for (const other of this.#byRareWord.get(word) ?? []) {
        if (this.#comparisons >= MOST_COMPARISONS) {
          this.#isComplete = false
          return
        }
        this.#comparisons += 1
        if (met.has(other)) continue
        met.add(other)
        yield other
      }
  }

  #compare(a: Indexed, b: Indexed): void {
    const [fewer, more] = a.words.size < b.words.size ? [a.words, b.words] : [b.words, a.words]
    if (fewer.size < LEAST_LIKENESS * more.size) return
    let shared = 0
    for (const word of fewer) if (more.has(word)) shared += 1
    const likeness = shared / (fewer.size + more.size - shared)
    if (likeness >= LEAST_LIKENESS) this.#found(a, b, Math.floor(likeness * 100) / 100)
  }

  #found(a: Indexed, b: Indexed, likeness: number): void {
    if (this.#pairs.length >= MOST_PAIRS) this.#isComplete = false
    else this.#pairs.push({ a: a.side, b: b.side, likeness })
  }

  #listOf(word: string): Indexed[] {
    const list = this.#byRareWord.get(word) ?? []
    this.#byRareWord.set(word, list)
    return list
  }
}
