import type { SecretReference } from '../../daemon/config/auth.ts'
import type { ChannelConfig, HostDefaults, Publication, WitnessConfig } from '../../daemon/config/config.ts'
import { accessOf, hostConfigOf, proxyOf } from '../../daemon/config/normalize-access.ts'
import type { Absolute, SecretEntry } from '../../daemon/config/normalize-access.ts'
import { withDefaults } from '../../daemon/config/rules/defaults.ts'
import type { ConfigFile } from '../../daemon/config/schema/schema.ts'

type PublicationEntry = NonNullable<ConfigFile['publish']>[number]

/** One entry of `defaults`. */
export type DefaultsEntry = NonNullable<ConfigFile['defaults']>[number]

/** The branch that an entry of `publish` names; none for one that names a folder. */
export function publicationOf(
  entry: PublicationEntry,
  defaults: readonly DefaultsEntry[],
  absolute: Absolute,
): Publication[] {
  const { git: url, branch = 'main', pack } = entry
  if (url === undefined) return []
  const { auth, ca, proxy } = withDefaults(entry, url, defaults)
  return [{ kind: 'git', url, branch, pack, ...hostConfigOf({ auth, ca, proxy }, absolute) }]
}

/** The log of the channel, and its witnesses with the access that `defaults` give to their hosts. */
export function channelOf(
  { name, key, witnesses = [], quorum }: NonNullable<ConfigFile['channel']>,
  defaults: readonly DefaultsEntry[],
  { reference, absolute }: { readonly reference: (entry: SecretEntry) => SecretReference; readonly absolute: Absolute },
): ChannelConfig {
  return {
    name,
    keys: [key].flat().map(reference),
    witnesses: witnesses.map((witness) => witnessOf(witness, defaults, absolute)),
    quorum: quorumOf(witnesses.length, quorum),
  }
}

/** A witness needs no credential: the checkpoint is signed. */
function witnessOf(
  { url, key }: { readonly url: string; readonly key: string },
  defaults: readonly DefaultsEntry[],
  absolute: Absolute,
): WitnessConfig {
  const { ca, proxy } = hostConfigOf(withDefaults<Pick<PublicationEntry, 'ca' | 'proxy'>>({}, url, defaults), absolute)
  return { url: url.endsWith('/') ? url : `${url}/`, key, ca, proxy }
}

/** The number of witnesses whose cosignatures are enough: the majority, unless another number is set. */
export function quorumOf(witnesses: number, quorum: number | undefined): number {
  if (witnesses === 0) return 0
  return quorum ?? Math.floor(witnesses / 2) + 1
}

/** The access that an entry of `defaults` gives to the hosts that it matches. */
export function hostDefaultsOf({ match, auth, ca, proxy }: DefaultsEntry, absolute: Absolute): HostDefaults {
  return {
    match,
    ...(auth !== undefined && { access: accessOf(auth, absolute) }),
    ...(ca !== undefined && { ca: absolute(ca) }),
    ...(proxy !== undefined && { proxy: proxyOf(proxy, absolute) }),
  }
}
