import { foldedPath, foldersAbove } from '../../../base/paths.ts'
import { printablePath } from '../../../base/text/printable.ts'
import { comparePaths } from '../../model/digest.ts'
import { BadArchive, badMember, memberText, TooLargeArchive } from './archive-error.ts'
import { memberPath } from './member-path.ts'
import type { MemberKind, MemberPathLimits } from './member-path.ts'

/** Limits for the unpacked archive. */
export interface UnpackLimits extends MemberPathLimits {
  /** Maximum bytes of all files together. */
  readonly bytes: number
  /** Maximum number of members: files, and folders that the archive names. */
  readonly entries: number
}

/** One file of an archive. Of its mode only the owner's execute bit is kept. */
export interface UnpackedFile {
  /** Relative, slash-separated, without a leading `./`. */
  readonly path: string
  readonly bytes: Uint8Array
  readonly executable: boolean
}

/** The members found so far. Each member is checked against the previous ones, before its bytes are read. */
export class ArchiveMembers {
  readonly limits: UnpackLimits
  readonly #files: UnpackedFile[] = []
  /** The entries by folded path: members, and the folders above them. */
  readonly #places = new Map<string, Place>()
  readonly #named = new Set<string>()
  #entries = 0
  #bytes = 0
  #reached = 0

  constructor(limits: UnpackLimits) {
    this.limits = limits
  }

  /**
   * Adds a member and returns its path. Throws if it conflicts with another member. The path of the root itself, as tar
   * names it, is empty.
   */
  enter(name: Buffer, kind: MemberKind): string {
    this.#entries += 1
    if (this.#entries > this.limits.entries) throw tooMany(this.limits)
    const path = memberPath(name, kind, this.limits)
    if (this.#named.has(path)) throw badMember(path, 'is there twice')
    this.#named.add(path)
    this.#claim({ path, kind }, path)
    for (const folder of foldersAbove(path)) this.#claim({ path: folder, kind: 'folder' }, path)
    return path
  }

  /** Throws if a file of this size would exceed the limit. The declared size is never allocated. */
  expect(path: string, size: number): void {
    const { bytes } = this.limits
    if (this.#bytes + size > bytes)
      throw new TooLargeArchive(`${memberText(path)} makes the files come to more than ${bytes} bytes`)
    this.#reached = Math.max(this.#reached, this.#bytes + size)
  }

  /** The bytes unpacked so far, including an unfinished member. */
  get reached(): number {
    return this.#reached
  }

  add(file: UnpackedFile): void {
    this.expect(file.path, file.bytes.byteLength)
    this.#bytes += file.bytes.byteLength
    this.#files.push(file)
  }

  /** Throws if the files are not a skill. */
  all(): { readonly files: readonly UnpackedFile[]; readonly bytes: number } {
    if (!this.#files.some(({ path }) => path === 'SKILL.md')) throw new BadArchive('it has no SKILL.md at its root')
    return { files: this.#files.toSorted((a, b) => comparePaths(a.path, b.path)), bytes: this.#bytes }
  }

  #claim(place: Place, member: string): void {
    const folded = foldedPath(place.path)
    const met = this.#places.get(folded)
    if (met === undefined) {
      this.#places.set(folded, place)
      return
    }
    if (met.path !== place.path) {
      throw badMember(member, `meets ${printablePath(met.path)} where case or Unicode form does not count`)
    }
    if (met.kind !== place.kind) throw badMember(member, `makes ${printablePath(met.path)} both a file and a folder`)
  }
}

interface Place {
  readonly path: string
  readonly kind: MemberKind
}

/** Creates the error for too many members. Exported for a caller that knows their number in advance. */
export function tooMany({ entries }: UnpackLimits): BadArchive {
  return new BadArchive(`it has more than ${entries} members`)
}
