import type { z } from 'zod'
import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import { failureIn } from '../../daemon/cli/store-reader.ts'
import type { SourceFailure } from '../../daemon/cli/store-reader.ts'
import { configuredIn } from '../../daemon/config/config.ts'
import type { Config } from '../../daemon/config/config.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { templatesRequest } from './addition-requests.ts'

/** Lists the templates for skills that are not listed, each with its number. The servers are queried now. */
export async function printTemplates(context: Context, config: ServedConfig): Promise<ExitStatus> {
  const sources = wantedSources(context, config)
  const offers = sources.length === 0 ? [] : await withWriter(context, config, async (ask) => offersOf(sources, ask))
  print(context, offers)
  return offers.some(({ problem }) => problem !== undefined) ? 1 : 0
}

interface Offer extends z.output<typeof templatesRequest.answer> {
  readonly source: string
  /** The reason why the source could not be queried. */
  readonly problem?: SourceFailure
}

function wantedSources({ operands }: Context, config: Config): readonly string[] {
  const named = sourcesNamed(operands, config)
  return operands.length > 0 ? named : named.filter((id) => configuredIn(config, id).source.kind === 'mcp')
}

/** Queries all in parallel, so that a silent source does not delay the others. */
async function offersOf(sources: readonly string[], ask: AskWriter): Promise<Offer[]> {
  return Promise.all(
    sources.map(async (source) => {
      try {
        return { source, ...(await ask(templatesRequest, { source })) }
      } catch (error) {
        return { source, spaces: [], refused: [], problem: failureIn(error) }
      }
    }),
  )
}

function print(context: Context, offers: readonly Offer[]): void {
  if (context.json) {
    printJson(context, {
      sources: offers.map(({ spaces, ...rest }) => {
        return { ...rest, spaces: spaces.map((space, index) => ({ number: index + 1, ...space })) }
      }),
    })
    return
  }
  printLines(context, offers.flatMap(linesOf).map(printableLine))
  for (const line of offers.flatMap(remarksOf))
    context.streams.stderr.write(`skillsyncd: ${context.redactor.clean(printableLine(line))}\n`)
}

function linesOf({ source, spaces }: Offer): readonly string[] {
  return spaces.map(({ template, variables, name, description }, index) => {
    const about = [name, description].filter((text) => text !== undefined).join(': ')
    const filled = variables.length === 0 ? 'no variables' : variables.join(', ')
    return `${source} ${index + 1}  ${template} (${filled})${about === '' ? '' : `  ${about.replaceAll(/\s+/g, ' ')}`}`
  })
}

function remarksOf({ source, spaces, refused, problem }: Offer): readonly string[] {
  if (problem !== undefined) return [`"${source}": ${problem.code}: ${problem.message}`]
  const none = spaces.length === 0 && refused.length === 0 ? [`"${source}" has no templates for skills`] : []
  return [...none, ...refused.map(({ template, why }) => `"${source}": ${template} is left out: ${why}`)]
}
