import type { BudgetSkill } from './budget-skill.ts'
import { keepFitting, omitBeyond, shareRoom } from './keep-descriptions.ts'
import type { ListingLine } from './keep-descriptions.ts'
import { firstCharacters } from './text-size.ts'
import type { BudgetUnit } from './text-size.ts'

/** A client whose rule for the listing of skills is published. */
export type BudgetClient = 'claude-code' | 'codex' | 'claude-code-2.0'

/** The most that a client spends on its listing of skills. */
export interface BudgetAllowance {
  readonly unit: BudgetUnit
  readonly limit: number
}

/** The published rule of one client. */
export interface ClientRule {
  /** The allowance for a context window of so many tokens, without what the client brings; `undefined`: the default model. */
  allowance(window: number | undefined): BudgetAllowance
  /** The characters that the client's own skills take of the list; absent if they were not measured. */
  readonly brought?: number
  /** True if the client lists the skill to models. */
  lists(skill: BudgetSkill): boolean
  /** The fields that the client lists beside the name, uncut. */
  text(skill: BudgetSkill): string
  /** Cuts such a text to the client's limit for one skill. */
  cut(text: string): string
  /** The line of a skill, without its end. An empty description leaves what is always there. */
  line(skill: BudgetSkill, description: string): string
  /** For each line the characters of its description that remain, or `undefined` if the whole line is omitted. */
  keep(lines: readonly ListingLine[], allowance: BudgetAllowance): readonly (number | undefined)[]
}

/**
 * Measured with a stub of the model's API in `test/agents/listing.test.ts`. `model`: the whole allowance of the list with
 * the agent's default model. `brought`: the part of each list that the agent's own skills take before any other
 * description, in the same unit. Two skills of Claude Code, `init` and `security-review`, yield theirs to other skills.
 */
export const MEASURED = {
  'claude-code': { version: '2.1.332', date: '2026-11-28', skills: 13, brought: 6_077, model: 30_000 },
  codex: { version: '0.171.0', date: '2026-11-28', skills: 4, brought: 432, model: 10_000 },
} as const

/** The part of a window that is left for the skills that are served; the whole one with the default model at the most. */
function leftOf(client: keyof typeof MEASURED, share: number): number {
  const { brought, model } = MEASURED[client]
  return Math.max(1, Math.min(model, Math.floor(share)) - brought)
}

/**
 * Claude Code since 2.1.129. The listing has 1 % of the context window (`skillListingBudgetFraction`), counted as four
 * characters for each token, so 8,000 for 200,000 tokens; with its default model, 30,000 were measured, less than that
 * share of a window of a million tokens. `SLASH_COMMAND_TOOL_CHAR_BUDGET` sets another number. It cuts the description
 * with `when_to_use` at 1,536 characters (`skillListingMaxDescChars`). Over the allowance it keeps every name, and drops
 * whole descriptions of the skills that were invoked least; a shorter one after them stays if it fits (measured with
 * 2.1.332 on 2026-11-28; the end of the last line is not counted there, and is here).
 *
 * Sources: https://code.claude.com/docs/en/skills#skill-descriptions-are-cut-short and
 * https://code.claude.com/docs/en/settings (both as of September 2026); the factor of four:
 * https://github.com/melodic-software/claude-code-plugins/issues/1271 (read from 2.1.220, July 2026).
 *
 * Two things are not published. The use of each skill on a machine decides which descriptions remain: without it, those
 * of the first skills in the order of names do. And the separator before `when_to_use`: one space here.
 */
const CLAUDE_CODE: ClientRule = {
  lists: isForModels,
  allowance: (window = Infinity) => ({ unit: 'characters', limit: leftOf('claude-code', (window * 4) / 100) }),
  brought: MEASURED['claude-code'].brought,
  text: ({ description, whenToUse }) => (whenToUse === undefined ? description : `${description} ${whenToUse}`.trim()),
  cut: (text) => firstCharacters(text, 1_536),
  line: ({ name }, description) => (description === '' ? `- ${name}` : `- ${name}: ${description}`),
  keep: keepFitting,
}

/**
 * Codex. The listing has 2 % of the context window in tokens of four bytes, 10,000 tokens with its default model. A description is cut at 1,024 characters, the last three of them dots. Over the allowance, Codex shares the
 * room that the names and paths leave out to the descriptions, one character after another in turn. If not even those
 * fit, it drops every description, and each line for which no room is left.
 *
 * Sources: https://developers.openai.com/codex/skills; `codex-rs/ext/skills/src/render.rs` of
 * https://github.com/openai/codex at 30fc6864cc1318121eca1843c217fe00ce1212f1 (September 2026), and the sharing in
 * `codex-rs/core-skills/src/render.rs` at 0899b7c42bf11847f78710966b362f756337c17d.
 *
 * A path counts in the short form that Codex takes as soon as something does not fit, `r0/NAME/SKILL.md`. The table of
 * these roots and the instructions around the list are not counted.
 *
 * Of the frontmatter Codex reads `name`, `description` and `metadata.short-description` alone (`SkillFrontmatter` in
 * `codex-rs/core-skills/src/loader.rs` at 033d1d0741d697436d4d5527aaac8893c28b424c), so that it lists a skill with
 * `disable-model-invocation`. It leaves out one whose `agents/openai.yaml` has `policy.allow_implicit_invocation: false`,
 * a file that is not read here: such a skill counts.
 */
const CODEX: ClientRule = {
  lists: () => true,
  allowance: (window = Infinity) => ({ unit: 'tokens', limit: leftOf('codex', (window * 2) / 100) }),
  brought: MEASURED.codex.brought * 4,
  text: ({ description }) => description,
  cut: (text) => (firstCharacters(text, 1_024) === text ? text : `${firstCharacters(text, 1_021)}...`),
  line({ name }, description) {
    const start = description === '' ? `- ${name}:` : `- ${name}: ${description}`
    return `${start} (file: r0/${name}/SKILL.md)`
  },
  keep: shareRoom,
}

/**
 * Claude Code before 2.1.32 (February 2026). The listing has 15,000 characters by default, whatever the window. Each
 * skill takes its description and some 109 characters of markup, name and place. A skill that does not fit is not in
 * the listing, nor is any after it: the model does not know its name.
 *
 * Sources: https://github.com/anthropics/claude-code/issues/13099 and
 * https://github.com/anthropics/claude-code/issues/12782 (December 2025), and the end of the fixed default:
 * https://github.com/anthropics/claude-code/issues/23406.
 */
const CLAUDE_CODE_2_0: ClientRule = {
  lists: isForModels,
  allowance: () => ({ unit: 'characters', limit: 15_000 }),
  text: ({ description }) => description,
  cut: (text) => text,
  line: (_skill, description) => MARKUP_2_0 + description,
  keep: omitBeyond,
}

function isForModels({ isForPeople }: BudgetSkill): boolean {
  return isForPeople !== true
}

/** Stands for the markup of one skill, its name and its place. With the end of the line: 109 characters. */
const MARKUP_2_0 = ' '.repeat(108)

export const CLIENT_RULES: Readonly<Record<BudgetClient, ClientRule>> = {
  'claude-code': CLAUDE_CODE,
  codex: CODEX,
  'claude-code-2.0': CLAUDE_CODE_2_0,
}

/** The clients whose present version is reported without being named. */
export const PRESENT_CLIENTS: readonly BudgetClient[] = ['claude-code', 'codex']

/** The window of the smaller models of Claude Code, for which figures are reported beside those of the default models. */
export const SMALL_WINDOW = 200_000
