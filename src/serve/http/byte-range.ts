import type { IncomingHttpHeaders } from 'node:http'

/** The part of a body that is sent: from `start` to before `end`. */
export interface BytePart {
  readonly start: number
  readonly end: number
}

/**
 * The part of a body of `size` bytes that a GET requests (RFC 9110, section 14): one range of bytes. `whole` for no range,
 * several, a range of another form, or one of another version of the body. `none` if the body has no byte of it.
 */
export function partAsked(headers: IncomingHttpHeaders, size: number, etag: string): BytePart | 'whole' | 'none' {
  const condition = headers['if-range']
  if (typeof condition === 'string' && condition !== etag) return 'whole'
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? []
  if (first === '' && last === '') return 'whole'
  if (first === '') return partOf(Math.max(size - Number(last), 0), size, size)
  if (last === '') return partOf(Number(first), size, size)
  return Number(last) < Number(first) ? 'whole' : partOf(Number(first), Number(last) + 1, size)
}

function partOf(start: number, end: number, size: number): BytePart | 'none' {
  return start < size ? { start, end: Math.min(end, size) } : 'none'
}
