import { countOf } from '../../../base/text/plural.ts'
import { stateText } from '../../../sync/model/verdict/verdict.ts'
import type { Contract } from '../../../sync/skill/contract/contract.ts'
import { lifecycleLines } from '../../../sync/skill/lifecycle.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { leftSkillIn } from '../../status/changes/history.ts'
import type { LeftSkill } from '../../status/changes/history.ts'
import { keptText } from '../../status/decision-text.ts'
import { theOnly, theOnlyIfAny } from '../../status/named-skill.ts'
import { scanTexts } from '../../status/scan-text.ts'
import { readRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'
import { UNSERVED_CONTRACT } from '../../status/unserved-contract.ts'
import { verdictLines } from '../../status/verdict-lines.ts'
import { verifiedText } from '../../status/verified-files.ts'

export const show: Command = {
  name: 'show',
  operands: { text: 'SKILL', most: 1, offers: ['skills'] },
  details: `
  SKILL is an id, a URI, SOURCE/PATH, SOURCE/NAME, a path or a name.
`,
  examples: ['skillsyncd show pdf', 'skillsyncd show team/skills/pdf --json'],
  async run(context) {
    const [asked] = context.operands
    if (asked === undefined)
      throw new UsageError('"show" wants the URI, path or name of a skill; skillsyncd list shows them')
    const config = await configInUse(context)
    await agreeWithDaemon(config, context.signal)
    const rows = await readRows(config)
    const row = theOnlyIfAny(rows, asked)
    const left = row === undefined ? await leftSkillIn(config.state, asked) : undefined
    if (left !== undefined) printLeft(context, left)
    else if (context.json) printJson(context, theOnly(rows, asked))
    else printLines(context, linesOf(theOnly(rows, asked)))
    // A script must not take what left for what is there.
    return left === undefined ? 0 : 1
  },
}

/** Prints a skill that was served once. */
export function printLeft(context: Context, left: LeftSkill): void {
  const { source, path, name, verdict } = left
  const head = `${printableLine(name)} (not there any more)`
  if (context.json) printJson(context, left)
  else printLines(context, [head, `  from    ${source}, ${printableLine(path)}`, ...verdictLines(verdict)])
}

function linesOf(row: SkillRow): string[] {
  const { name, path, source, uri, upstream, description, commit, ref, digest, size, files, contract, verdict } = row
  return [
    `${printableLine(name ?? path)} (${stateText(verdict.state)})`,
    ...(description === undefined ? [] : [`  ${printableLine(description.replaceAll(/\s+/g, ' '))}`]),
    ...(uri === undefined ? [] : [`  uri     ${uri}`]),
    `  from    ${source}, ${path === '' ? 'the root' : printableLine(path)}, ${printableLine(ref)} at ${commit}`,
    ...(row.kept === undefined ? [] : [`  kept    ${keptText(row.kept)}`]),
    ...(upstream === undefined ? [] : [`  there   ${printableLine(upstream)}`]),
    ...(digest === undefined ? [] : [`  digest  ${digest}, ${countOf(files.length, 'file')}, ${size} bytes`]),
    ...(row.plugins === undefined ? [] : [`  plugins ${printableLine(row.plugins.join(', '))}`]),
    ...(row.verified === undefined ? [] : [`  checked ${verifiedText(row.verified)}`]),
    ...lifecycleLines(row.lifecycle ?? {}).map((line) => `  - ${printableLine(line)}`),
    ...contractLines(contract),
    ...(row.hasUnservedContract === true ? [`  - ${UNSERVED_CONTRACT}`] : []),
    ...verdictLines(verdict),
    ...scanLines(row.scan),
    ...files.map(
      (file) =>
        `  ${file.digest}  ${String(file.size).padStart(9)}  ${printableLine(file.path)}${file.executable ? ' *' : ''}`,
    ),
  ]
}

/** The findings of the scanner, as `why` has them too. */
export function scanLines(scan: SkillRow['scan']): string[] {
  if (scan === undefined) return []
  const { summary, findings } = scanTexts(scan)
  return [`  scan    ${summary}`, ...findings.map((text) => `  ! scan ${printableLine(text)}`)]
}

function contractLines(contract: Contract | undefined): string[] {
  if (contract === undefined) return []
  const { version, tags, dependsOn, references } = contract
  const named: readonly (readonly [string, readonly string[]])[] = [
    ['tags', tags],
    ['depends on', dependsOn],
    ['references', references.map(({ id }) => id)],
  ]
  const parts = named.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what} ${names.join(', ')}`]))
  return [`  contract ${printableLine([version, ...parts].join('; '))}`]
}
