import type { Proven, TrustedSigners } from '../../src/sync/model/signers.ts'
import { readAllowedSigners } from '../../src/sync/signatures/allowed-signers.ts'
import { sshSignerOf } from '../../src/sync/signatures/ssh-signature.ts'
import { claimOfCommit, claimOfTag, prove } from '../../src/sync/signatures/verify-signature.ts'
import { OPENPGP_COMMIT, OPENPGP_FINGERPRINT, OPENPGP_KEY, SSH_COMMIT, SSH_KEY, SSH_TAG } from './signed.ts'
import { expect, refuse } from './target.ts'
import type { Target } from './target.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const SIGNERS = `ada@example.com ${SSH_KEY}\n`
const TRUST: TrustedSigners = { require: 'commit', allowedSigners: SIGNERS, keyring: OPENPGP_KEY }
const [SSH_CLAIM, OPENPGP_CLAIM] = [claimOfCommit(SSH_COMMIT), claimOfCommit(OPENPGP_COMMIT)]
const TAG_CLAIM = claimOfTag(SSH_TAG, SSH_COMMIT)

/** Readers of signatures, of what is signed and of whose signatures count. */
export const SIGNATURES = {
  'signed-commit': async (bytes) => {
    proved(await prove({ commit: bytes }, TRUST, NOW))
    const { payload, signature } = claimOfCommit(bytes)
    expect(payload.equals(SSH_CLAIM.payload), 'a commit is proved that was not signed')
    // Of an OpenPGP signature a part is signed by nothing.
    const isSound = signature.includes('PGP') || unbroken(signature) === unbroken(SSH_CLAIM.signature)
    expect(isSound, 'another signature proves it')
  },
  'signed-tag': async (bytes) => {
    proved(await prove({ commit: SSH_COMMIT, tag: bytes, ref: 'refs/tags/v1' }, { ...TRUST, require: 'both' }, NOW))
    const { payload, signature } = claimOfTag(bytes, SSH_COMMIT)
    expect(payload.equals(TAG_CLAIM.payload), 'a tag is proved that was not signed')
    expect(unbroken(signature) === unbroken(TAG_CLAIM.signature), 'another signature proves it')
  },
  // Without its armor, of which nearly every change is refused for itself.
  'ssh-signature': async (bytes) => {
    sshSignerOf({ ...SSH_CLAIM, signature: armored('SSH', bytes) }, SIGNERS)
    expect(bytes.equals(bytesOf(SSH_CLAIM.signature)), 'another signature proves it')
  },
  'openpgp-signature': async (bytes) => {
    const signature = armored('PGP', bytes).replace('\n', '\n\n')
    const commit = OPENPGP_COMMIT.toString('latin1').replace(/(?<=gpgsig )[^]*?(?=\n\n)/, folded(signature))
    const proven = proved(await prove({ commit: Buffer.from(commit, 'latin1') }, TRUST, NOW))
    expect(proven.commit?.fingerprint === OPENPGP_FINGERPRINT, 'another key proves it')
  },
  'allowed-signers': async (bytes) => {
    const allowedSigners = bytes.toString('utf8')
    const signers = readAllowedSigners(allowedSigners)
    const { kind } = await prove({ commit: SSH_COMMIT }, { ...TRUST, allowedSigners }, NOW)
    const isKnown = signers.some(({ key }) => SSH_KEY.endsWith(key.blob.toString('base64')))
    expect(kind === 'refused' || isKnown, 'a signer counts that is not listed')
  },
  keyring: async (bytes) => {
    const proven = proved(await prove({ commit: OPENPGP_COMMIT }, { ...TRUST, keyring: bytes.toString('utf8') }, NOW))
    expect(proven.commit?.fingerprint === OPENPGP_FINGERPRINT, 'another key proves it')
  },
} as const satisfies Readonly<Record<string, Target>>

function proved(proven: Proven): Extract<Proven, { readonly kind: 'proved' }> {
  return proven.kind === 'proved' ? proven : refuse(proven.why)
}

function unbroken(signature: string): string {
  return signature.replaceAll('\n', '')
}

function armored(kind: 'SSH' | 'PGP', bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,70}/g) ?? []
  return `-----BEGIN ${kind} SIGNATURE-----\n${lines.join('\n')}\n-----END ${kind} SIGNATURE-----`
}

function folded(text: string): string {
  return text.replaceAll('\n', '\n ')
}

/** The bytes within an armor; its sum, where there is one, is none of them. */
function bytesOf(armor: string): Buffer {
  const lines = armor.split('\n').filter((line) => /^[^-=]/.test(line))
  return Buffer.from(lines.join(''), 'base64')
}

const OPTIONS = 'namespaces="git,file",valid-after="20200101",valid-before="20300101120000Z"'

/** What real programs signed, and who may. */
export const SIGNATURE_SEEDS: Readonly<Record<keyof typeof SIGNATURES, readonly (Buffer | string)[]>> = {
  'signed-commit': [SSH_COMMIT, OPENPGP_COMMIT],
  'signed-tag': [SSH_TAG],
  'ssh-signature': [bytesOf(SSH_CLAIM.signature)],
  'openpgp-signature': [bytesOf(OPENPGP_CLAIM.signature)],
  'allowed-signers': [
    SIGNERS,
    `# list\n"ada@example.com,*@example.org" ${OPTIONS} ${SSH_KEY} a comment\n`,
    `*@example.com,!eve@example.com cert-authority ${SSH_KEY}\r\n\n${SIGNERS}`,
  ],
  keyring: [OPENPGP_KEY],
}
