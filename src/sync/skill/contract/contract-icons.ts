import { isMapping, isTexts } from '../../../base/json-value.ts'
import { faultAt, type ContractFault } from './contract-error.ts'
import { isMediaType } from './contract-schema.ts'
import { shownValue } from './contract-value.ts'
import { CONTRACT_KEY, type Icon } from './contract.ts'

/** The valid icons, with their valid fields, and the faults of the rest. */
export function contractIcons(value: unknown): { readonly icons: Icon[]; readonly faults: ContractFault[] } {
  if (value === undefined) return { icons: [], faults: [] }
  if (!Array.isArray(value))
    return { icons: [], faults: [faultAt(AT, `${shownValue(value)} is not a list; it is left out`)] }
  const read = value.slice(0, MOST_ICONS).map((item: unknown, index) => iconOf(item, index))
  const faults = read.flatMap((one) => one.faults)
  if (value.length > MOST_ICONS) {
    faults.push(faultAt(AT, `there are ${value.length} icons; those after the first ${MOST_ICONS} are left out`))
  }
  return { icons: read.flatMap(({ icon }) => icon ?? []), faults }
}

/** One for each size and theme, with room to spare. Each list of resources contains them all. */
const MOST_ICONS = 8

const AT = [CONTRACT_KEY, 'icons']

interface Read {
  readonly icon?: Icon
  readonly faults: readonly ContractFault[]
}

function iconOf(item: unknown, index: number): Read {
  const given = isMapping(item) ? item['src'] : undefined
  const src = typeof given === 'string' ? sourceOf(given) : undefined
  if (!isMapping(item) || src === undefined) {
    const message = `${shownValue(given ?? item)} is neither an https: address nor an image as data: in base64; the icon is left out`
    return { faults: [faultAt([...AT, index, 'src'], message)] }
  }
  const { mimeType, sizes } = item
  const faults: ContractFault[] = []
  const unusable = (key: string, wanted: unknown): void => {
    faults.push(faultAt([...AT, index, key], `${shownValue(wanted)} is not what MCP has there; it is left out`))
  }
  const isTyped = typeof mimeType === 'string' && isMediaType(mimeType)
  if (mimeType !== undefined && !isTyped) unusable('mimeType', mimeType)
  const isSized =
    isTexts(sizes) && sizes.length <= MOST_SIZES && sizes.every((size) => /^(?:any|\d{1,5}x\d{1,5})$/.test(size))
  if (sizes !== undefined && !isSized) unusable('sizes', sizes)
  return { icon: { src, ...(isTyped && { mimeType }), ...(isSized && { sizes }) }, faults }
}

/**
 * The address to publish. No page of ours shows an icon. A client that does is never sent to a host over an unencrypted
 * connection, and never gets anything but an image.
 */
function sourceOf(src: string): string | undefined {
  if (IMAGE.test(src)) return src.length <= MAX_DATA ? src : undefined
  const url = src.length <= MAX_ADDRESS ? URL.parse(src) : null
  const isOpen = url?.protocol === 'https:' && url.username === '' && url.password === ''
  return isOpen && url.href.length <= MAX_ADDRESS ? url.href : undefined
}

/** MCP allows images as data only in base64. */
const IMAGE = /^data:image\/[a-z0-9][a-z0-9.+-]*;base64,[A-Za-z0-9+/]+={0,2}$/

const MAX_ADDRESS = 2_048
const MAX_DATA = 16_384
const MOST_SIZES = 16
