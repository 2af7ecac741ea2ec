import { comparePaths } from '../../model/digest.ts'
import type { BudgetSkill } from './budget-skill.ts'
import { CLIENT_RULES } from './client-rules.ts'
import type { BudgetAllowance, BudgetClient, ClientRule } from './client-rules.ts'
import { totalOf } from './keep-descriptions.ts'
import type { Kept, ListingLine } from './keep-descriptions.ts'
import { sizeOf, joinSizes, tokensOfBytes } from './text-size.ts'
import type { TextSize } from './text-size.ts'

/** A client, and the settings that decide how much it lists. */
export interface BudgetTerms {
  readonly client: BudgetClient
  /** The context window of the model, in tokens; absent if it is unknown. */
  readonly window?: number
  /** A number of characters for these skills alone, in place of the client's own rule. */
  readonly characters?: number
  /** A number of characters for the whole list of the client, what it brings included, in place of its own rule. */
  readonly list?: number
}

/** The listing of skills in one client: its size, and what the model gets of each skill. */
export interface ContextBudget {
  readonly client: BudgetClient
  readonly window: number | undefined
  readonly allowance: BudgetAllowance
  /** The cost of the whole listing, in the unit of the allowance. The client leaves something out if it is larger. */
  readonly cost: number
  /** The listing with every description as far as the client takes it. */
  readonly full: ListingSize
  /** The listing that the model gets. */
  readonly shown: ListingSize
  /** Every skill that the client lists, in the order of the listing. */
  readonly skills: readonly SkillVisibility[]
}

export interface ListingSize {
  readonly characters: number
  /** Estimated: `tokensOfBytes`. */
  readonly tokens: number
}

/** The part of one skill that the model gets. */
export interface SkillVisibility {
  readonly id: string
  readonly name: string
  readonly visibility: Visibility
  /** The characters of its description, with `when_to_use` in a client that lists that. */
  readonly length: number
  /** The number of these that the model gets. */
  readonly kept: number
}

/** `name-only`: the description is lost, the name remains. `omitted`: the model does not know of the skill. */
export type Visibility = 'whole' | 'shortened' | 'name-only' | 'omitted'

/** Works out what a client lists of these skills, in any order. Equal skills and terms give an equal result. */
export function contextBudget(skills: readonly BudgetSkill[], terms: BudgetTerms): ContextBudget {
  const { client, window } = terms
  const rule = CLIENT_RULES[client]
  const allowance = allowanceOf(terms)
  const sorted = skills
    .filter((skill) => rule.lists(skill))
    .toSorted((a, b) => comparePaths(a.name, b.name) || comparePaths(a.id, b.id))
  const lines = sorted.map((skill) => lineOf(skill, rule))
  const kept = rule.keep(lines, allowance)
  return {
    client,
    window,
    allowance,
    cost: totalOf(lines, 'full', allowance.unit),
    full: listingSizeOf(lines.map(({ full }) => full)),
    shown: listingSizeOf(lines.map((line, index) => shownSize(line, kept[index], rule))),
    skills: lines.map(({ skill }, index) => skillVisibilityOf(skill, sizeOf(rule.text(skill)).characters, kept[index])),
  }
}

/** The cost of the whole listing of these skills, in the unit of the allowance. */
export function listingCost(skills: readonly BudgetSkill[], terms: BudgetTerms): number {
  const rule = CLIENT_RULES[terms.client]
  return totalOf(
    skills.filter((skill) => rule.lists(skill)).map((skill) => lineOf(skill, rule)),
    'full',
    allowanceOf(terms).unit,
  )
}

/** The allowance under these terms. */
export function allowanceOf({ client, window, characters, list }: BudgetTerms): BudgetAllowance {
  const rule = CLIENT_RULES[client]
  const limit = characters ?? (list === undefined ? undefined : Math.max(1, list - (rule.brought ?? 0)))
  return limit === undefined ? rule.allowance(window) : { unit: 'characters', limit }
}

interface SkillLine extends ListingLine {
  readonly skill: BudgetSkill
}

function lineOf(skill: BudgetSkill, rule: ClientRule): SkillLine {
  const description = rule.cut(rule.text(skill))
  return { skill, description, bare: lineSize(skill, '', rule), full: lineSize(skill, description, rule) }
}

function lineSize(skill: BudgetSkill, description: string, rule: ClientRule): TextSize {
  return sizeOf(`${rule.line(skill, description)}\n`)
}

function shownSize(line: SkillLine, kept: Kept, rule: ClientRule): TextSize {
  if (kept === undefined) return NOTHING
  if (kept === 0) return line.bare
  const characters = Array.from(line.description)
  return kept >= characters.length ? line.full : lineSize(line.skill, characters.slice(0, kept).join(''), rule)
}

const NOTHING: TextSize = { characters: 0, bytes: 0 }

function listingSizeOf(sizes: readonly TextSize[]): ListingSize {
  const { characters, bytes } = sizes.reduce(joinSizes, NOTHING)
  return { characters, tokens: tokensOfBytes(bytes) }
}

function skillVisibilityOf({ id, name }: BudgetSkill, length: number, kept: Kept): SkillVisibility {
  return { id, name, visibility: visibilityFor(length, kept), length, kept: kept ?? 0 }
}

function visibilityFor(length: number, kept: Kept): Visibility {
  if (kept === undefined) return 'omitted'
  if (kept >= length) return 'whole'
  return kept === 0 ? 'name-only' : 'shortened'
}
