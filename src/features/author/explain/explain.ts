import { closestTo } from '../../../base/text/closest.ts'
import { printJson, printLines } from '../../../daemon/cli/command.ts'
import type { Command } from '../../../daemon/cli/command.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../../daemon/runtime/usage-error.ts'
import { explainedCodes } from './code-list.ts'
import type { ExplainedCode } from './code-list.ts'

export const explain: Command = {
  name: 'explain',
  operands: { text: 'CODE…', most: Number.POSITIVE_INFINITY, offers: [explainedCodes().map(({ code }) => code)] },
  needsConfiguration: false,
  details: `
  CODE is what a message, the log, doctor, verify or validate has, such as repository-not-found. It needs no
  configuration and no daemon.
`,
  examples: ['skillsyncd explain repository-not-found', 'skillsyncd explain name-clash --json'],
  async run(context) {
    if (context.operands.length === 0) throw new UsageError('"explain" wants a code, such as repository-not-found')
    const all = explainedCodes()
    const codes = context.operands.flatMap((asked) => explained(asked, all))
    if (context.json) printJson(context, { codes })
    else printLines(context, codes.flatMap(linesOf))
    return 0
  },
}

function explained(asked: string, all: readonly ExplainedCode[]): readonly ExplainedCode[] {
  const found = all.filter(({ code }) => code === asked.toLowerCase())
  if (found.length > 0) return found
  const meant = closestTo(
    asked,
    all.map(({ code }) => code),
  )
  const hint = meant === undefined ? 'docs/troubleshooting.md has them all' : `did you mean "${meant}"?`
  throw new OperatorError('unknown-code', `No code is called "${asked}"; ${hint}`)
}

function linesOf({ code, kind, meaning, effect, fix }: ExplainedCode): readonly string[] {
  return [`${code}: ${kind}`, `  ${meaning}`, `  effect: ${effect}`, `  fix:    ${fix}`]
}
