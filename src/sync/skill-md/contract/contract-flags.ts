import { faultAt, type ContractFault } from './contract-error.ts'
import { shown } from './contract-value.ts'
import type { JsonObject } from '../../../base/json-value.ts'

/** The fields of Claude Code that are on or off. */
const SWITCHES = ['disable-model-invocation', 'user-invocable'] as const

/**
 * Whether it says on or off. Words and numbers count as in the models that the contract was written in (Pydantic's), and as
 * in YAML 1.1, where `yes` is true.
 */
export function isSwitch(value: unknown): boolean {
  if (typeof value === 'number') return value === 0 || value === 1
  return typeof value === 'boolean' || (typeof value === 'string' && WORD.test(value))
}

/** Whether it says off, to any of those readers. */
export function isOff(value: unknown): boolean {
  return value === false || value === 0 || (typeof value === 'string' && OFF.test(value))
}

/** The same of on. */
export function isOn(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === 'string' && ON.test(value.trim()))
}

const ON = /^(?:1|on|t|true|y|yes)$/i

const OFF = /^(?:0|off|f|false|n|no)$/i

const WORD = /^(?:1|0|on|off|t|f|true|false|y|n|yes|no)$/i

/** What is a switch to some readers alone. */
export function switchNotes(frontmatter: JsonObject): ContractFault[] {
  return SWITCHES.flatMap((field) => {
    const value = frontmatter[field]
    if (typeof value === 'boolean' || !isSwitch(value)) return []
    return [
      faultAt(
        [field],
        `${shown(value)} is a ${typeof value === 'number' ? 'number' : 'text'} to many readers; write true or false`,
      ),
    ]
  })
}
