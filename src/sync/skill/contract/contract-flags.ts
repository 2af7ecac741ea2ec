import type { JsonObject } from '../../../base/json-value.ts'
import { faultAt, type ContractFault } from './contract-error.ts'
import { shownValue } from './contract-value.ts'

/** The fields of Claude Code that are on or off. */
const SWITCHES = ['disable-model-invocation', 'user-invocable'] as const

/**
 * True if the value means on or off. Words and numbers count as in Pydantic, with which the contract was written, and
 * as in YAML 1.1, in which `yes` is true.
 */
export function isSwitch(value: unknown): boolean {
  if (typeof value === 'number') return value === 0 || value === 1
  return typeof value === 'boolean' || (typeof value === 'string' && WORD.test(value))
}

/** True if any of those readers takes the value as off. */
export function isOff(value: unknown): boolean {
  return value === false || value === 0 || (typeof value === 'string' && OFF.test(value))
}

/** True if any of those readers takes the value as on. */
export function isOn(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === 'string' && ON.test(value.trim()))
}

const ON = /^(?:1|on|t|true|y|yes)$/i

const OFF = /^(?:0|off|f|false|n|no)$/i

const WORD = /^(?:1|0|on|off|t|f|true|false|y|n|yes|no)$/i

/** The values that only some readers take as a switch. */
export function switchNotes(frontmatter: JsonObject): ContractFault[] {
  return SWITCHES.flatMap((field) => {
    const value = frontmatter[field]
    if (typeof value === 'boolean' || !isSwitch(value)) return []
    return [
      faultAt(
        [field],
        `${shownValue(value)} is a ${typeof value === 'number' ? 'number' : 'text'} to many readers; write true or false`,
      ),
    ]
  })
}
