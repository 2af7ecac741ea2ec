import { isObject } from '../../base/json-object.ts'
import { TRIGGERS } from '../model/generation.ts'
import type { GenerationCause } from '../model/generation.ts'
import { isSourceId } from '../model/source-id.ts'

/** True if the value has the form of the cause of a generation. */
export function isCause(value: unknown): value is GenerationCause {
  if (!isObject(value)) return false
  const { action, trigger, source, rewritten } = value
  if (action !== 'update' && action !== 'rollback' && action !== 'withdraw' && action !== 'promote') return false
  if (typeof trigger !== 'string' || !KNOWN_TRIGGERS.has(trigger)) return false
  if (rewritten !== undefined && rewritten !== true) return false
  return source === undefined || (typeof source === 'string' && isSourceId(source))
}

const KNOWN_TRIGGERS: ReadonlySet<string> = new Set(TRIGGERS)
