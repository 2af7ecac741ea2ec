/** The text of a unit with other values for these keys, each of which stands there once. */
export function withValues(unit: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((text, [key, value]) => {
    const line = new RegExp(`^${key}=.*$`, 'm')
    if (!line.test(text)) throw new TypeError(`The template has no ${key}=`)
    return text.replace(line, () => `${key}=${value}`)
  }, unit)
}

/** A command line of a unit. Nothing in it is expanded: neither specifiers nor variables. */
export function commandLine([program = '', ...args]: readonly string[]): string {
  return [unitPath(program), ...args.map((arg) => unitPath(arg).replaceAll('$', '$$$$'))].join(' ')
}

/** A path or another word, as a unit has it: no specifier is expanded in it, and it stays one word. */
export function unitPath(text: string): string {
  const plain = text.replaceAll('%', '%%')
  return /^[\w/.,:=@%+-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
