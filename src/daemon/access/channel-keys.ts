import { SyncError } from '../../sync/model/sync-error.ts'
import { parseSigner, renamedSigner, verifierText } from '../../sync/transparency-log/signed-note.ts'
import type { NoteSigner } from '../../sync/transparency-log/signed-note.ts'
import { readSecret, secretNameOf } from '../config/auth.ts'
import type { SecretReference } from '../config/auth.ts'
import { originOf } from '../config/channel-names.ts'
import type { ChannelName } from '../config/channel-names.ts'
import type { DaemonContext } from '../runtime/context.ts'

/** The name of the log of a channel, and the private keys that sign it. */
interface NamedKeys {
  readonly name: string
  readonly keys: readonly SecretReference[]
}

/** Reads the private keys of the channel. One that cannot be read, or is none, is a `SyncError`. */
export async function channelSigners(
  { name, keys }: NamedKeys,
  { environment, redactor }: Pick<DaemonContext, 'environment' | 'redactor'>,
): Promise<readonly NoteSigner[]> {
  const signers: NoteSigner[] = []
  for (const reference of keys) {
    const signer = parseSigner((await readSecret(reference, environment, redactor)).trim())
    if (signer?.name !== name)
      throw new SyncError(
        'credentials-rejected',
        `Cannot use the ${secretNameOf(reference)}: it is no private key of the channel "${name}"; skillsyncd hub channel new-key makes one`,
        { fix: 'Name the file that skillsyncd hub channel new-key has made for this channel' },
      )
    signers.push(signer)
  }
  return signers
}

/** The public keys of one of the channels, in the form that followers configure. Each has the name of the log that it signs. */
export function publicKeysOf(
  channel: Pick<NamedKeys, 'name'>,
  name: ChannelName,
  signers: readonly NoteSigner[],
): readonly string[] {
  const origin = originOf(channel, name)
  return signers.map((signer) => verifierText(renamedSigner(signer, origin)))
}
