import { countOf } from '../../base/text/plural.ts'
import { configFor, printJson, printLines, progressOf } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import { failureIn } from '../../daemon/cli/store-reader.ts'
import type { SourceFailure } from '../../daemon/cli/store-reader.ts'
import { agreeWithDaemon } from '../../daemon/control/running-daemon.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import type { Progress } from '../../daemon/runtime/progress.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { theOnly } from '../../daemon/status/named-skill.ts'
import { readSkillRows } from '../../daemon/status/skill-rows.ts'
import type { SkillRow } from '../../daemon/status/skill-rows.ts'
import type { Verified } from '../../daemon/status/verified-files.ts'
import { undeclaredText } from '../../sync/model/declared-digest.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import { measureRequest } from './addition-requests.ts'
import { bringRequest, recheckRequest } from './file-requests.ts'

export const mirror: Command = {
  name: 'mcp-source mirror',
  operands: { text: 'SKILL…', most: Number.POSITIVE_INFINITY, offers: ['skills'] },
  details: `
  SKILL is an id, a URI, SOURCE/PATH, SOURCE/NAME, a path or a name. Without this command, a file is fetched when a
  client first reads it, as the extension demands. Fetched files are served while the server is down. A skill that was
  withheld because its bytes differed is checked once more.

  If the server does not declare the sizes of files, and the skill is withheld for that, their sizes are measured,
  from now on after each change; skillsyncd mcp-source add SOURCE URI --remove ends that.
`,
  examples: ['skillsyncd mcp-source mirror acme/refunds'],
  async run(context) {
    if (context.operands.length === 0)
      throw new UsageError('"mcp-source mirror" wants the URI, path or name of a skill; skillsyncd list shows them')
    const config = await configFor(context)
    await agreeWithDaemon(config, context.signal)
    const rows = await readSkillRows(config)
    const wanted = context.operands.map((asked) => meant(rows, asked))
    using progress = progressOf(context)
    const mirrored = await withWriter(context, config, (ask) => mirrorEach(wanted, { config, ask, progress }))
    print(context, mirrored)
    return mirrored.some(({ problem }) => problem !== undefined) ? 1 : 0
  },
}

type Rows = Awaited<ReturnType<typeof readSkillRows>>

function meant(rows: Rows, asked: string): SkillRow {
  const found = theOnly(
    rows.map(({ row }) => row),
    asked,
  )
  const skill = rows.find(({ row }) => row === found)?.skill
  if (skill !== undefined && isOfUpstream(skill)) return found
  throw new OperatorError('nothing-to-decide', `"${found.source}/${found.path}" is of no MCP source: all of it is here`)
}

interface Mirrored {
  readonly source: string
  readonly path: string
  readonly files: number
  readonly bytes: number
  /** The files whose bytes have the declared digest; absent if no file of the skill is known. */
  readonly verified?: Verified
  /** The error that kept it incomplete. */
  readonly problem?: SourceFailure
}

interface Mirroring {
  readonly config: ServedConfig
  readonly ask: AskWriter
  readonly progress: Progress
}

/** The failure of one skill does not stop the others. */
async function mirrorEach(wanted: readonly SkillRow[], { config, ask, progress }: Mirroring): Promise<Mirrored[]> {
  const mirrored: Mirrored[] = []
  for (const [index, row] of wanted.entries()) {
    const text = `${index} of ${countOf(wanted.length, 'skill')}: ${row.source}/${row.path}`
    progress.count(index, wanted.length, text)
    mirrored.push(await mirrorOne(row, config, ask))
  }
  return mirrored
}

async function mirrorOne(row: SkillRow, config: ServedConfig, ask: AskWriter): Promise<Mirrored> {
  const { source, path, verdict } = row
  let [count, bytes] = [0, 0]
  let { verified } = row
  try {
    if (verdict.state === 'disabled')
      throw new OperatorError('disabled', `Cannot mirror "${source}/${path}": it is disabled; enable it first`)
    const ready = await prepareRow(row, config, ask)
    const { files } = ready
    verified = ready.verified
    if (files.length === 0) throw new OperatorError('withheld', `Cannot mirror "${source}/${path}": ${WITHHELD}`)
    for (const file of files) {
      await ask(bringRequest, { source, path, file: file.path })
      count += 1
      bytes += file.size
    }
    return { source, path, files: count, bytes, ...verifiedAfter(verified, count) }
  } catch (error) {
    return { source, path, files: count, bytes, ...verifiedAfter(verified, count), problem: failureIn(error) }
  }
}

/** The counts after so many files were fetched or found, and verified. */
function verifiedAfter(before: Verified | undefined, count: number): { readonly verified?: Verified } {
  if (before === undefined) return {}
  return { verified: { ...before, files: Math.min(Math.max(before.files, count), before.of - before.undeclared) } }
}

const WITHHELD = 'it is withheld; skillsyncd show has the reason'

/** The skill after its files were read to learn their sizes, or after its mismatch was cleared. */
async function prepareRow(row: SkillRow, config: ServedConfig, ask: AskWriter): Promise<SkillRow> {
  const { source, path, verdict } = row
  const rules = new Set(verdict.reasons.map(({ code }) => code))
  if (rules.has('size-unknown')) await ask(measureRequest, { source, path })
  else if (rules.has('content-mismatch')) await ask(recheckRequest, { source, path })
  else return row
  const rows = (await readSkillRows(config)).map((known) => known.row)
  return rows.find((now) => now.source === source && now.path === path) ?? row
}

function checkedText(verified: Verified | undefined): string {
  if (verified === undefined) return ''
  const { of, undeclared, only = 'each' } = verified
  const rest = undeclaredText(undeclared, of)
  if (undeclared === of) return `; they cannot be verified: ${rest}`
  return `; ${only} has the digest that the server declares${rest === undefined ? '' : `; ${rest}`}`
}

function print(context: Context, mirrored: readonly Mirrored[]): void {
  if (context.json) {
    printJson(context, { skills: mirrored })
    return
  }
  const lines = mirrored.map(({ source, path, files, bytes, verified, problem }) => {
    const what = `${source}/${path}: ${countOf(files, 'file')}, ${bytes} bytes`
    return printableLine(
      problem === undefined ? `${what}${checkedText(verified)}` : `${what}; then ${problem.code}: ${problem.message}`,
    )
  })
  printLines(context, lines)
}
