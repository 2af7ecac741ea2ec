import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { fingerprintOf, readSshKey } from '../../../src/sync/signatures/ssh-key.ts'
import { sshSignerOf } from '../../../src/sync/signatures/ssh-signature.ts'
import { sshStrings } from '../../../src/sync/signatures/ssh-wire.ts'
import { claimOfCommit } from '../../../src/sync/signatures/verify-signature.ts'
import { DAY, NOON, SigningWorld } from '../../support/git/signing.ts'
import type { Signing, SshKeyFile } from '../../support/git/signing.ts'
import { describeWith } from '../../support/process/has-program.ts'

describeWith(['ssh-keygen'], 'signatures of ssh', async () => {
  const world = await SigningWorld.create()
  afterAll(() => world[Symbol.asyncDispose]())

  const PAYLOAD = Buffer.from('what is signed\n')

  /** Who signed the commit, or why nobody did. */
  function answer(commit: Buffer, list: string): string {
    try {
      return sshSignerOf(claimOfCommit(commit), list).principal
    } catch (error) {
      return (error as Error).message
    }
  }

  describe('a key of ssh-keygen', () => {
    const types = [
      ['ed25519', undefined],
      ['ecdsa', 256],
      ['ecdsa', 384],
      ['ecdsa', 521],
      ['rsa', 2048],
      ['rsa', 3072],
    ] as const

    test.each(types)('signs a commit as git takes it: %s %s', async (type, bits) => {
      const key = await world.sshKey(`key-${type}-${bits}`, type, bits)
      const commit = await world.commit(key)
      const list = `ada@example.com ${key.line}\n`

      const signer = sshSignerOf(claimOfCommit(commit), list)

      expect(signer).toEqual({ scheme: 'ssh', principal: 'ada@example.com', fingerprint: key.fingerprint })
      expect(await world.gitTakes('commit', commit, await world.trusting(list))).toBe(true)
    })

    test('of 1024 bits is refused by name, with the line that has it', async () => {
      const key = await world.sshKey('weak', 'rsa', 1024)
      const commit = await world.commit(key)

      expect(answer(commit, `ada@example.com ${key.line}\n`)).toBe(
        'cannot be checked, because the allowed signers cannot be read: line 1: its RSA key has 1024 bits; 2048 are needed',
      )
    })
  })

  describe('a signature made by hand', async () => {
    const key = await world.sshKey('by-hand')
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const blob = rsaBlob(rsa.publicKey)
    const line = `ada@example.com ssh-rsa ${blob.toString('base64')}\n`

    test('by RSA with SHA-256 and with SHA-512 is good, and with SHA-1 is refused by name', () => {
      const answers = [
        ['rsa-sha2-256', 'sha256'],
        ['rsa-sha2-512', 'sha512'],
        ['ssh-rsa', 'sha1'],
      ].map(([name = '', hash = '']) => {
        const armored = sshsig({ blob, sign: (data) => sshStrings(name, sign(hash, data, rsa.privateKey)) })
        return answerOf(armored, line)
      })

      expect(answers).toEqual([
        'ada@example.com',
        'ada@example.com',
        'has an RSA signature made with SHA-1, which is too weak',
      ])
    })

    test.each([
      ['another namespace', { namespace: 'file' }, 'has a signature for "file", not for "git"'],
      [
        'a namespace with a zero byte',
        { namespace: 'git\0' },
        String.raw`has a signature for "git\u0000", not for "git"`,
      ],
      ['an unknown hash', { hash: 'sha1' }, 'its hash is "sha1", not sha256 or sha512'],
      ['something reserved', { reserved: 'x' }, 'its reserved field is not empty'],
      ['version 2', { version: 2 }, 'its version is 2, not 1'],
      ['version 0', { version: 0 }, 'its version is 0, not 1'],
      ['another magic', { magic: 'SSHSIX' }, 'it does not begin as one'],
      ['bytes after its end', { after: 'x' }, 'bytes follow its end'],
    ])('with %s is refused', (_, change, why) => {
      const armored = sshsig({
        blob,
        sign: (data) => sshStrings('rsa-sha2-512', sign('sha512', data, rsa.privateKey)),
        ...change,
      })

      expect(answerOf(armored, line)).toContain(why)
    })

    test.each([
      ['an algorithm of another key', () => sshStrings('ssh-ed25519', Buffer.alloc(64))],
      ['more bytes than its key', () => sshStrings('rsa-sha2-512', Buffer.alloc(257))],
      ['bytes after the value', (data: Buffer) => Buffer.concat([rsaSigned(data), Buffer.from([0])])],
      ['nothing', () => Buffer.alloc(0)],
    ])('that holds %s is refused as one that cannot be read', (_, sign) => {
      expect(answerOf(sshsig({ blob, sign }), line)).toMatch(/^has an SSH signature that cannot be read: /)
    })

    test('in any armor but the one that git writes is refused', async () => {
      const commit = await world.commit(key)
      const list = `ada@example.com ${key.line}`
      const { payload, signature, seconds } = claimOfCommit(commit)
      const odd = [
        signature.replaceAll('\n', '\r\n'),
        ` ${signature}`,
        `${signature}trailing`,
        signature.replace('\n\n', '\n'),
        signature.replace('-----END SSH SIGNATURE-----', '-----END SSH-----'),
        signature.replace('=', '-'),
      ].filter((armored) => armored !== signature)

      const answers = odd.map((armored) => answerTo(() => sshSignerOf({ payload, signature: armored, seconds }, list)))

      expect(odd.length).toBeGreaterThan(3)
      for (const text of answers) expect(text).toContain('cannot be read')
    })

    function rsaSigned(data: Buffer): Buffer {
      return sshStrings('rsa-sha2-512', sign('sha512', data, rsa.privateKey))
    }
  })

  describe('a security key', () => {
    const ed25519 = generateKeyPairSync('ed25519')
    const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const kinds = [
      ['sk-ssh-ed25519@openssh.com', edBlob(ed25519.publicKey), (data: Buffer) => sign(null, data, ed25519.privateKey)],
      [
        'sk-ecdsa-sha2-nistp256@openssh.com',
        p256Blob(p256.publicKey),
        (data: Buffer) => p256Signed(data, p256.privateKey),
      ],
    ] as const

    describe.each(kinds)('%s', (type, blob, rawSign) => {
      const list = `ada@example.com ${type} ${blob.toString('base64')}\n`
      const touched = (flags: number) =>
        sshsig({ blob, sign: (data) => onSecurityKey(type, data, { flags, counter: 7, application: 'ssh:', rawSign }) })

      test('that was touched signs as the list says', () => {
        expect(answerOf(touched(0x01), list)).toBe('ada@example.com')
        expect(answerOf(touched(0x05), list)).toBe('ada@example.com')
      })

      test('that nobody touched is refused by name', () => {
        expect(answerOf(touched(0x00), list)).toBe('is signed by a security key without a touch')
        expect(answerOf(touched(0x04), list)).toBe('is signed by a security key without a touch')
      })

      test('cannot be told that it was touched afterwards', () => {
        const armored = sshsig({
          blob,
          sign: (data) => {
            const signed = onSecurityKey(type, data, { flags: 0x00, counter: 7, application: 'ssh:', rawSign })
            signed[signed.length - 5] = 0x01
            return signed
          },
        })

        expect(answerOf(armored, list)).toBe('has a signature that does not belong to its content')
      })

      test('that signed for another application is refused', () => {
        const armored = sshsig({
          blob,
          sign: (data) => onSecurityKey(type, data, { flags: 0x01, counter: 7, application: 'https://evil', rawSign }),
        })

        expect(answerOf(armored, list)).toBe('has a signature that does not belong to its content')
      })

      test('is taken by ssh-keygen too', async () => {
        const commit = Buffer.from(
          `tree ${'0'.repeat(40)}\nauthor a <a@b> ${NOON} +0000\ncommitter a <a@b> ${NOON} +0000\n\nx\n`,
        )
        const armored = sshsig({
          blob,
          payload: commit,
          sign: (data) => onSecurityKey(type, data, { flags: 0x01, counter: 7, application: 'ssh:', rawSign }),
        })
        const signed = inCommit(commit, armored)

        expect(answer(signed, list)).toBe('ada@example.com')
        expect(await world.gitTakes('commit', signed, await world.trusting(list))).toBe(true)
      })
    })

    test('that signed in a browser is refused by the name of its algorithm', () => {
      const [, blob] = kinds[1]
      const list = `ada@example.com sk-ecdsa-sha2-nistp256@openssh.com ${blob.toString('base64')}\n`
      const armored = sshsig({ blob, sign: () => sshStrings('webauthn-sk-ecdsa-sha2-nistp256@openssh.com', 'x') })

      expect(answerOf(armored, list)).toContain('its algorithm "webauthn-sk-ecdsa-sha2-nistp256@openssh.com" is none')
    })
  })

  describe('a certificate', async () => {
    const authority = await world.sshKey('authority')
    const rsaAuthority = await world.sshKey('rsa-authority', 'rsa', 2048)
    const stranger = await world.sshKey('stranger')
    const list = `*@example.com cert-authority ${authority.line}\nrsa@example.com cert-authority ${rsaAuthority.line}\n`
    let keys = 0

    async function signedWith(
      options: readonly string[],
      by: SshKeyFile = authority,
      type = 'ed25519',
    ): Promise<Buffer> {
      keys += 1
      const key = await world.sshKey(`certified-${keys}`, type)
      return world.commit(await world.certified(key, by, ...options))
    }

    const user = ['-n', 'ada@example.com']
    const rows: readonly (readonly [string, readonly string[], SshKeyFile | undefined, string])[] = [
      ['of an authority of the list', user, undefined, 'ada@example.com'],
      ['with several principals', ['-n', 'ada@elsewhere.org,bob@example.com'], undefined, 'bob@example.com'],
      ['of an RSA authority', ['-n', 'rsa@example.com'], rsaAuthority, 'rsa@example.com'],
      ['of a stranger', user, stranger, 'which is not among the allowed signers'],
      [
        'for a principal that the list does not give the authority',
        ['-n', 'ada@elsewhere.org'],
        undefined,
        'names no principal',
      ],
      ['without principals', [], undefined, 'is signed with a certificate that names no principal'],
      ['of a host', [...user, '-h'], undefined, 'is signed with the certificate of a host'],
      [
        'that has expired',
        [...user, '-V', '20250101:20250614'],
        undefined,
        'is dated outside of the time of its certificate',
      ],
      ['that is not yet valid', [...user, '-V', '20250616:20260101'], undefined, 'is dated outside of the time of its'],
      ['that is valid', [...user, '-V', '20250614:20250616'], undefined, 'ada@example.com'],
      [
        'with a critical option',
        [...user, '-O', 'force-command=ls'],
        undefined,
        'has the critical option "force-command"',
      ],
    ]

    test.each(rows)('%s gets the answer that is due', async (_, options, by, expected) => {
      const commit = await signedWith(options, by)

      const given = answer(commit, list)

      expect(given).toContain(expected)
      // What git refuses is never taken; it takes critical options, which we do not.
      const byGit = await world.gitTakes('commit', commit, await world.trusting(list))
      expect(byGit).toBe(given.includes('critical option') || /^\S+@\S+$/.test(given))
    })

    test.each(['ecdsa', 'rsa'])('of a key of the type %s is good too', async (type) => {
      expect(answer(await signedWith(user, authority, type), list)).toBe('ada@example.com')
    })

    test('does not make its key good by itself, nor the authority a signer', async () => {
      const key = await world.sshKey('both')
      const withCertificate = await world.commit(await world.certified(key, stranger, ...user))
      const byAuthority = await world.commit(authority)

      expect(answer(withCertificate, `ada@example.com ${key.line}\n`)).toContain('not among the allowed signers')
      expect(answer(byAuthority, list)).toContain('not among the allowed signers')
    })

    test('of which one byte is another is refused', async () => {
      const commit = await signedWith(user)
      const { payload, signature, seconds } = claimOfCommit(commit)
      const bytes = Buffer.from(signature.replaceAll(/-----.*-----|\n/g, ''), 'base64')

      for (let at = 0; at < bytes.length; at += 1) {
        const flipped = Buffer.from(bytes)
        flipped.writeUInt8(flipped.readUInt8(at) ^ 0x01, at)
        const given = answerTo(() => sshSignerOf({ payload, signature: armor(flipped), seconds }, list))
        expect(given, `byte ${at}`).not.toMatch(/^\S+@\S+$/)
      }
    })

    test('can waive the touch of a security key, and nothing else can', () => {
      const ca = generateKeyPairSync('ed25519')
      const { publicKey, privateKey } = generateKeyPairSync('ed25519')
      const caBlob = sshStrings('ssh-ed25519', raw(ca.publicKey))
      const untouched = (extensions: Buffer) => {
        const blob = skCertificate(publicKey, extensions, ca)
        const rawSign = (data: Buffer) => sign(null, data, privateKey)
        const state = { flags: 0, counter: 1, application: 'ssh:', rawSign }
        return sshsig({ blob, sign: (data) => onSecurityKey('sk-ssh-ed25519@openssh.com', data, state) })
      }
      const list = `ada@example.com cert-authority ssh-ed25519 ${caBlob.toString('base64')}\n`

      expect(answerOf(untouched(sshStrings('no-touch-required', '')), list)).toBe('ada@example.com')
      expect(answerOf(untouched(Buffer.alloc(0)), list)).toBe('is signed by a security key without a touch')
    })
  })

  test('the date of the commit decides in which time of a key it was made, by whatever the list says of the key', async () => {
    const key = await world.sshKey('twice')
    const list = `old@example.com valid-before="20250101Z" ${key.line}\nnew@example.com valid-after="20250601Z" ${key.line}\n`
    const at = (seconds: number, signing: Signing = key) => world.commit(signing, { seconds })

    expect(answer(await at(NOON - 300 * DAY), list)).toBe('old@example.com')
    expect(answer(await at(NOON), list)).toBe('new@example.com')
    expect(answer(await at(NOON - 60 * DAY), list)).toContain('after it had expired (2025-01-01T00:00:00Z)')
  })

  test('the fingerprint is the one that ssh-keygen prints', async () => {
    const key = await world.sshKey('printed', 'ecdsa', 384)
    const [, encoded = ''] = key.line.split(' ')

    expect(fingerprintOf(readSshKey(Buffer.from(encoded, 'base64')))).toBe(key.fingerprint)
  })

  interface ByHand {
    readonly blob: Buffer
    readonly sign: (data: Buffer) => Buffer
    readonly payload?: Buffer
    readonly magic?: string
    readonly version?: number
    readonly namespace?: string
    readonly reserved?: string
    readonly hash?: string
    readonly after?: string
  }

  /** A signature as PROTOCOL.sshsig has it, or not quite. */
  function sshsig({ blob, sign, payload = PAYLOAD, ...odd }: ByHand): string {
    const { magic = 'SSHSIG', version = 1, namespace = 'git', reserved = '', hash = 'sha512', after = '' } = odd
    const digest = createHash(hash).update(payload).digest()
    const signed = Buffer.concat([Buffer.from('SSHSIG'), sshStrings(namespace, reserved, hash, digest)])
    const number = Buffer.alloc(4)
    number.writeUInt32BE(version)
    const fields = sshStrings(blob, namespace, reserved, hash, sign(signed))
    return armor(Buffer.concat([Buffer.from(magic), number, fields, Buffer.from(after)]))
  }

  function armor(bytes: Buffer): string {
    const lines = bytes.toString('base64').match(/.{1,70}/g) ?? []
    return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n')
  }

  function inCommit(commit: Buffer, armored: string): Buffer {
    const header = `gpgsig ${armored.trimEnd().replaceAll('\n', '\n ')}\n`
    return Buffer.from(commit.toString('latin1').replace('\n\n', `\n${header}\n`), 'latin1')
  }

  function answerOf(signature: string, list: string): string {
    return answerTo(() => sshSignerOf({ payload: PAYLOAD, signature, seconds: NOON }, list))
  }

  function answerTo(signer: () => { readonly principal: string }): string {
    try {
      return signer().principal
    } catch (error) {
      return (error as Error).message
    }
  }

  interface SecurityKeyState {
    readonly flags: number
    readonly counter: number
    readonly application: string
    readonly rawSign: (data: Buffer) => Buffer
  }

  /** What a security key gives back: PROTOCOL.u2f. */
  function onSecurityKey(
    type: string,
    data: Buffer,
    { flags, counter, application, rawSign }: SecurityKeyState,
  ): Buffer {
    const state = Buffer.alloc(5)
    state.writeUInt8(flags)
    state.writeUInt32BE(counter, 1)
    const hash = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest()
    const value = rawSign(Buffer.concat([hash(application), state, hash(data)]))
    return Buffer.concat([sshStrings(type, value), state])
  }

  function raw(key: KeyObject): Buffer {
    return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
  }

  function edBlob(key: KeyObject): Buffer {
    return sshStrings('sk-ssh-ed25519@openssh.com', raw(key), 'ssh:')
  }

  function p256Blob(key: KeyObject): Buffer {
    const { x = '', y = '' } = key.export({ format: 'jwk' })
    const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
    return sshStrings('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', point, 'ssh:')
  }

  function p256Signed(data: Buffer, key: KeyObject): Buffer {
    const value = sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
    return sshStrings(number(value.subarray(0, 32)), number(value.subarray(32)))
  }

  function rsaBlob(key: KeyObject): Buffer {
    const { n = '', e = '' } = key.export({ format: 'jwk' })
    return sshStrings('ssh-rsa', number(Buffer.from(e, 'base64url')), number(Buffer.from(n, 'base64url')))
  }

  /** As SSH writes a positive number. */
  function number(magnitude: Buffer): Buffer {
    let at = 0
    while (magnitude[at] === 0) at += 1
    const bytes = magnitude.subarray(at)
    return bytes[0]! >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes
  }

  function skCertificate(
    key: KeyObject,
    extensions: Buffer,
    ca: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  ): Buffer {
    const times = Buffer.alloc(16)
    times.writeBigUInt64BE(2n ** 64n - 1n, 8)
    const serialAndKind = Buffer.alloc(12)
    serialAndKind.writeUInt32BE(1, 8)
    const signed = Buffer.concat([
      sshStrings('sk-ssh-ed25519-cert-v01@openssh.com', 'nonce', raw(key), 'ssh:'),
      serialAndKind,
      sshStrings('id', sshStrings('ada@example.com')),
      times,
      sshStrings('', extensions, '', sshStrings('ssh-ed25519', raw(ca.publicKey))),
    ])
    return Buffer.concat([signed, sshStrings(sshStrings('ssh-ed25519', sign(null, signed, ca.privateKey)))])
  }
})
