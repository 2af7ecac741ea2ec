import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../../base/error-code.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import { channelSigners, publicKeysOf } from '../../daemon/access/channel-keys.ts'
import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context, ExitStatus } from '../../daemon/cli/command.ts'
import { channelNames, partOf, partText } from '../../daemon/config/channel-names.ts'
import { whyNotOpened } from '../../daemon/runtime/disk-error-text.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { isKeyName, signerOf, signerText, verifierText } from '../../sync/transparency-log/signed-note.ts'
import type { ChannelHubConfig } from './channel-config.ts'

export const channel: Command = {
  name: 'hub channel',
  operands: { text: 'new-key NAME | keys', most: 2, offers: [['new-key', 'keys'], []] },
  details: `
  new-key makes a private key with this name, writes it to the file of --out, and prints the public key. The name is that
  of the log: the address of the channel without https://.

  With --witness it makes the key of a witness instead, for skillsyncd hub witness on another machine. Its name is the address
  of the witness without https://.

  keys prints the public keys of the channels: of that of everything, and of that of each pack and of each ring before
  the last. Followers have them as \`key\`.
`,
  examples: [
    'skillsyncd hub channel new-key skills.example.com/channel --out channel.key',
    'skillsyncd hub channel new-key witness.example.com --out witness.key --witness',
    'skillsyncd hub channel keys',
  ],
  options: {
    out: { type: 'string', value: 'FILE', help: 'with new-key: the new file of the private key', offers: 'files' },
    witness: { type: 'boolean', help: 'with new-key: a key that cosigns the logs of others' },
  },
  async run(context: Context<ChannelHubConfig>) {
    const [verb, name] = context.operands
    if (verb === 'new-key' && name !== undefined) return makeKey(context, name)
    const odd = verb === 'keys' ? ['out', 'witness'].find((option) => context.values[option] !== undefined) : undefined
    if (odd !== undefined) throw new UsageError(`--${odd} goes with new-key, not with keys`)
    if (verb === 'keys' && name === undefined) return printKeys(context)
    throw new UsageError('"hub channel" takes new-key NAME or keys; see skillsyncd hub channel --help')
  },
}

async function makeKey(context: Context, name: string): Promise<ExitStatus> {
  const { out, witness } = context.values
  if (typeof out !== 'string') throw new UsageError('new-key needs --out FILE: the private key is printed nowhere')
  if (!isKeyName(name)) throw new UsageError('The name of a key has no spaces and no +')
  const seed = randomBytes(32)
  const isOfWitness = witness === true
  const signer = signerOf(name, seed, isOfWitness ? 'cosignature' : 'note')
  const file = resolve(out)
  await writeFile(file, `${signerText(signer, seed)}\n`, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw new OperatorError(
      'bad-request',
      `Cannot write the private key to "${file}": ${codeOf(error) === 'EEXIST' ? 'it exists already' : whyNotOpened(error)}`,
    )
  })
  const key = verifierText(signer)
  if (context.json) printJson(context, { file, key })
  else printLines(context, [key, '', ...(isOfWitness ? linesOfWitness(file, key) : linesOfLog(name, file, key))])
  return 0
}

function linesOfLog(name: string, file: string, key: string): readonly string[] {
  return [
    `The private key is in ${file}. Name it in the configuration of the hub:`,
    `    channel: { name: ${name}, key: { file: ${file} } }`,
    'and the public key above in those of followers:',
    `    follow: { url: https://…/channel/, key: ${key} }`,
  ]
}

function linesOfWitness(file: string, key: string): readonly string[] {
  return [
    `The private key is in ${file}. Run the witness with it:`,
    `    skillsyncd hub witness --key ${shellWord(file)} --state DIR --log KEY`,
    'and name the public key above in the configuration of the hub, and in those of followers:',
    `    channel: { …, witnesses: [{ url: https://…/, key: ${key} }] }`,
    `    follow: { …, witnesses: [${key}] }`,
  ]
}

async function printKeys(context: Context<ChannelHubConfig>): Promise<ExitStatus> {
  const config = await configFor(context)
  const { channel: log } = config
  if (log === undefined)
    throw new OperatorError(
      'bad-request',
      'The configuration has no `channel`; skillsyncd hub channel new-key makes a key and shows the lines',
    )
  const signers = await channelSigners(log, context)
  const keys = channelNames(config).flatMap((name) =>
    publicKeysOf(log, name, signers).map((key) => Object.assign({ key }, partOf(name))),
  )
  if (context.json) printJson(context, { keys })
  else
    printLines(
      context,
      keys.map(({ key, ...part }) => `${key}  ${partText(part)}`),
    )
  return 0
}
