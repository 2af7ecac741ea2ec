import { z } from 'zod'
import { Store } from '../../sync/store/store.ts'
import { idsOf } from '../config.ts'
import type { Config } from '../config.ts'
import { disabledText } from '../decision-text.ts'
import { printable } from '../log-line.ts'
import { theOnlyIfAny } from '../named-skill.ts'
import type { Named } from '../named-skill.ts'
import { agreeWithDaemon } from '../requests.ts'
import { readRows } from '../skill-rows.ts'
import { UsageError } from '../usage-error.ts'
import { withWriter } from './asking.ts'
import type { AskWriter } from './asking.ts'
import { MODE_OPTIONS, configOf, printJson, printLines } from './command.ts'
import type { Command, Context } from './command.ts'

/** A decision about skills, as a command. */
interface Disabling {
  readonly name: 'disable' | 'enable'
  readonly summary: string
  readonly details: string
}

export const disable = disabling({
  name: 'disable',
  summary: 'Take a skill out of service at once, until it is enabled',
  details: 'It stays disabled through restarts, pulls, and while its source does not have it.',
})

export const enable = disabling({
  name: 'enable',
  summary: 'Serve a disabled skill again',
  details: 'At once, if its source has it.',
})

function disabling(kind: Disabling): Command {
  return {
    name: kind.name,
    summary: kind.summary,
    operands: { text: 'SKILL…', most: Number.POSITIVE_INFINITY, offers: ['skills'] },
    details: `
  SKILL is its URI, SOURCE/PATH, SOURCE/NAME, its path or its name, whatever the case of letters.
  ${kind.details}
`,
    options: MODE_OPTIONS,
    async run(context) {
      if (context.operands.length === 0)
        throw new UsageError(`"${kind.name}" wants the URI, path or name of a skill; skillsyncd list shows them`)
      const config = await configOf(context)
      await agreeWithDaemon(config, context.signal)
      const { skills, unknown } = await meant(context, config)
      const decided = skills.length === 0 ? [] : await withWriter(context, config, (ask) => decide(kind, skills, ask))
      print(context, kind, decided, unknown)
      return unknown.length === 0 ? 0 : 1
    },
  }
}

interface Meant {
  /** Each once. */
  readonly skills: readonly Named[]
  /** What no skill is called. */
  readonly unknown: readonly string[]
}

/** Nothing is decided where one of the names can mean several skills. */
async function meant({ operands }: Context, config: Config): Promise<Meant> {
  const known = await knownSkills(config)
  const skills = new Set<Named>()
  const unknown: string[] = []
  for (const asked of operands) {
    const skill = theOnlyIfAny(known, asked)
    if (skill === undefined) unknown.push(asked)
    else skills.add(skill)
  }
  return { skills: [...skills], unknown }
}

/** All that the state folder has, and what is disabled without being there any more. */
async function knownSkills(config: Config): Promise<Named[]> {
  const rows: readonly Named[] = await readRows(config)
  const store = await Store.openExisting(config.state)
  await store?.decisions.read()
  const there = new Set(rows.map(({ source, path }) => `${source}/${path}`))
  const gone = [...(store?.decisions.disabled ?? [])].flatMap(([source, paths]) =>
    [...paths]
      .filter((path) => idsOf(config).includes(source) && !there.has(`${source}/${path}`))
      .map((path): Named => ({ source, path, uri: undefined, name: undefined })),
  )
  return [...rows, ...gone]
}

/** What became of one skill. */
interface Decided {
  readonly source: string
  readonly path: string
  readonly uri: string | undefined
  /** It was as it was asked for before. */
  readonly already: boolean
}

async function decide({ name }: Disabling, skills: readonly Named[], ask: AskWriter): Promise<Decided[]> {
  const decided: Decided[] = []
  for (const { source, path, uri } of skills) {
    const { isNew } = ANSWER.parse(await ask('disable', { source, path, disabled: name === 'disable' }))
    decided.push({ source, path, uri, already: !isNew })
  }
  return decided
}

const ANSWER = z.object({ isNew: z.boolean() })

function print(context: Context, { name }: Disabling, decided: readonly Decided[], unknown: readonly string[]): void {
  for (const asked of unknown) {
    const warning = `no skill is called "${asked}", so nothing was changed for it; skillsyncd list shows them`
    context.streams.stderr.write(`skillsyncd: ${context.redactor.clean(printable(warning))}\n`)
  }
  const disabled = name === 'disable'
  if (context.json) {
    printJson(context, { skills: decided.map((row) => ({ ...row, disabled })), unknown })
    return
  }
  printLines(
    context,
    decided.map(({ source, path, already }) => {
      const what = disabled ? disabledText(source, path) : 'enabled'
      return printable(`${source}/${path}: ${already ? 'already ' : ''}${what}`)
    }),
  )
}
