import { readFileSync } from 'node:fs'

const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)

/** The version of this program, read from its package.json. */
export const VERSION = version

/** The name of the client of `doctor --connect`, which is no agent. */
export const DOCTOR_CLIENT = 'skillsyncd-doctor'
