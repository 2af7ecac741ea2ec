import type { Context } from './command.ts'

/** Prints records as comma-separated values (RFC 4180), the heads first. */
export function printCsv(
  { redactor, streams }: Pick<Context, 'redactor' | 'streams'>,
  records: readonly (readonly string[])[],
): void {
  streams.stdout.write(redactor.clean(records.map((record) => `${record.map(csvField).join(',')}\r\n`).join('')))
}

/** A spreadsheet would run a name that begins like a formula. */
function csvField(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
