import { printJson, printLines } from '../../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../../daemon/cli/command.ts'
import { printableLine } from '../../../daemon/runtime/log/log-line.ts'
import { answerOfAddress } from './address-answer.ts'
import type { AddressAnswer } from './address-answer.ts'
import { enrolledFiles, machineOf } from './enrolled-machine.ts'
import type { Enrollment } from './enrolled-machine.ts'
import { stateOfFile } from './file-state.ts'
import type { FileState } from './file-state.ts'
import { forbiddingRules } from './managed-rules.ts'
import type { ManagedRule } from './managed-rules.ts'

/** The result of `enroll --check`, and the end of that of `--write`. */
export interface EnrollmentCheck {
  readonly ok: boolean
  readonly files: readonly (FileState & { readonly for: string; readonly path: string })[]
  readonly rules: readonly ManagedRule[]
  readonly address: AddressAnswer
}

export async function checkEnrollment(context: Context, enrollment: Enrollment): Promise<ExitStatus> {
  const check = await enrollmentCheck(context, enrollment)
  if (context.json) printJson(context, check)
  else printLines(context, checkLines(check))
  return check.ok ? 0 : 3
}

/** An agent that was not named may be absent. */
export async function enrollmentCheck(context: Context, enrollment: Enrollment): Promise<EnrollmentCheck> {
  const { environment, redactor, signal, operands } = context
  const { marketplace, agents } = enrollment
  const files = await Promise.all(
    enrolledFiles(context, enrollment).map(async (file) =>
      Object.assign(await stateOfFile(file), { for: file.title, path: file.place.path }),
    ),
  )
  const ids = agents.map(({ id }) => id)
  const rules = await forbiddingRules(ids, marketplace, machineOf(context).root)
  const address = await answerOfAddress({ url: marketplace.url, environment, redactor, signal })
  const isGood = ({ state }: FileState) => state === 'as-expected' || (state === 'absent' && operands.length === 0)
  return { ok: files.every(isGood) && rules.length === 0 && address.isGood, files, rules, address }
}

/** The check as lines, each with its verdict first. */
export function checkLines({ files, rules, address }: EnrollmentCheck): readonly string[] {
  return [
    ...files.map((file) => `${file.state === 'as-expected' ? 'ok  ' : 'fail'}  ${printableLine(sentenceOf(file))}`),
    ...rules.map(({ agent, path, why }) => `fail  ${agent}: ${printableLine(path)}: ${printableLine(why)}`),
    `${address.isGood ? 'ok  ' : 'fail'}  ${printableLine(address.message)}`,
    ...(address.mend === undefined ? [] : [`        → ${printableLine(address.mend)}`]),
  ]
}

function sentenceOf(file: EnrollmentCheck['files'][number]): string {
  const about = `${file.for}: ${file.path}`
  switch (file.state) {
    case 'as-expected':
      return `${about}: as expected`
    case 'absent':
      return `${about}: absent`
    case 'differs':
      return `${about}: differs: ${file.what.join(', ')}`
    case 'unreadable':
      return `${about}: unreadable: ${file.why}`
    default:
      return file satisfies never
  }
}
