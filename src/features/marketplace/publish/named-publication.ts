import { isLoopbackUrl } from '../../../base/host-name.ts'
import type { HostConfig } from '../../../daemon/config/config.ts'
import { withDefaults } from '../../../daemon/config/rules/defaults.ts'
import { branch as branchName, pushUrl } from '../../../daemon/config/schema/scalars.ts'
import type { Publication, PublishingConfig } from '../publication-config.ts'

/** A publication that a person names. What is not named is as in the configuration. */
export interface NamedPublication {
  readonly url: string
  readonly branch?: string | undefined
  readonly pack?: string | undefined
}

/**
 * The configured publication to this address, or else a new one, with the access that `defaults` has for the address.
 * If the name is not usable, the reason for people, without the address: it may contain a secret.
 */
export function publicationAt(
  config: PublishingConfig,
  named: NamedPublication,
): Publication | { readonly why: string } {
  const url = pushUrl().safeParse(named.url)
  if (!url.success) return { why: `the address ${url.error.issues[0]?.message}` }
  const branch = branchName().optional().safeParse(named.branch)
  if (!branch.success) return { why: `the branch ${branch.error.issues[0]?.message}` }
  const { pack } = named
  if (pack !== undefined && !config.packs.some(({ id }) => id === pack)) return { why: `no pack is called "${pack}"` }
  const known = config.publications.find(
    (one) => one.url === url.data && (branch.data === undefined || one.branch === branch.data),
  )
  if (known === undefined) return newPublication(url.data, branch.data, pack, config)
  // Two publishers of one branch would undo each other's commits.
  if (pack !== undefined && pack !== known.pack)
    return {
      why: `\`publish\` of the configuration gives the branch ${known.branch} of it to ${known.pack === undefined ? 'the whole marketplace' : `the pack ${known.pack}`}`,
    }
  return known
}

function newPublication(
  url: string,
  branch: string | undefined,
  pack: string | undefined,
  { hosts }: PublishingConfig,
): Publication | { readonly why: string } {
  const { access = NONE, ca, proxy = VARIABLES } = withDefaults<Partial<HostConfig>>({}, url, hosts)
  const { protocol } = new URL(url)
  if (access.kind === 'ssh') return { why: '`defaults` has a key of ssh for this address' }
  if (protocol === 'http:' && access.kind !== 'none' && !isLoopbackUrl(new URL(url)))
    return { why: 'the credential that `defaults` has would cross the network in clear over http:; use https' }
  return { kind: 'git', url, branch: branch ?? 'main', pack, access, ca, proxy }
}

const NONE = { kind: 'none' } as const
const VARIABLES = { kind: 'variables' } as const

/** Names a publication in logs and messages. */
export function publicationName({ url, branch }: Pick<Publication, 'url' | 'branch'>): string {
  return `${url}#${branch}`
}
