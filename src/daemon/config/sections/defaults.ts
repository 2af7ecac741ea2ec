import { z } from 'zod'
import { HIDDEN_POLICIES } from '../../../sync/skill/hidden-unicode.ts'
import type { HostDefaults } from '../config.ts'
import { addressPrefix, cron, duration, path } from '../schema/scalars.ts'
import { accessOf, AUTH, PROXY, proxyOf, SECRET } from './access.ts'
import type { Absolute } from './access.ts'

const SIGNED = z
  .strictObject({
    require: z.enum(['commit', 'tag', 'both']).describe('The object that one of the signers must have signed.'),
    allowed_signers: path().optional().describe('The keys of the signers, in the allowed-signers form of OpenSSH.'),
    keyring: path().optional().describe('The OpenPGP keys of the signers, armored.'),
    grace: duration()
      .optional()
      .describe(
        'The time after the end of the validity of a key in which an earlier signed object may still appear for the first time. Default: unlimited.',
      ),
  })
  .refine((value) => value.allowed_signers !== undefined || value.keyring !== undefined, {
    error: 'needs `allowed_signers`, `keyring` or both',
  })

const POLICY = z.strictObject({
  'hidden-unicode': z
    .enum(HIDDEN_POLICIES)
    .optional()
    .describe(
      'Invisible characters. note: serve the skill, with a finding. deceptive: withhold it for those that smuggle, reorder or conceal text (tags, bidirectional controls, terminal escapes), note the rest. withhold: withhold it for any. Default: deceptive.',
    ),
})

/** The moves that wait for an approval. */
export const BRAKES = z
  .strictObject({
    moved_tag: z
      .enum(['hold', 'follow'])
      .optional()
      .describe('A tag that names another commit than before. Default: hold.'),
    mass_deletion: z
      .enum(['hold', 'follow'])
      .optional()
      .describe(
        'A commit with no skill where there were some, or (not of a folder) with fewer than half and over five fewer. Default: hold.',
      ),
    older_commit: z
      .enum(['hold', 'follow'])
      .optional()
      .describe('A branch that moves back to a commit before the served one. Default: hold.'),
  })
  .transform(
    ({ moved_tag: movedTag = 'hold', mass_deletion: massDeletion = 'hold', older_commit: olderCommit = 'hold' }) => ({
      movedTag,
      massDeletion,
      olderCommit,
    }),
  )

/** The webhook of a repository. */
export const WEBHOOK = z.strictObject({
  provider: z
    .enum(['github', 'gitlab', 'gitea', 'forgejo', 'generic'])
    .describe('The git host that defines the form of the requests.'),
  secret: SECRET.describe('The place that the secret for the signatures of requests is read from.'),
})

/** The keys of one source that `defaults` can also set, for all sources with a common address prefix. */
export const SHARED = {
  schedule: cron()
    .optional()
    .describe(
      'The times to check for a new commit: a cron expression, in the time zone of the daemon. Or use `every`.',
    ),
  every: duration({ least: '1s', most: '365d' })
    .optional()
    .describe('The interval to check for a new commit, such as 30s, 5m or 1h. Default: 5m; 30s for a folder.'),
  max_age: duration()
    .optional()
    .describe(
      'The age of the last success above which a required source makes the daemon unready. Default: a day, or four times the interval between two checks.',
    ),
  auth: AUTH.optional().describe('The credential for the host. Secrets are named, never written.'),
  signed: SIGNED.optional().describe('Serve only what one of these signers has signed.'),
  policy: POLICY.optional().describe('The action for a skill that breaks a content rule.'),
  brakes: BRAKES.optional().describe('The moves that wait for `skillsyncd approve`, and those that are followed.'),
  marketplace: z
    .boolean()
    .optional()
    .describe(
      'Read the plugin marketplace of the repository as groups of skills, for `plugin` in packs. Default: false.',
    ),
  backend: z
    .enum(['auto', 'embedded', 'isomorphic', 'system'])
    .optional()
    .describe(
      'The git client: the built-in reader (embedded, not for ssh), isomorphic-git (isomorphic, not for ssh), or the git program (system). Default: auto, which chooses by the address.',
    ),
  ca: path().optional().describe('Certificates (PEM) to trust for this host besides those of the system.'),
  proxy: PROXY.optional().describe(
    'The proxy for this host, or none. Default: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY define.',
  ),
}

const DEFAULTS = z.strictObject({
  match: addressPrefix().describe(
    'The addresses of these defaults: those that begin with this, up to a slash or their end. For each key, the longest match wins.',
  ),
  ...SHARED,
})

export const DEFAULTS_LIST = z
  .array(DEFAULTS)
  .optional()
  .describe('Defaults for all sources whose address begins with `match`, unless a source sets the key.')

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
