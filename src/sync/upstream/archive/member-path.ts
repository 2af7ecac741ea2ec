import { isUtf8 } from 'node:buffer'
import { nameProblem } from '../../skill/skill-path.ts'
import { badMember } from './archive-error.ts'

export type MemberKind = 'file' | 'folder'

/** Limits for the path of one member. */
export interface MemberPathLimits {
  /** The maximum number of segments. */
  readonly depth: number
  readonly pathBytes: number
  readonly segmentBytes: number
}

/**
 * Returns the path of a member's name: without the `./` that tar writes before it, and without the trailing slash of a
 * folder. Throws for a name that could lead elsewhere on any system, or that cannot be displayed.
 */
export function memberPath(name: Buffer, kind: MemberKind, limits: MemberPathLimits): string {
  const text = name.toString('utf8')
  const why = badNameReason(name, text, limits)
  if (why !== undefined) throw badMember(text, why)
  const path = plain(text, kind)
  const fault = path === '' && kind === 'folder' ? undefined : badPathReason(path, limits)
  if (fault !== undefined) throw badMember(text, fault)
  return path
}

function plain(text: string, kind: MemberKind): string {
  if (kind === 'file') return text.replace(/^\.\//, '')
  return text === '.' ? '' : text.replace(/^\.\//, '').replace(/\/$/, '')
}

function badNameReason(name: Buffer, text: string, { pathBytes }: MemberPathLimits): string | undefined {
  if (name.length === 0) return 'has no name'
  // The dot, and a slash at either end of the path.
  if (name.length > pathBytes + 3) return `has a name over ${pathBytes} bytes`
  if (!isUtf8(name)) return 'has a name that is not UTF-8'
  if (/\p{Cc}/u.test(text)) return 'has a control character in its name'
  if (text.includes('\\')) return 'has a backslash in its name'
  return text.startsWith('/') ? 'has an absolute name' : undefined
}

function badPathReason(path: string, { depth, pathBytes, segmentBytes }: MemberPathLimits): string | undefined {
  const segments = path.split('/')
  if (/^[a-z]:/i.test(path)) return 'has the letter of a drive in its name'
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    return 'has a segment in its name that is empty, "." or ".."'
  }
  if (segments.length > depth) return `is deeper than ${depth} segments`
  if (Buffer.byteLength(path) > pathBytes) return `has a name over ${pathBytes} bytes`
  if (segments.some((segment) => Buffer.byteLength(segment) > segmentBytes)) {
    return `has a segment over ${segmentBytes} bytes in its name`
  }
  return nameProblem(path)
}
