import { generateKeyPairSync, randomInt, sign, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'

/** A key and its certificate, both PEM. */
export interface Identity {
  readonly key: string
  readonly cert: string
}

/** An authority of a test, and whom it vouches for. Nothing of this machine trusts it. */
export class Authority {
  readonly cert: string
  readonly #name: string
  readonly #key: KeyObject

  constructor(name = 'Authority of the tests') {
    const { publicKey, privateKey } = newKey()
    this.#name = name
    this.#key = privateKey
    const critical = sequence(oid('2.5.29.19'), boolean(true), octets(sequence(boolean(true))))
    this.cert = this.#certificate({ subject: name, publicKey, extensions: [critical], ...AROUND_NOW })
  }

  /** Vouches for a server of these names and addresses. */
  vouchFor(names: readonly string[], valid: Validity = AROUND_NOW): Identity {
    const { publicKey, privateKey } = newKey()
    const alternatives = names.map((name) => (isIP(name) === 4 ? der(0x87, address(name)) : der(0x82, ascii(name))))
    const extensions = [sequence(oid('2.5.29.17'), octets(sequence(...alternatives)))]
    const cert = this.#certificate({ subject: names[0] ?? '', publicKey, extensions, ...valid })
    return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert }
  }

  #certificate({ subject, publicKey, extensions, from, until }: Subject & Validity): string {
    const body = sequence(
      der(0xa0, integer(2)),
      integer(randomInt(1, 2 ** 31)),
      ECDSA_WITH_SHA256,
      nameOf(this.#name),
      sequence(time(from), time(until)),
      nameOf(subject),
      publicKey.export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(...extensions)),
    )
    const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, this.#key)]))
    return pem(sequence(body, ECDSA_WITH_SHA256, signature))
  }
}

interface Subject {
  readonly subject: string
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
}

interface Validity {
  readonly from: Date
  readonly until: Date
}

const DAY = 86_400_000
const AROUND_NOW: Validity = { from: new Date(Date.now() - DAY), until: new Date(Date.now() + DAY) }

/** Over since yesterday. */
export const EXPIRED: Validity = { from: new Date(Date.now() - 2 * DAY), until: new Date(Date.now() - DAY) }

function newKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

// As much of DER (X.690) as a certificate (RFC 5280) needs.

function der(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content)]), content])
}

/** In as few bytes as it takes: browsers refuse any other form. */
function lengthOf({ length }: Buffer): readonly number[] {
  if (length < 0x80) return [length]
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function integer(value: number): Buffer {
  const hex = value.toString(16)
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return der(0x02, bytes[0]! < 128 ? bytes : Buffer.concat([Buffer.from([0]), bytes]))
}

function boolean(value: boolean): Buffer {
  return der(0x01, Buffer.from([value ? 0xff : 0]))
}

function octets(content: Buffer): Buffer {
  return der(0x04, content)
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const low = [value & 0x7f]
  for (let left = value >> 7; left > 0; left >>= 7) low.unshift((left & 0x7f) | 0x80)
  return low
}

function nameOf(common: string): Buffer {
  return sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(common)))))
}

function time(date: Date): Buffer {
  return der(0x18, ascii(date.toISOString().replace(/\.\d+|[-:T]/g, '')))
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'ascii')
}

function address(ip: string): Buffer {
  return Buffer.from(ip.split('.').map(Number))
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'))
