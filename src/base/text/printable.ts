/** Text of the other side, fit for a message: bounded, and without what would move a terminal's cursor. */
export function printable(text: string, most = SAID_LIMIT): string {
  return text
    .slice(0, most)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, ' ')
    .trim()
}

const SAID_LIMIT = 300

/** A path as a message shows it: bounded, each character visible. */
export function printablePath(path: string): string {
  const bounded = path.length > SHOWN_LENGTH ? `${path.slice(0, SHOWN_LENGTH)}…` : path
  return JSON.stringify(bounded).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}

const SHOWN_LENGTH = 300
