/** The text of a unit with new values for these keys. Each key must appear in it exactly once. */
export function withValues(unit: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((text, [key, value]) => {
    const line = new RegExp(`^${key}=.*$`, 'm')
    if (!line.test(text)) throw new TypeError(`The template has no ${key}=`)
    return text.replace(line, () => `${key}=${value}`)
  }, unit)
}

/** A command line of a unit. Specifiers and variables in it are escaped, so systemd does not expand them. */
export function commandLine([program = '', ...args]: readonly string[]): string {
  return [unitPath(program), ...args.map((arg) => unitPath(arg).replaceAll('$', '$$$$'))].join(' ')
}

/** A path or another word in the syntax of units. Its specifiers are escaped, and it stays one word. */
export function unitPath(text: string): string {
  const plain = text.replaceAll('%', '%%')
  return /^[\w/.,:=@%+-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
