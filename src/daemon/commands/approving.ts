import { z } from 'zod'
import { declarationOf } from '../../sync/model/approvals.ts'
import type { Config } from '../config.ts'
import { ControlError } from '../control-client.ts'
import { printable } from '../log-line.ts'
import { theOnly } from '../named-skill.ts'
import { agreeWithDaemon, sourcesOf } from '../requests.ts'
import { readSkillRows } from '../skill-rows.ts'
import type { SkillRow } from '../skill-rows.ts'
import { withWriter } from './asking.ts'
import type { AskWriter } from './asking.ts'
import { configOf, printJson, printLines } from './command.ts'
import type { Context, ExitStatus } from './command.ts'

/** Lets skills of other MCP servers be served, each as exactly what is declared now. */
export async function approveSkills(context: Context): Promise<ExitStatus> {
  const config = await configOf(context)
  await agreeWithDaemon(config, context.signal)
  const known = await readSkillRows(config)
  const rows = known.map(({ row }) => row)
  const wanted = new Set(context.operands.flatMap((operand) => meant(rows, operand, config)))
  const skills = known.filter(({ row }) => wanted.has(row))
  const approved = await withWriter(context, config, (ask) => approveEach(skills, ask))
  if (context.json) printJson(context, { skills: approved })
  else printLines(context, approved.map(lineOf))
  return 0
}

function meant(rows: readonly SkillRow[], operand: string, config: Config): readonly SkillRow[] {
  const waiting = rows.filter(({ source, pending }) => pending && operand === `${source}/`)
  if (waiting.length > 0) return waiting
  if (operand.endsWith('/') && !operand.includes('://')) {
    const [source] = sourcesOf([operand.slice(0, -1)], config)
    throw new ControlError('nothing-to-decide', `No skill of "${source}" waits for approval`)
  }
  const skill = theOnly(rows, operand)
  if (skill.pending) return [skill]
  const why = skill.standing === 'withheld' ? 'it is withheld for another reason' : 'it does not wait for that'
  throw new ControlError('nothing-to-decide', `Cannot approve "${skill.source}/${skill.path}": ${why}`)
}

interface Approved {
  readonly source: string
  readonly path: string
  readonly uri: string | undefined
  readonly digest: string | undefined
}

async function approveEach(skills: Awaited<ReturnType<typeof readSkillRows>>, ask: AskWriter): Promise<Approved[]> {
  const approved: Approved[] = []
  for (const { row, skill } of skills) {
    const { source, path, uri, digest } = row
    ANSWER.parse(await ask('approve-skill', { source, path, declaration: declarationOf(skill) }))
    approved.push({ source, path, uri, digest })
  }
  return approved
}

const ANSWER = z.object({ isNew: z.boolean() })

function lineOf({ source, path, digest }: Approved): string {
  return printable(`${source}/${path}: approved as ${digest?.slice(0, 12) ?? 'it is'}`)
}
