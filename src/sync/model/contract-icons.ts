import { isMediaType } from './contract-schema.ts'
import { faultAt, type ContractFault } from './contract-fault.ts'
import { CONTRACT_KEY, type Icon } from './contract.ts'
import { shown } from './contract-value.ts'
import { isMapping } from './json-value.ts'

/** The icons that are right, with what is right of them, and what is said of the rest. */
export function contractIcons(value: unknown): { readonly icons: Icon[]; readonly faults: ContractFault[] } {
  if (value === undefined) return { icons: [], faults: [] }
  if (!Array.isArray(value))
    return { icons: [], faults: [faultAt(AT, `${shown(value)} is not a list; it is left out`)] }
  const read = value.map((item: unknown, index) => iconOf(item, index))
  return { icons: read.flatMap(({ icon }) => icon ?? []), faults: read.flatMap(({ faults }) => faults) }
}

const AT = [CONTRACT_KEY, 'icons']

interface Read {
  readonly icon?: Icon
  readonly faults: readonly ContractFault[]
}

function iconOf(item: unknown, index: number): Read {
  const src = isMapping(item) ? item['src'] : undefined
  if (!isMapping(item) || typeof src !== 'string' || !isSource(src)) {
    const message = `${shown(src ?? item)} is no https: or data: address; the icon is left out`
    return { faults: [faultAt([...AT, index, 'src'], message)] }
  }
  const { mimeType, sizes } = item
  const faults: ContractFault[] = []
  const unusable = (key: string, wanted: unknown): void => {
    faults.push(faultAt([...AT, index, key], `${shown(wanted)} is not what MCP has there; it is left out`))
  }
  const isTyped = typeof mimeType === 'string' && isMediaType(mimeType)
  if (mimeType !== undefined && !isTyped) unusable('mimeType', mimeType)
  const isSized = isTexts(sizes) && sizes.every((size) => /^(?:any|\d{1,5}x\d{1,5})$/.test(size))
  if (sizes !== undefined && !isSized) unusable('sizes', sizes)
  return { icon: { src, ...(isTyped && { mimeType }), ...(isSized && { sizes }) }, faults }
}

/** A page of ours shows none of them; a client that does is never sent to a host over an open line. */
function isSource(src: string): boolean {
  if (/^data:[a-z]+\/[\w.+-]+[;,]/i.test(src)) return true
  const url = URL.parse(src)
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === ''
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
