import {
  disableForFollowers,
  enableByIds,
  endRecall,
  FOLLOWER_OPTIONS,
} from '../../../features/channel/recall/recall.ts'
import { disabledHere, NOTHING_OUT, firstPlace } from '../../../sync/model/decisions/out-of-service.ts'
import { MOST_REASON } from '../../../sync/model/decisions/published-recall.ts'
import { uriOf } from '../../../sync/model/uris/skill-uri.ts'
import { stateText } from '../../../sync/model/verdict/verdict.ts'
import { Store } from '../../../sync/store/store.ts'
import { MODE_OPTIONS, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus, Options } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { idsOf } from '../../config/config.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import type { DisablingDetails } from '../../pull/operator-decisions.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { matchedText, outProblem } from '../../status/decision-text.ts'
import type { DisabledBy } from '../../status/decision-text.ts'
import { theOnlyIfAny, unknownNameHint } from '../../status/named-skill.ts'
import type { SkillReference } from '../../status/named-skill.ts'
import { readRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'
import { reasonIn } from './decide.ts'
import type { DisableAnswer } from './disable-request.ts'
import { disableRequest } from './disable-request.ts'

/** A command for a decision about skills. */
interface Disabling {
  readonly name: 'disable' | 'enable'
  readonly operands: string
  readonly details: string
  readonly examples: Command['examples']
  readonly options: Options
  /** Runs the command for the followers of the channel; `undefined` if it is about this hub alone. */
  readonly atFollowers: (context: Context) => Promise<ExitStatus | undefined>
}

const SOURCE_ONLY = 'source-only'

export const disable = disabling({
  name: 'disable',
  operands: '[SKILL|DIGEST…]',
  details: `It stays disabled across restarts and pulls, and while its source does not have it; also under another name or
  path, and wherever the same SKILL.md is. A skill that contains its files is out of service too.

  With --followers it is out of service at every follower of the channel too, which obeys with its next request, also if its
  source is locked or held, until skillsyncd enable ends it here. DIGEST is that of a skill or of its SKILL.md; it need
  not be here. --followers without a skill: what was disabled so, in force and ended.`,
  examples: [
    'skillsyncd disable team/skills/pdf',
    "skillsyncd disable team/pdf --followers --reason 'sends files away: INC-4711'",
    'skillsyncd disable --followers',
    'skillsyncd disable --report 3f2c9d1e5b7a',
  ],
  options: {
    ...MODE_OPTIONS,
    [SOURCE_ONLY]: { type: 'boolean', help: 'keep the same content in other sources in service' },
    reason: {
      type: 'string',
      value: 'TEXT',
      help: `what is wrong with it, with --followers for all who lose it; ${MOST_REASON} characters`,
    },
    ...FOLLOWER_OPTIONS,
  },
  atFollowers: async (context) => disableForFollowers(context, reasonIn(context.values)),
})

export const enable = disabling({
  name: 'enable',
  operands: 'SKILL… | ID…',
  details: `It is served at once, if its source has it, with all that was out of service because of it. If it was disabled at
  all followers here, it is enabled at all followers. ID, or its first 8 digits or more, is one that disable --followers
  shows: of a digest, or of a skill that is not here any more.`,
  examples: ['skillsyncd enable team/skills/pdf', 'skillsyncd enable 3f2c9d1e5b7a'],
  options: MODE_OPTIONS,
  atFollowers: enableByIds,
})

function disabling(kind: Disabling): Command {
  return {
    name: kind.name,
    operands: { text: kind.operands, most: Number.POSITIVE_INFINITY, offers: ['skills'] },
    details: `
  SKILL is an id, a URI, SOURCE/PATH, SOURCE/NAME, a path or a name, in any case of letters.
  ${kind.details}
`,
    examples: kind.examples,
    options: kind.options,
    async run(context) {
      const ended = await kind.atFollowers(context)
      if (ended !== undefined) return ended
      if (context.operands.length === 0)
        throw new UsageError(`"${kind.name}" wants the URI, path or name of a skill; skillsyncd list shows them`)
      const config = await configInUse(context)
      await agreeWithDaemon(config, context.signal)
      const { skills, unknown } = await meant(kind, context, config)
      const how = { sourceOnly: context.values[SOURCE_ONLY] === true, reason: reasonIn(context.values) }
      const decided =
        skills.length === 0 ? [] : await withWriter(context, config, (ask) => decide(kind, { skills, ...how }, ask))
      print(context, kind, decided, unknown)
      return unknown.length === 0 ? 0 : 1
    },
  }
}

interface Meant {
  /** Without duplicates. */
  readonly skills: readonly SkillReference[]
  /** Operands that match no skill. */
  readonly unknown: readonly UnknownName[]
}

/** A name that no skill has, and what was probably meant. */
interface UnknownName {
  readonly asked: string
  readonly hint: string
}

/** Throws, before any decision, if one of the names can mean several skills. */
async function meant({ name }: Disabling, { operands }: Context, config: ServedConfig): Promise<Meant> {
  const known = await knownSkills(config, name)
  const skills = new Set<SkillReference>()
  const unknown: UnknownName[] = []
  for (const asked of operands) {
    const skill = known.gone.find(({ source, path }) => asked === `${source}/${path}`) ?? theOnlyIfAny(known.all, asked)
    if (skill === undefined) unknown.push({ asked, hint: unknownNameHint(known.all, asked) })
    else skills.add(skill)
  }
  return { skills: [...skills], unknown }
}

interface Known {
  /** All skills in the state folder, and disabled skills that are not there in any form. */
  readonly all: readonly SkillReference[]
  /** Disabled skills that are no longer at their place. */
  readonly gone: readonly SkillReference[]
}

async function knownSkills(config: ServedConfig, name: Disabling['name']): Promise<Known> {
  const rows = (await readRows(config)).map((row) => callableIn(row, name))
  using store = await Store.openExisting(config.state)
  await store?.decisions.read()
  const there = new Set(rows.map(({ source, path }) => `${source}/${path}`))
  const elsewhere = new Set(
    rows.map(({ verdict }) => (verdict.state === 'disabled' ? verdict.reasons[0]?.place : undefined)),
  )
  const ids: readonly string[] = idsOf(config)
  const gone = disabledHere(store?.decisions.outOfService ?? NOTHING_OUT).flatMap((rule): readonly SkillReference[] => {
    const place = firstPlace(rule)
    if (rule.by === 'scan' || place === undefined) return []
    const { source, path, servedPath, name: called } = place
    if (!ids.includes(source) || there.has(`${source}/${path}`)) return []
    return [
      {
        source,
        path,
        uri: servedPath === undefined ? undefined : uriOf(source, `${servedPath}/SKILL.md`),
        name: called,
      },
    ]
  })
  // A disabled skill that is now at another place is addressed there by its names.
  const lost = gone.filter(({ source, path }) => !elsewhere.has(`${source}/${path}`))
  return { all: [...rows, ...lost], gone }
}

/**
 * A disabled skill leaves its shorter id to others of its name. For `enable`, that id must not mean a skill that is not
 * disabled.
 */
function callableIn(row: SkillRow, command: Disabling['name']): SkillRow {
  if (command === 'disable' || row.verdict.state === 'disabled') return row
  const { id: _, ...others } = row
  return others
}

/** The result for one skill. */
interface Decided {
  readonly source: string
  readonly path: string
  readonly uri: string | undefined
  readonly reason?: string
  /** True if the skill was already in the requested state. */
  readonly already: boolean
  /** The other skills that went out of service, or came back, with it: their number, and the first of them. */
  readonly others: { readonly count: number; readonly places: DisableAnswer['places'] }
  /** The recalls that ended with it. */
  readonly recalls?: readonly string[]
  /** The match that still keeps it out of service. */
  readonly still?: DisabledBy
}

async function decide(
  { name }: Disabling,
  { skills, ...how }: Pick<Meant, 'skills'> & DisablingDetails,
  ask: AskWriter,
): Promise<Decided[]> {
  const decided: Decided[] = []
  for (const { source, path, uri } of skills) {
    const place = `${source}/${path}`
    const asked = { source, path, disabled: name === 'disable', ...how }
    let answer = await ask(disableRequest, asked)
    const ended = new Set<string>()
    for (let id = ownRecall(answer, place); id !== undefined; id = ownRecall(answer, place)) {
      if (ended.has(id)) break
      ended.add(id)
      const back = await endRecall(ask, id)
      answer = { ...(await ask(disableRequest, asked)), isNew: true, ...back }
    }
    const { isNew, count, places, still } = answer
    const others = places.filter((other) => other.place !== place)
    const isAmong = others.length < places.length
    decided.push({
      source,
      path,
      uri,
      // The reason of a skill that was disabled already stays.
      ...(how.reason !== undefined && isNew && { reason: how.reason }),
      already: !isNew,
      others: { count: isAmong ? count - 1 : count, places: others },
      ...(ended.size > 0 && { recalls: [...ended] }),
      ...(still !== undefined && { still }),
    })
  }
  return decided
}

/**
 * The recall of this hub that was made of this skill and keeps it out of service. That of another skill, which it is a
 * copy of or holds files of, ends by its id alone: it counts at every follower.
 */
function ownRecall({ still }: DisableAnswer, place: string): string | undefined {
  if (still === undefined || still.as !== place || still.by === 'holds' || still.by === 'scan') return undefined
  return still.recall?.hub === undefined ? still.recall?.id : undefined
}

function print(
  context: Context,
  { name }: Disabling,
  decided: readonly Decided[],
  unknown: readonly UnknownName[],
): void {
  for (const { asked, hint } of unknown) {
    const warning = `no skill is called "${asked}", so nothing was changed for it; ${hint}`
    context.streams.stderr.write(`skillsyncd: ${context.redactor.clean(printableLine(warning))}\n`)
  }
  const disabled = name === 'disable'
  if (context.json) {
    printJson(context, {
      skills: decided.map((row) => ({ ...row, disabled })),
      unknown: unknown.map(({ asked }) => asked),
    })
    return
  }
  printLines(
    context,
    decided.flatMap((row) => linesOf(row, disabled)),
  )
}

/** The decision that keeps a skill out, with the command that ends it. */
function outText(source: string, path: string, by: DisabledBy): string {
  const { message, fix } = outProblem(source, path, by)
  return `${stateText('disabled')}: ${message}; ${fix}`
}

function linesOf({ source, path, reason, already, others, recalls, still }: Decided, disabled: boolean): string[] {
  const what = disabled
    ? outText(source, path, { as: `${source}/${path}`, by: 'path', ...(reason !== undefined && { reason }) })
    : still === undefined
      ? `enabled${recalls === undefined ? '' : ', also at all followers'}`
      : outText(source, path, still)
  const isKept = !disabled && still !== undefined
  const lines = [`${source}/${path}: ${already && !isKept ? 'already ' : ''}${what}`]
  const { count, places } = others
  for (const { place, by } of places.slice(0, MOST_SHOWN))
    lines.push(disabled ? `  ${place} is out of service too: ${matchedText(by)} it` : `  ${place} is in service too`)
  if (count > MOST_SHOWN) lines.push(`  and ${count - MOST_SHOWN} more; skillsyncd list shows them`)
  return lines.map(printableLine)
}

const MOST_SHOWN = 10
