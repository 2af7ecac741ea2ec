import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { countOf } from '../../base/text/plural.ts'
import { printChecks, verdicts } from '../../daemon/cli/check.ts'
import type { CheckResult } from '../../daemon/cli/check.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { whyNotOpened } from '../../daemon/runtime/disk-error-text.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { readBounded } from '../../daemon/runtime/plain-file.ts'
import { signersTexts } from '../../daemon/runtime/signer-text.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { digestText } from '../../sync/model/digest.ts'
import type { SkillFile } from '../../sync/model/skill.ts'
import type { HubSource } from '../../sync/model/snapshot.ts'
import { strangersIn } from '../../sync/store/checkouts/strangers.ts'
import { cannot } from '../../sync/store/files/disk-error.ts'
import { problemOf } from '../../sync/store/files/verified-file.ts'
import { parseVerifier, verifierText } from '../../sync/transparency-log/signed-note.ts'
import type { NoteVerifier } from '../../sync/transparency-log/signed-note.ts'
import { ProofRefusedError } from '../../sync/transparency-log/tlog-proof.ts'
import { checkServed, MOST_PROOF_BYTES } from './content/served-proof.ts'
import type { ShownChannel, ShownSkill } from './content/served-proof.ts'

/** Checks a proof of what a channel served, without configuration, state and network. */
export async function checkProof(context: Context): Promise<ExitStatus> {
  const keys = keysIn(context.values['key'])
  const [folder, ...others] = context.operands
  if (others.length > 0) throw new UsageError('--proof compares one folder at most')
  const file = resolve(String(context.values['proof']))
  const shown = await shownIn(file, keys)
  if (shown instanceof ProofRefusedError) return refuse(context, file, shown)
  const differences = folder === undefined ? [] : await differencesIn(resolve(folder), onlySkill(shown))
  return print(context, shown, differences)
}

function keysIn(value: unknown): readonly NoteVerifier[] {
  const texts = Array.isArray(value) ? value.map(String) : []
  if (texts.length === 0)
    throw new UsageError('--proof needs --key: the public key of the log, as skillsyncd hub channel keys prints it')
  const keys = texts.flatMap((text) => parseVerifier(text) ?? [])
  if (keys.length !== texts.length)
    throw new UsageError('--key is no public key of a log; skillsyncd hub channel keys prints it')
  if (keys.some(({ name }) => name !== keys[0]?.name)) throw new UsageError('--key: the keys have different names')
  return keys
}

async function shownIn(file: string, keys: readonly NoteVerifier[]): Promise<ShownChannel | ProofRefusedError> {
  try {
    return await checkServed(await readProof(file), keys)
  } catch (error) {
    if (error instanceof ProofRefusedError) return error
    throw error
  }
}

async function readProof(file: string): Promise<string> {
  const bytes = await readBounded(file, MOST_PROOF_BYTES).catch((error: unknown) => {
    throw new OperatorError('bad-request', `Cannot read the proof "${file}": ${whyNotOpened(error)}`)
  })
  if (bytes === undefined) throw new ProofRefusedError('it is not a file')
  if (bytes.length > MOST_PROOF_BYTES) throw new ProofRefusedError(`it has over ${MOST_PROOF_BYTES} bytes`)
  return Buffer.from(bytes).toString('utf8')
}

/** A folder is compared with a skill, and says nothing about others. */
function onlySkill({ skills }: ShownChannel): ShownSkill {
  const [skill, ...others] = skills
  if (skill !== undefined && others.length === 0) return skill
  throw new UsageError(
    `A folder is compared with the proof of one skill; this one shows ${countOf(skills.length, 'skill')}`,
  )
}

function refuse(context: Context, file: string, { message }: ProofRefusedError): ExitStatus {
  return printChecks(context, [verdicts('proof-refused', file).fail(`it proves nothing: ${message}`)])
}

function print(context: Context, shown: ShownChannel, differences: readonly CheckResult[]): ExitStatus {
  const { log, signers, index, size, entry, isWhole: whole, sources, skills } = shown
  const signedBy = signers.map(verifierText)
  return printChecks(context, differences, {
    what: 'proved',
    more: linesOf(shown).map(printableLine),
    about: { log, signedBy, entry: { index, ...entry }, size, whole, sources, skills: skills.map(skillJson) },
  })
}

function skillJson({ digest, files, ...rest }: ShownSkill): object {
  return {
    ...rest,
    digest: digest && digestText(digest),
    files: files.map(({ path, size, sha256, executable }) => ({ path, size, digest: digestText(sha256), executable })),
  }
}

function linesOf({ log, signers, index, size, entry, isWhole, sources, skills }: ShownChannel): string[] {
  return [
    `entry ${index + 1} of ${size} of the log ${log}, of ${entry.at}`,
    ...signers.map((signer) => `  signed by ${verifierText(signer)}`),
    `  head ${entry.head}, ${isWhole ? 'with all of its skills' : `of its skills ${skills.length}`}`,
    ...sources.map(sourceLine),
    ...skills.flatMap(({ source, path, name, standing, digest, files }) => [
      `skill ${path === '' ? source : `${source}/${path}`}: ${name ?? 'no name'}, ${standing}${digest === undefined ? '' : `, digest ${digestText(digest)}`}`,
      ...files.map(
        (file) => `  ${file.sha256}  ${String(file.size).padStart(9)}  ${file.path}${file.executable ? ' *' : ''}`,
      ),
    ]),
  ]
}

function sourceLine({ source, url, ref, commit, signers }: HubSource): string {
  return [`source ${source}: ${url}, ${ref} at ${commit}`, ...signersTexts(signers)].join(', ')
}

/** Compares a folder with the files of a skill. What is in a foreign folder is not read. */
async function differencesIn(folder: string, { files }: ShownSkill): Promise<readonly CheckResult[]> {
  const differences: CheckResult[] = []
  for (const file of files) {
    const place = join(folder, file.path)
    const problem = (await problemOf(place, file)) ?? (await modeProblem(place, file))
    if (problem !== undefined) differences.push(verdicts('folder-differs', file.path).fail(problem))
  }
  const strangers = await strangersIn(folder, { folderName: '', files })
  return [
    ...differences,
    ...strangers.map((path) => verdicts('folder-differs', path).fail('the channel does not have it')),
  ]
}

/** The flag is a part of the digest of a skill. The file is as it was proved, so that it is there. */
async function modeProblem(place: string, { executable }: SkillFile): Promise<string | undefined> {
  const { mode } = await stat(place).catch(cannot(`read "${place}"`))
  const isExecutable = (mode & 0o111) !== 0
  if (isExecutable === executable) return undefined
  return isExecutable ? 'it is executable, and was not' : 'it was executable, and is not'
}
