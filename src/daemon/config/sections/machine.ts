import { z } from 'zod'
import { bytes, path } from '../schema/scalars.ts'
import { SECRET } from './access.ts'

// What the daemon has for itself on its machine.

/** The folder for everything that survives a restart. */
export const STATE = path()
  .optional()
  .describe(
    'The folder for everything that survives a restart; one daemon writes it. Default: the first of $STATE_DIRECTORY, $XDG_STATE_HOME/skillsyncd and ~/.local/state/skillsyncd.',
  )

/** The store that several processes share. */
export const STORE = z
  .strictObject({
    postgres: z
      .strictObject({
        url: SECRET.describe('The address: postgres://USER:PASSWORD@HOST/NAME?sslmode=verify-full.'),
      })
      .describe('The PostgreSQL database that all processes of the hub use.'),
  })
  .optional()
  .describe(
    'What several processes of one hub share, each with a state folder of its own; only skillsyncd start uses it. Default: nothing.',
  )

/** The audit log; `undefined` if nothing is recorded. */
export const AUDIT = z
  .strictObject({
    enabled: z.boolean().optional().describe('false: nothing is written. Default: true.'),
    bytes: bytes()
      .optional()
      .describe(
        'One file of each kind together, before the next ones begin; eight of each kind are kept. Default: 8MiB.',
      ),
  })
  .optional()
  .transform(({ enabled = true, bytes = 2 ** 23 } = {}) => (enabled ? { bytes, files: 8 } : undefined))
  .describe('The audit log: which client read which skill.')

/** Limits of the audit log. */
export type AuditConfig = NonNullable<z.output<typeof AUDIT>>

/** The programs of this machine. */
export const PROGRAMS = z
  .strictObject({
    git: path().optional().describe('The git program.'),
    ssh: path().optional().describe('The ssh program.'),
  })
  .optional()
  .describe(
    'Programs of this machine, for ssh and for what the built-in reader does not read. Default: found through PATH.',
  )
