import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { TrustedSigners } from '../../../src/sync/model/signers.ts'
import { readAllowedSigners } from '../../../src/sync/signatures/allowed-signers.ts'
import { prove } from '../../../src/sync/signatures/verify-signature.ts'
import { SigningWorld } from '../../support/git/signing.ts'
import { describeWith } from '../../support/process/has-program.ts'

describeWith(['ssh-keygen', 'gpg'], 'the law of signatures', async () => {
  const world = await SigningWorld.create()
  afterAll(() => world[Symbol.asyncDispose]())

  const KEYS = [
    await world.sshKey('ed25519'),
    await world.sshKey('ecdsa', 'ecdsa', 521),
    await world.sshKey('rsa', 'rsa', 2048),
  ]
  const LIST = KEYS.map(({ path, line }) => `${path} ${line}\n`).join('')
  const TRUST: TrustedSigners = { require: 'commit', allowedSigners: LIST, keyring: undefined }
  const COMMITS = await Promise.all(KEYS.map((key) => world.commit(key, { message: 'one\n\ntwo' })))
  const TAGS = await Promise.all(COMMITS.map((commit, index) => world.tag(commit, KEYS[index], { name: `v${index}` })))

  test('the objects that the laws are tried on are proved as they are', async () => {
    for (const commit of COMMITS) expect(await prove({ commit }, TRUST)).toMatchObject({ kind: 'proved' })
    for (const [index, tag] of TAGS.entries()) {
      const claimed = { commit: COMMITS[index]!, tag }
      expect(await prove(claimed, { ...TRUST, require: 'both' })).toMatchObject({ kind: 'proved' })
    }
  })

  test('a commit of which any byte is another, its signature included, is never proved', async () => {
    for (const commit of COMMITS) {
      for (let at = 0; at < commit.length; at += 1) {
        const proven = await prove({ commit: flipped(commit, at, 1 << (at % 7)) }, TRUST)
        expect(proven.kind, `byte ${at}`).toBe('refused')
      }
    }
  })

  test('a tag of which any byte is another, its signature included, is never proved', async () => {
    for (const [index, tag] of TAGS.entries()) {
      for (let at = 0; at < tag.length; at += 1) {
        const claimed = { commit: COMMITS[index]!, tag: flipped(tag, at, 1 << (at % 7)) }
        const proven = await prove(claimed, { ...TRUST, require: 'tag' })
        expect(proven.kind, `byte ${at}`).toBe('refused')
      }
    }
  })

  test('a commit of which bytes are set, taken away or added is not proved, but where its signature breaks its lines', async () => {
    const change = fc.record({ at: fc.nat(), length: fc.nat(8), bytes: fc.uint8Array({ maxLength: 8 }) })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...COMMITS), change, async (commit, { at, length, bytes }) => {
        const start = at % commit.length
        const changed = Buffer.concat([commit.subarray(0, start), bytes, commit.subarray(start + length)])
        fc.pre(unbroken(changed) !== unbroken(commit))
        expect(await prove({ commit: changed }, TRUST)).toMatchObject({ kind: 'refused' })
      }),
      { numRuns: 1000 },
    )
  })

  test('whatever stands in a commit, a tag, a list or a keyring, there is an answer and never an exception', async () => {
    const signature = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => armored('SSH', bytes)),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => armored('PGP', bytes)),
      fc
        .uint8Array({ maxLength: 300 })
        .map((bytes) => armored('SSH', [...Buffer.from('SSHSIG\0\0\0\u0001'), ...bytes])),
      fc.string({ unit: 'binary' }),
    )
    const object = fc.oneof(
      signature.map((text) => COMMITS[0]!.toString('latin1').replace(/(?<=gpgsig )[^]*?(?=\n\n)/, () => folded(text))),
      signature.map((text) => TAGS[0]!.toString('latin1').replace(/-----BEGIN[^]*/, () => text)),
      fc.string({ unit: 'binary' }),
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.uint8Array({ maxLength: 100 }).map((bytes) => `a ssh-ed25519 ${Buffer.from(bytes).toString('base64')}`),
      fc
        .uint8Array({ maxLength: 100 })
        .map((bytes) => armored('PGP', bytes).replaceAll('SIGNATURE', 'PUBLIC KEY BLOCK')),
      fc.constant(LIST),
    )
    const require = fc.constantFrom('commit', 'tag', 'both')
    await fc.assert(
      fc.asyncProperty(object, object, text, text, require, async (commit, tag, allowedSigners, keyring, require) => {
        const claimed = { commit: Buffer.from(commit, 'latin1'), tag: Buffer.from(tag, 'latin1') }
        expect(await prove(claimed, { require, allowedSigners, keyring })).toMatchObject({ kind: 'refused' })
      }),
      { numRuns: 500 },
    )
  })

  test('a list of signers is read, or refused with the number of the line', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(...LIST.split(/\s/), 'namespaces="git"', 'cert-authority', ',', '"'),
    )
    const lines = fc.array(fc.array(word).map((words) => words.join(' ')))
    fc.assert(
      fc.property(lines, (lines) => {
        expect(reading(lines.join('\n'))).toMatch(/^read$|^Unproven: .*: line \d+: /)
      }),
      { numRuns: 500 },
    )
  })

  function reading(list: string): string {
    try {
      readAllowedSigners(list)
      return 'read'
    } catch (error) {
      return String(error)
    }
  }

  function flipped(bytes: Buffer, at: number, mask: number): Buffer {
    const copy = Buffer.from(bytes)
    copy.writeUInt8(copy.readUInt8(at) ^ mask, at)
    return copy
  }

  /** How the lines of a signature are broken is nothing that it says. No other line of the commits begins with a blank. */
  function unbroken(commit: Buffer): string {
    return commit.toString('latin1').replaceAll('\n ', '')
  }

  function armored(kind: 'SSH' | 'PGP', bytes: Iterable<number>): string {
    const lines =
      Buffer.from([...bytes])
        .toString('base64')
        .match(/.{1,70}/g) ?? []
    const blank = kind === 'PGP' ? [''] : []
    return [`-----BEGIN ${kind} SIGNATURE-----`, ...blank, ...lines, `-----END ${kind} SIGNATURE-----`, ''].join('\n')
  }

  function folded(text: string): string {
    return text.trimEnd().replaceAll('\n', '\n ')
  }
})
