import { WAYS } from '../../sync/model/verdict/verdict.ts'
import type { SkillProblem, Verdict, Ways } from '../../sync/model/verdict/verdict.ts'
import { printableLine } from '../runtime/log/log-line.ts'

/** The ways of a skill that is partly served, and the reasons of a verdict, each with its fix. */
export function verdictLines({ state, ways, reasons }: Verdict): string[] {
  const mark = state === 'served' ? '-' : '!'
  return [
    ...(state === 'partly' ? [`  ways    ${waysText(ways)}`] : []),
    ...reasons.flatMap((reason) => [`  ${mark} ${problemText(reason)}`, `    ${printableLine(reason.fix)}`]),
  ]
}

/** A problem of a skill in one line, without its fix. */
export function problemText({ code, place, message }: SkillProblem): string {
  return printableLine(`${code} ${place}: ${message}`)
}

/** The ways that are open, and those that are not. */
function waysText(ways: Ways): string {
  const [open, closed] = [true, false].map((is) => WAYS.filter((way) => ways[way] === is).map((way) => NAMES[way]))
  return `${open?.length === 0 ? 'its URI or its longest id' : open?.join(', ')}; not ${closed?.join(', ')}`
}

const NAMES: Readonly<Record<keyof Ways, string>> = {
  listed: 'skills/list',
  tools: 'tools',
  folder: 'folders',
  marketplace: 'marketplace',
  channel: 'channel',
}
