import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import { isObject } from '../../../base/json-object.ts'
import { auditText } from '../../audit.ts'

/**
 * Returns the name that a client gives itself, in `initialize` or with each request (`clientInfo`), as `auditText` does.
 * `undefined` if the params have none.
 */
export function clientNameIn(params: unknown): string | undefined {
  const { clientInfo, _meta: meta } = isObject(params) ? params : {}
  const info = clientInfo ?? (isObject(meta) ? meta[CLIENT_INFO_META_KEY] : undefined)
  const name = isObject(info) ? info['name'] : undefined
  return typeof name === 'string' ? cleaned(name) : undefined
}

/** A client sends its name with each request. */
function cleaned(name: string): string {
  const known = CLEANED.get(name)
  if (known !== undefined) return known
  const text = auditText(name)
  if (CLEANED.size >= MOST_NAMES) CLEANED.clear()
  if (name.length <= MOST_CHARACTERS) CLEANED.set(name, text)
  return text
}

const CLEANED = new Map<string, string>()
const MOST_NAMES = 256
const MOST_CHARACTERS = 512
