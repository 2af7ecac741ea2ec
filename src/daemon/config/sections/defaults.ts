import { z } from 'zod'
import { HIDDEN_POLICIES } from '../../../sync/skill/hidden-unicode.ts'
import type { HostDefaults } from '../config.ts'
import { addressPrefix, duration, later, mapping, path, times } from '../schema/scalars.ts'
import { accessOf, AUTH, PROXY, proxyOf, SECRET } from './access.ts'
import type { Absolute } from './access.ts'

const SIGNED = later(() =>
  z
    .strictObject({
      require: z.enum(['commit', 'tag', 'both']).describe('The object that one of the signers must have signed.'),
      allowed_signers: path().optional().describe('The keys of the signers, in the allowed-signers form of OpenSSH.'),
      keyring: path().optional().describe('The OpenPGP keys of the signers, armored.'),
      grace: duration()
        .optional()
        .describe(
          "The time after the end of a key's validity in which an object signed before may still arrive. Default: unlimited.",
        ),
    })
    .refine((value) => value.allowed_signers !== undefined || value.keyring !== undefined, {
      error: 'needs `allowed_signers`, `keyring` or both',
    })
    .meta({ id: 'signed' }),
)

/** The webhook of a repository. */
export const WEBHOOK = later(() =>
  z
    .strictObject({
      provider: z
        .enum(['github', 'gitlab', 'gitea', 'forgejo', 'generic'])
        .describe('The git host, which defines the form of the requests.'),
      secret: SECRET.describe('The secret that requests are signed with.'),
    })
    .meta({ id: 'webhook' }),
)

/** The keys of one source that `defaults` can also set, for all sources with a common address prefix. */
export const SHARED = {
  every: times({ least: '1s', most: '365d' })
    .optional()
    .describe(
      'The time between two polls, or their times as a cron expression, in the time zone of the daemon. Default: 5m; 30s for a folder.',
    ),
  max_age: duration()
    .optional()
    .describe(
      'The age of the last success above which the source is too old. Default: a day, or four times the time between two polls.',
    ),
  auth: AUTH.optional().describe('The credential for the host.'),
  signed: SIGNED.optional().describe('Serve only what one of these signers has signed.'),
  hidden_unicode: z
    .enum(HIDDEN_POLICIES)
    .optional()
    .describe(
      'Invisible characters. note: a finding. withhold: the skill is withheld. deceptive: withheld for those that smuggle, reorder or conceal text (tags, bidirectional controls, terminal escapes), else a finding. Default: deceptive.',
    ),
  brakes: z
    .enum(['hold', 'follow'])
    .optional()
    .describe(
      'The moves that are usually accidents: a tag that names another commit, a branch that goes back to an earlier one, and a commit with no skill where there were some, or (not of a folder) with fewer than half and over five fewer. hold: each waits for `skillsyncd approve`. follow: all are followed. Default: hold.',
    ),
  marketplace: z
    .boolean()
    .optional()
    .describe(
      'true: the plugin marketplace of the repository is read as groups of skills, for `plugin` in packs. Default: false.',
    ),
  backend: z
    .enum(['auto', 'embedded', 'isomorphic', 'system'])
    .optional()
    .describe(
      'The git client: the built-in reader or isomorphic-git, both not for ssh, or the git program. auto: by the address. Default: auto.',
    ),
  ca: path().optional().describe('Certificates (PEM) to trust for this host besides those of the system.'),
  proxy: PROXY.optional().describe(
    'The proxy for this host, or none. Default: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say.',
  ),
}

const DEFAULTS = mapping(() => ({
  match: addressPrefix().describe(
    'The beginning of an address, up to a slash or its end. For each key, the longest match wins.',
  ),
  ...SHARED,
}))

export const DEFAULTS_LIST = z
  .array(DEFAULTS)
  .optional()
  .describe('Keys for all sources whose address begins with `match`; a key of the source itself wins.')

/** One entry of `defaults`. */
export type DefaultsEntry = z.output<typeof DEFAULTS>

/** The access that an entry of `defaults` gives to the hosts that it matches. */
export function hostDefaultsOf({ match, auth, ca, proxy }: DefaultsEntry, absolute: Absolute): HostDefaults {
  return {
    match,
    ...(auth !== undefined && { access: accessOf(auth, absolute) }),
    ...(ca !== undefined && { ca: absolute(ca) }),
    ...(proxy !== undefined && { proxy: proxyOf(proxy, absolute) }),
  }
}
