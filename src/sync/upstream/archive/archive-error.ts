import { shown } from '../../../base/text/printable.ts'

/** An archive that is not taken. The message says what is the case, and nothing of where the archive came from. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive'
}

/** One of which a larger part would have to be unpacked than there is room for. */
export class TooLargeArchive extends BadArchive {}

/** What is wrong with one member, by the name that it has in the archive. */
export function badMember(name: string, why: string): BadArchive {
  return new BadArchive(`${called(name)} ${why}`)
}

/** A member as a message names it. */
export function called(name: string): string {
  return `the member ${shown(name)}`
}
