import { printablePath } from '../../../base/text/printable.ts'

/** The reason why an archive is refused. The message does not name the archive's origin. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive'
}

/** An archive that would unpack to more bytes than there is room for. */
export class TooLargeArchive extends BadArchive {}

/** Creates the error for one member, with its name in the archive. */
export function badMember(name: string, why: string): BadArchive {
  return new BadArchive(`${memberText(name)} ${why}`)
}

/** Formats a member's name for messages. */
export function memberText(name: string): string {
  return `the member ${printablePath(name)}`
}
