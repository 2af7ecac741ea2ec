import { createHash } from 'node:crypto'
import { canonicalJson } from '../../src/base/canonical-json.ts'
import { checkServed } from '../../src/features/channel/content/served-proof.ts'
import { digestOf } from '../../src/sync/model/digest.ts'
import { encodeEntry } from '../../src/sync/store/channel-entry.ts'
import { signCheckpoint } from '../../src/sync/transparency-log/checkpoint.ts'
import { leafHash, nodeHash } from '../../src/sync/transparency-log/merkle-tree.ts'
import { signerOf } from '../../src/sync/transparency-log/signed-note.ts'
import { encodeProof, openProof, parseProof, ProofRefusedError } from '../../src/sync/transparency-log/tlog-proof.ts'
import { expect, refuse } from './target.ts'
import type { Target } from './target.ts'

const SIGNER = signerOf('log.example/one', Buffer.alloc(32, 1))

const FILES = [{ path: 'SKILL.md', executable: false, blob: '1'.repeat(40), size: 5, sha256: sha256('files') }]
const SKILL = { path: 'review', standing: 'served', files: FILES, size: 5, digest: digestOf(FILES), findings: [] }
const LIST = canonicalJson([SKILL])
const SOURCE = canonicalJson({
  source: 'team',
  url: 'https://git.example.com/team.git',
  ref: 'refs/heads/main',
  commit: '2'.repeat(40),
  findings: [],
  skills: { items: [sha256(LIST)] },
})
const HEAD = canonicalJson({ format: 1, sources: { items: [sha256(SOURCE)] } })
const ENTRY = encodeEntry({ at: '2026-06-15T12:00:00.000Z', head: sha256(HEAD) })

/** The entry between two others. */
const [BEFORE, AFTER] = [leafHash(Buffer.from('before')), leafHash(Buffer.from('after'))]
const ROOT = nodeHash(nodeHash(BEFORE, leafHash(ENTRY)), AFTER)
const LOG_PROOF = encodeProof({
  index: 1,
  hashes: [BEFORE, AFTER],
  checkpoint: signCheckpoint({ origin: SIGNER.name, size: 3, root: ROOT }, [SIGNER]),
  extra: ENTRY,
})
const CONTENT = { format: 'skillsyncd-proof@v1', proof: LOG_PROOF, objects: [HEAD, SOURCE, LIST] }
const NAMED = { ...CONTENT, skills: [{ source: 'team', path: 'review' }] }

/** Readers of proofs: whatever bytes they accept show what was signed, and nothing else. */
export const PROOFS = {
  'log-proof': async (bytes) =>
    orRefuse(async () => {
      const proof = parseProof(bytes.toString('utf8'))
      const { size } = openProof(proof, proof.extra ?? ENTRY, SIGNER.name, [SIGNER])
      expect(size === 3 && proof.index === 1, 'an entry is proved at another place')
      expect(ENTRY.equals(proof.extra ?? ENTRY), 'another entry is proved')
    }),
  'served-proof': async (bytes) =>
    orRefuse(async () => {
      const { index, entry, skills } = await checkServed(bytes.toString('utf8'), [SIGNER])
      expect(index === 1 && entry.head === sha256(HEAD), 'another entry is proved')
      expect(canonicalJson(skills) === SHOWN, 'another skill is shown')
    }),
} as const satisfies Readonly<Record<string, Target>>

const SHOWN = canonicalJson([
  { source: 'team', path: 'review', standing: 'served', digest: SKILL.digest, files: FILES },
])

export const PROOF_SEEDS: Readonly<Record<keyof typeof PROOFS, readonly string[]>> = {
  'log-proof': [LOG_PROOF],
  'served-proof': [canonicalJson(CONTENT), canonicalJson(NAMED)],
}

async function orRefuse(read: () => Promise<void>): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (error instanceof ProofRefusedError) refuse(error.message)
    throw error
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
