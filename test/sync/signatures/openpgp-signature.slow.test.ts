import { afterAll, describe, expect, test } from 'vitest'
import { openpgpSignerOf } from '../../../src/sync/signatures/openpgp-signature.ts'
import { claimOfCommit, prove } from '../../../src/sync/signatures/verify-signature.ts'
import { DAY, NOON, SigningWorld, run } from '../../support/git/signing.ts'
import { describeWith } from '../../support/process/has-program.ts'

describeWith(['gpg'], 'signatures of OpenPGP', async () => {
  const world = await SigningWorld.create()
  const gpg = await world.gpg('gnupg')
  afterAll(async () => {
    await gpg[Symbol.asyncDispose]()
    await world[Symbol.asyncDispose]()
  })

  const NOW = new Date((NOON + 10 * DAY) * 1000)
  const ADA = 'Ada Author <ada@example.com>'
  const ada = await gpg.key(ADA)
  const KEYRING = await gpg.exported(ada)
  const commit = await world.commit(await gpg.signing(ada))

  /** Who signed the commit, or why nobody did. */
  async function answer(object: Buffer, keyring: string, now = NOW): Promise<string> {
    const proven = await prove({ commit: object }, { require: 'commit', allowedSigners: undefined, keyring }, now)
    return proven.kind === 'proved' ? (proven.commit?.principal ?? '') : proven.why
  }

  describe('a key of gpg', () => {
    test.each([
      ['ed25519', 'ed25519'],
      ['RSA', 'rsa2048'],
      ['P-256', 'nistp256'],
      ['P-521', 'nistp521'],
    ])('signs a commit and a tag as git takes them: %s', async (name, algorithm) => {
      const user = `Key ${name} <key@example.com>`
      const key = await gpg.key(user, { algorithm })
      const signing = await gpg.signing(key)
      const commit = await world.commit(signing)
      const tag = await world.tag(commit, signing)
      const keyring = await gpg.exported(key)

      const proven = await prove({ commit, tag }, { require: 'both', allowedSigners: undefined, keyring }, NOW)

      const signer = { scheme: 'openpgp', principal: user, fingerprint: key }
      expect(proven).toEqual({ kind: 'proved', commit: signer, tag: signer })
      expect(await world.gitTakes('commit', commit, await gpg.trusting())).toBe(true)
      expect(await world.gitTakes('tag', tag, await gpg.trusting())).toBe(true)
    })

    test('with a subkey that signs counts as the key itself', async () => {
      const user = 'Sub Key <sub@example.com>'
      const key = await gpg.key(user, { usage: 'cert' })
      await gpg.run(NOON - DAY, '--quick-add-key', key, 'ed25519', 'sign', 'never')
      const signed = await world.commit(await gpg.signing(key))

      const signer = await openpgpSignerOf(claimOfCommit(signed), await gpg.exported(key), NOW)

      expect(signer).toEqual({ scheme: 'openpgp', principal: user, fingerprint: key })
    })

    test('is found among several, in one block and in several', async () => {
      const other = await gpg.key('Other <other@example.com>')
      const inOne = await gpg.exported(other, ada)
      const inSeveral = `${await gpg.exported(other)}\n${KEYRING}`

      expect(await answer(commit, inOne)).toBe(ADA)
      expect(await answer(commit, inSeveral)).toBe(ADA)
    })
  })

  describe('refused by name is', () => {
    test('a key that is not in the keyring', async () => {
      const other = await gpg.key('Unknown <unknown@example.com>')

      expect(await answer(commit, await gpg.exported(other))).toBe(
        `the commit is signed by the key ${ada}, which is not in the keyring`,
      )
    })

    test('a key that was taken from the keyring, whatever date its commit bears', async () => {
      const backDated = await world.commit(await gpg.signing(ada), { seconds: NOON - 30 * DAY })

      expect(await answer(backDated, KEYRING)).toBe(ADA)
      expect(await answer(backDated, await gpg.exported(await gpg.key('Left <left@example.com>')))).toContain(
        'which is not in the keyring',
      )
    })

    test('a key that had expired when it signed, as its owner says today', async () => {
      const key = await gpg.key('Expired <expired@example.com>')
      const signed = await world.commit(await gpg.signing(key))
      expect(await answer(signed, await gpg.exported(key))).toContain('Expired')
      // Set back by the owner, to an hour before the signature.
      await gpg.run(NOON - 7200, '--quick-set-expire', key, 'seconds=3600')

      expect(await answer(signed, await gpg.exported(key))).toBe(
        `the commit is signed by the key ${key}, which expired on 2025-06-15T11:00:00Z, before it signed`,
      )
    })

    test('a subkey that had expired when it signed', async () => {
      const key = await gpg.key('Sub Expired <sub-expired@example.com>', { usage: 'cert' })
      await gpg.run(NOON - DAY, '--quick-add-key', key, 'ed25519', 'sign', 'never')
      const signed = await world.commit(await gpg.signing(key))
      await gpg.run(NOON - 7200, '--quick-set-expire', key, 'seconds=3600', '*')

      expect(await answer(signed, await gpg.exported(key))).toContain(
        'expired on 2025-06-15T11:00:00Z, before it signed',
      )
    })

    test.each([0, 1, 2, 3])('a key that is revoked, before or after it signed, for the reason %i', async (reason) => {
      const key = await gpg.key(`Revoked ${reason} <revoked@example.com>`)
      const signed = await world.commit(await gpg.signing(key))
      expect(await answer(signed, await gpg.exported(key))).toContain('Revoked')
      await gpg.revoke(key, reason)

      expect(await answer(signed, await gpg.exported(key))).toBe(
        `the commit is signed by the key ${key}, which may not sign: Primary key is revoked`,
      )
      expect(await world.gitTakes('commit', signed, await gpg.trusting())).toBe(false)
    })

    test('a revoked key of which an earlier copy is still in the keyring', async () => {
      const key = await gpg.key('Copied <copied@example.com>')
      const signed = await world.commit(await gpg.signing(key))
      const before = await gpg.exported(key)
      await gpg.revoke(key)
      const after = await gpg.exported(key)

      expect(await answer(signed, before)).toContain('Copied')
      expect(await answer(signed, before + after)).toContain('Primary key is revoked')
      expect(await answer(signed, after + before)).toContain('Primary key is revoked')
    })

    test('a signature that has expired', async () => {
      const options = ['--default-sig-expire', '2d']
      const signed = await world.commit(await gpg.signing(ada, { options }))

      expect(await answer(signed, KEYRING, new Date((NOON + DAY) * 1000))).toBe(ADA)
      expect(await answer(signed, KEYRING)).toBe(
        'the commit has an OpenPGP signature that expired on 2025-06-17T12:00:00Z',
      )
      expect(await world.gitTakes('commit', signed, await gpg.trusting())).toBe(false)
    })

    test.each(['SHA1', 'RIPEMD160'])('a signature made with %s', async (hash) => {
      const key = await gpg.key(`Weak ${hash} <weak@example.com>`, { algorithm: 'rsa2048' })
      const options = ['--digest-algo', hash, '--allow-weak-digest-algos']
      const signed = await world.commit(await gpg.signing(key, { options }))

      const name = hash === 'SHA1' ? 'SHA1' : 'RIPEMD'
      expect(await answer(signed, await gpg.exported(key))).toBe(
        `the commit has an OpenPGP signature made with the hash ${name}, which is too weak`,
      )
    })

    test('a key that may not sign', async () => {
      const key = await gpg.key('Late <late@example.com>')
      const signed = await world.commit(await gpg.signing(key))
      const program = await gpg.program(NOON + DAY, ['--no-batch', '--command-fd', '0'])
      await run(program, ['--edit-key', key, 'change-usage'], 'S\nQ\nsave\n')

      expect(await answer(signed, await gpg.exported(key))).toContain('which may not sign')
    })

    test('a key that is newer than what it signed', async () => {
      const key = await gpg.key('Young <young@example.com>', { seconds: NOON })
      const signed = await world.commit(
        await gpg.signing(key, { seconds: NOON - 3600, options: ['--ignore-time-conflict'] }),
      )

      expect(await answer(signed, await gpg.exported(key))).toContain('which is newer than its signature')
    })

    test('a key of 1024 bits', async () => {
      const key = await gpg.key('Short <short@example.com>', { algorithm: 'rsa1024' })
      const signed = await world.commit(await gpg.signing(key))

      expect(await answer(signed, await gpg.exported(key))).toContain('RSA keys shorter than 2047 bits')
    })

    test('a signature of other content', async () => {
      const altered = Buffer.from(commit.toString('latin1').replace('a change', 'A change'), 'latin1')

      expect(await answer(altered, KEYRING)).toContain('the commit has an OpenPGP signature that does not hold')
    })

    test('a signature that is cut short, or is none', async () => {
      const { signature } = claimOfCommit(commit)
      const lines = signature.split('\n')
      const odd = [
        lines.toSpliced(3, 1).join('\n'),
        lines.slice(0, 4).join('\n'),
        signature.replaceAll('SIGNATURE', 'MESSAGE'),
        `${signature}trailing`,
        `${signature}${signature}`,
      ]

      const claim = claimOfCommit(commit)
      for (const text of odd) {
        await expect(openpgpSignerOf({ ...claim, signature: text }, KEYRING, NOW)).rejects.toThrow(
          'has an OpenPGP signature that',
        )
      }
    })

    test('a signature of a text, which does not cover how its lines end', async () => {
      const signed = await world.commit(await gpg.signing(ada, { options: ['--textmode'] }))

      expect(await answer(signed, KEYRING)).toContain('it is not one of a document')
    })

    test('two signatures in one', async () => {
      const other = await gpg.key('Second <second@example.com>')
      const signed = await world.commit(await gpg.signing(ada, { options: ['--local-user', other] }))

      expect(await answer(signed, await gpg.exported(ada, other))).toContain('it holds more than one signature')
      expect(await world.gitTakes('commit', signed, await gpg.trusting())).toBe(false)
    })
  })

  test('a key that expired after it signed still proves what it signed then, as with SSH', async () => {
    const key = await gpg.key('Was Valid <was@example.com>', { expiry: 'seconds=172800' })
    const signed = await world.commit(await gpg.signing(key))

    expect(await answer(signed, await gpg.exported(key), new Date((NOON + 300 * DAY) * 1000))).toContain('Was Valid')
  })

  test('a key whose expiry was put off after it signed still proves what it signed then', async () => {
    const key = await gpg.key('Renewed <renewed@example.com>', { expiry: 'seconds=172800' })
    const signed = await world.commit(await gpg.signing(key))
    await gpg.run(NOON + 30 * DAY, '--quick-set-expire', key, '1y')

    expect(await answer(signed, await gpg.exported(key), new Date((NOON + 60 * DAY) * 1000))).toContain('Renewed')
  })

  describe('with a grace of a week', () => {
    const GRACE_MS = 7 * DAY * 1000

    /** The answers within the week after the key expired, and after it. */
    async function answers(object: Buffer, keyring: string, expiry: number): Promise<readonly string[]> {
      const trust = { require: 'commit', allowedSigners: undefined, keyring, graceMs: GRACE_MS } as const
      const at = (seconds: number) =>
        prove({ commit: object }, trust, new Date(expiry * 1000 + GRACE_MS + seconds * 1000))
      const proven = [await at(-1), await at(1)]
      return proven.map((one) => (one.kind === 'late' ? one.why : one.kind))
    }

    test('what a key signed before it expired counts no longer than that', async () => {
      const key = await gpg.key('Ended <ended@example.com>', { expiry: 'seconds=172800' })
      const signed = await world.commit(await gpg.signing(key))

      expect(await answers(signed, await gpg.exported(key), NOON + DAY)).toEqual([
        'proved',
        `the commit is signed by the key ${key}, which expired on 2025-06-16T12:00:00Z`,
      ])
    })

    test('the expiry of the subkey that signed counts as that of its key', async () => {
      const key = await gpg.key('Sub Ended <sub-ended@example.com>', { usage: 'cert' })
      await gpg.run(NOON - DAY, '--quick-add-key', key, 'ed25519', 'sign', 'seconds=172800')
      const signed = await world.commit(await gpg.signing(key))

      const [within, after] = await answers(signed, await gpg.exported(key), NOON + DAY)

      expect([within, after]).toEqual(['proved', expect.stringContaining('which expired on 2025-06-16T12:00:00Z')])
    })

    test('a key whose expiry was put off counts for longer, and one without any for ever', async () => {
      const key = await gpg.key('Put Off <put-off@example.com>', { expiry: 'seconds=172800' })
      const signed = await world.commit(await gpg.signing(key))
      await gpg.run(NOON + 30 * DAY, '--quick-set-expire', key, '1y')

      expect(await answers(signed, await gpg.exported(key), NOON + DAY)).toEqual(['proved', 'proved'])
      expect(await answers(commit, KEYRING, NOON + 3_000 * DAY)).toEqual(['proved', 'proved'])
    })
  })

  test('a signature that a fast clock dated in the future counts', async () => {
    expect(await answer(commit, KEYRING, new Date((NOON - 60) * 1000))).toBe(ADA)
  })

  describe('a keyring', () => {
    test.each([
      ['that is empty', '', 'it is empty'],
      ['of other text', 'hello', 'block 1 of it is not an armored block of public keys'],
      ['with text before its blocks', `hello\n${KEYRING}`, 'block 1 of it is not an armored block'],
      ['with text behind its blocks', `${KEYRING}hello\n`, 'block 1 of it is not an armored block'],
      ['with a block without an end', KEYRING.slice(0, -60), 'block 1 of it is not an armored block'],
      ['with a broken block', KEYRING + KEYRING.replace(/\n\n.{8}/, '\n\nAAAAAAAA'), 'block 2 of it: '],
    ])('%s is refused whole', async (_, keyring, why) => {
      expect(await answer(commit, keyring)).toContain(`because the keyring cannot be read: ${why}`)
    })

    test('with a private key is refused, so that none is left lying there', async () => {
      const secret = (await gpg.run(undefined, '--armor', '--export-secret-keys', ada)).toString()

      expect(await answer(commit, KEYRING + secret)).toContain('it holds a private key')
    })

    test('of 1 MiB is read, and one byte more is refused', async () => {
      const full = KEYRING + '\n'.repeat(2 ** 20 - KEYRING.length)

      expect(await answer(commit, full)).toBe(ADA)
      expect(await answer(commit, `${full}\n`)).toContain('it is over 1048576 bytes')
    })
  })

  test('a commit of which any byte outside of the signature is another is never proved', async () => {
    const from = commit.indexOf('gpgsig ')
    const to = commit.indexOf('\n\n')
    for (let at = 0; at < commit.length; at += 1) {
      if (at >= from && at < to) continue
      expect(await answer(flipped(commit, at), KEYRING), `byte ${at}`).not.toBe(ADA)
    }
  })

  test('a signature of which a byte is another is refused, or says the same: parts of it are not signed', async () => {
    const claim = claimOfCommit(commit)
    const bytes = Buffer.from(claim.signature, 'latin1')
    for (let at = 0; at < bytes.length; at += 1) {
      const signature = flipped(bytes, at).toString('latin1')
      const said = await openpgpSignerOf({ ...claim, signature }, KEYRING, NOW).then(
        ({ fingerprint }) => fingerprint,
        (error: unknown) => (error as Error).name,
      )
      expect([ada, 'Unproven'], `byte ${at}`).toContain(said)
    }
  })

  function flipped(bytes: Buffer, at: number): Buffer {
    const copy = Buffer.from(bytes)
    copy.writeUInt8(copy.readUInt8(at) ^ (1 << (at % 7)), at)
    return copy
  }
})
