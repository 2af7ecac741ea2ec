import { isMap, isScalar, isSeq, parseDocument } from 'yaml'

/**
 * The value of a YAML text to a reader of YAML 1.1 that keeps to the types of yaml.org/type, as PyYAML and Psych do: `yes` is
 * true, `010` is eight, and `1e-7`, without a point, is a text. The library of the program is laxer.
 */
export function yaml11(text: string): unknown {
  const document = parseDocument(text, { version: '1.1', schema: 'failsafe' })
  if (document.errors[0] !== undefined) throw document.errors[0]
  return valueOf(document.contents)
}

function valueOf(node: unknown): unknown {
  if (isMap(node)) return Object.fromEntries(node.items.map(({ key, value }) => [keyOf(key), valueOf(value)]))
  if (isSeq(node)) return node.items.map(valueOf)
  if (!isScalar(node)) throw new Error('an alias')
  if (node.type !== 'PLAIN') return node.value
  return plainValue(node.source ?? '')
}

function keyOf(node: unknown): string {
  const key = valueOf(node)
  if (typeof key !== 'string') throw new Error(`a key that is no text: ${String(key)}`)
  return key
}

function plainValue(text: string): unknown {
  if (/^(?:~|null|Null|NULL|)$/.test(text)) return null
  if (/^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/.test(text)) return true
  if (/^(?:n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/.test(text)) return false
  if (/^[-+]?(?:0|[1-9]\d*)$/.test(text) || /^[-+]?(?:\d+\.\d*|\.\d+)(?:[eE][-+]\d+)?$/.test(text)) return Number(text)
  for (const other of OTHERS) if (other.test(text)) throw new Error(`read as something else: ${text}`)
  return text
}

/** Numbers to another base, with underscores, with no end and of no value; times; the merge key. */
const OTHERS = [
  /^[-+]?0[\db_xa-fA-F]+$/,
  /^[-+]?[\d.][\d._]*(?:[eE][-+]\d+)?$/,
  /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.\d*)?$/,
  /^[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)$/,
  /^\d{4}-\d\d?-\d\d?/,
  /^(?:<<|=)$/,
]
