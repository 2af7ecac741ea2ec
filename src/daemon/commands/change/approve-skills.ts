import { createHash } from 'node:crypto'
import { countOf } from '../../../base/text/plural.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import { approveSkillRequest } from '../../../features/mcp-sources/file-requests.ts'
import { declarationOf } from '../../../sync/model/decisions/approvals.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Context, ExitStatus } from '../../cli/command.ts'
import { isYes, nothingApproved } from '../../cli/confirm.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { skillOperand } from '../../status/decision-text.ts'
import { theOnly } from '../../status/named-skill.ts'
import { readSkillRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'

/** Approves skills of other MCP servers, each for exactly the declaration that was shown. */
export async function approveSkills(context: Context): Promise<ExitStatus> {
  const config = await configFor(context)
  await agreeWithDaemon(config, context.signal)
  const { targets, id } = operandsOf(context)
  const waiting = await waitingFor(targets, config)
  const now = declarationsId(waiting)
  if (id === undefined) showWaiting(context, targets, waiting, now)
  const isMeant =
    id === now || (id === undefined && (await isYes(context, `Approve ${countOf(waiting.length, 'skill')}?`)))
  if (!isMeant && id === undefined) return nothingApproved(context, lineFor(targets, now))
  if (!isMeant) {
    const changed = `the current declaration is not the one that was shown as ${id}`
    throw new OperatorError(
      'nothing-to-decide',
      `Cannot approve ${targets.join(' ')}: ${changed}; without it, approve shows it`,
    )
  }
  const approved = await withWriter(context, config, (ask) => approveEach(waiting, ask))
  if (context.json) printJson(context, { skills: approved })
  else printLines(context, approved.map(lineOf))
  return 0
}

type Waiting = Awaited<ReturnType<typeof readSkillRows>>

/** The last operand can be the id of the shown declarations: no skill has such a name. */
function operandsOf({ operands }: Context): { readonly targets: readonly string[]; readonly id: string | undefined } {
  const last = operands.at(-1)
  return last !== undefined && /^[0-9a-f]{64}$/.test(last)
    ? { targets: operands.slice(0, -1), id: last }
    : { targets: operands, id: undefined }
}

async function waitingFor(targets: readonly string[], config: ServedConfig): Promise<Waiting> {
  const known = await readSkillRows(config)
  const rows = known.map(({ row }) => row)
  const wanted = new Set(targets.flatMap((target) => meant(rows, target, config)))
  return known.filter(({ row }) => wanted.has(row))
}

/** The SHA-256 of the declarations for which these skills are approved. Independent of their order. */
export function declarationsId(skills: Waiting): string {
  const declared = skills.map(({ row: { source, path }, skill }) =>
    JSON.stringify([source, path, declarationOf(skill)]),
  )
  return createHash('sha256').update(declared.toSorted().join('\n')).digest('hex')
}

function showWaiting(context: Context, targets: readonly string[], waiting: Waiting, id: string): void {
  if (context.json) {
    const skills = waiting.map(({ row: { source, path, uri, upstream, digest, description } }) => {
      return { source, path, uri, upstream, digest, description }
    })
    printJson(context, { waiting: skills, id, approve: lineFor(targets, id) })
    return
  }
  const lines = waiting.flatMap(({ row, skill }) => {
    const operand = skillOperand(row.source, row.path)
    return [
      `${row.source}/${row.path}: ${countOf(skill.files.length, 'file')}, digest ${row.digest ?? 'none'}`,
      ...(row.description === undefined ? [] : [`  ${row.description}`]),
      `  skillsyncd preview ${operand} shows its SKILL.md`,
    ]
  })
  printLines(context, lines.map(printableLine))
}

/** The command line that approves exactly what was shown. */
export function lineFor(targets: readonly string[], id: string): string {
  return `skillsyncd approve ${targets.map(shellWord).join(' ')} ${id}`
}

function meant(rows: readonly SkillRow[], operand: string, config: ServedConfig): readonly SkillRow[] {
  const waiting = rows.filter(({ source, pending }) => pending && operand === `${source}/`)
  if (waiting.length > 0) return waiting
  if (operand.endsWith('/') && !operand.includes('://')) {
    const [source] = sourcesNamed([operand.slice(0, -1)], config)
    throw new OperatorError('nothing-to-decide', `No skill of "${source}" waits for approval`)
  }
  const skill = theOnly(rows, operand)
  if (skill.pending) return [skill]
  const why = skill.standing === 'withheld' ? 'it is withheld for another reason' : 'it does not wait for that'
  throw new OperatorError('nothing-to-decide', `Cannot approve "${skill.source}/${skill.path}": ${why}`)
}

interface Approved {
  readonly source: string
  readonly path: string
  readonly uri: string | undefined
  readonly digest: string | undefined
}

async function approveEach(skills: Waiting, ask: AskWriter): Promise<Approved[]> {
  const approved: Approved[] = []
  for (const { row, skill } of skills) {
    const { source, path, uri, digest } = row
    await ask(approveSkillRequest, { source, path, declaration: declarationOf(skill) })
    approved.push({ source, path, uri, digest })
  }
  return approved
}

function lineOf({ source, path, digest }: Approved): string {
  return printableLine(`${source}/${path}: approved as ${digest?.slice(0, 12) ?? 'it is'}`)
}
