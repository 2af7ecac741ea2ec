import { createHmac } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { webhookProofOf } from '../../../src/serve/http/webhook-proof.ts'
import type { Provider } from '../../../src/serve/http/webhook-proof.ts'

/** What the documentation of the providers gives as examples; for Gitea and Forgejo, which give none, RFC 4231, test case 2. */
const GITHUB = {
  secret: "It's a Secret to Everybody",
  body: 'Hello, World!',
  digest: '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
}
const RFC_4231 = {
  secret: 'Jefe',
  body: 'what do ya want for nothing?',
  digest: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
}
const STANDARD = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
}
const SIGNED_AT = new Date(1_614_265_330_000)

interface Signed {
  readonly provider: Provider
  readonly secret: string
  readonly body: string
  readonly headers: Readonly<Record<string, string | undefined>>
}

const GENUINE: readonly Signed[] = [
  { ...GITHUB, provider: 'github', headers: { 'x-hub-signature-256': `sha256=${GITHUB.digest}` } },
  { ...RFC_4231, provider: 'gitea', headers: { 'x-gitea-signature': RFC_4231.digest } },
  { ...RFC_4231, provider: 'forgejo', headers: { 'x-forgejo-signature': RFC_4231.digest } },
  { ...RFC_4231, provider: 'forgejo', headers: { 'x-gitea-signature': RFC_4231.digest } },
  { ...GITHUB, provider: 'generic', headers: { 'x-skillsyncd-signature': `sha256=${GITHUB.digest}` } },
  { ...GITHUB, provider: 'generic', headers: { 'x-hub-signature': `sha256=${GITHUB.digest}` } },
  { ...GITHUB, provider: 'generic', headers: { 'x-gogs-signature': GITHUB.digest } },
  { ...GITHUB, provider: 'generic', headers: { 'x-skillsyncd-signature': `SHA256=${GITHUB.digest.toUpperCase()}` } },
  { ...GITHUB, provider: 'github', headers: { 'x-hub-signature-256': `sha256=${GITHUB.digest.toUpperCase()}` } },
  { ...RFC_4231, provider: 'gitea', headers: { 'x-gitea-signature': RFC_4231.digest.toUpperCase() } },
  { ...STANDARD, provider: 'gitlab' },
  { provider: 'gitlab', secret: 'plain', body: '{}', headers: { 'x-gitlab-token': 'plain', 'idempotency-key': 'a' } },
]

test.each(GENUINE)('what the documentation of $provider gives as an example is genuine: $headers', (signed) => {
  expect(deliveryOf(signed)).toMatch(/^[\w-]+$/)
})

test.each(GENUINE)('a body that comes in any pieces is the same to $provider', (signed) => {
  const body = Buffer.from(signed.body)

  const whole = deliveryOf(signed)

  fc.assert(
    fc.property(fc.array(fc.nat(body.length)), (cuts) => {
      const ends = [...cuts, body.length].toSorted((a, b) => a - b)
      const pieces = ends.map((end, index) => body.subarray(ends[index - 1] ?? 0, end))
      expect(deliveryOf(signed, pieces)).toBe(whole)
    }),
  )
})

test.each(GENUINE.filter(({ headers }) => headers['x-gitlab-token'] === undefined))(
  'a body of which one bit is another is not genuine to $provider',
  (signed) => {
    const body = Buffer.from(signed.body)

    for (let bit = 0; bit < body.length * 8; bit += 1) {
      const changed = Buffer.from(body)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(deliveryOf(signed, [changed])).toBeUndefined()
    }
  },
)

test.each(GENUINE)('another secret, a header that is missing, cut or longer is not genuine to $provider', (signed) => {
  const [name, value] = Object.entries(signed.headers).find(([name]) => /signature|token/.test(name))!
  const given = [undefined, '', ' ', value!.slice(0, -1), `${value}0`, `${value},${value}`, value!.slice(7)]

  for (const text of given) {
    expect(deliveryOf({ ...signed, headers: { ...signed.headers, [name]: text } }), text).toBeUndefined()
  }
  expect(deliveryOf({ ...signed, secret: `${signed.secret}BBBB` })).toBeUndefined()
})

test('what one provider signs is not genuine to another', () => {
  const providers = ['github', 'gitlab', 'gitea', 'generic'] as const

  for (const signed of GENUINE) {
    for (const provider of providers.filter((other) => other !== signed.provider && signed.provider !== 'forgejo')) {
      expect(deliveryOf({ ...signed, provider }), `${signed.provider} as ${provider}`).toBeUndefined()
    }
  }
})

test('what GitHub signs with SHA-1 proves nothing, alone or under the name of the other', () => {
  const digest = createHmac('sha1', GITHUB.secret).update(GITHUB.body).digest('hex')
  const signed = { provider: 'github', secret: GITHUB.secret, body: GITHUB.body } as const

  for (const name of ['x-hub-signature', 'x-hub-signature-256'])
    for (const hash of ['sha1', 'sha256'])
      expect(
        deliveryOf({ ...signed, headers: { [name]: `${hash}=${digest}`, 'x-github-delivery': 'a' } }),
      ).toBeUndefined()
})

test('a good signature of the older name does not help a bad one of the newer', () => {
  const headers = { 'x-forgejo-signature': '0'.repeat(64), 'x-gitea-signature': RFC_4231.digest }

  expect(deliveryOf({ ...RFC_4231, provider: 'forgejo', headers })).toBeUndefined()
})

test('a signing token is never taken as a plain one', () => {
  const headers = { 'x-gitlab-token': STANDARD.secret }

  expect(deliveryOf({ ...STANDARD, provider: 'gitlab', headers })).toBeUndefined()
})

test('one of several signatures is enough while a signing token is replaced', () => {
  const { 'webhook-signature': signature, ...rest } = STANDARD.headers
  const headers = { ...rest, 'webhook-signature': `v1,AAAA v1a,${signature.slice(3)} ${signature}` }

  expect(deliveryOf({ ...STANDARD, provider: 'gitlab', headers })).toBe(STANDARD.headers['webhook-id'])
})

test.each([
  [-301, undefined],
  [-300, STANDARD.headers['webhook-id']],
  [300, STANDARD.headers['webhook-id']],
  [301, undefined],
])('a signed time %d s from now gives %s', (seconds, delivery) => {
  const now = new Date(SIGNED_AT.getTime() - seconds * 1000)

  expect(deliveryOf({ ...STANDARD, provider: 'gitlab' }, undefined, now)).toBe(delivery)
})

test.each([
  ['a dot in its id', 'a.1', '1614265330', STANDARD.secret],
  ['no id', '', '1614265330', STANDARD.secret],
  ['an id of a kibibyte', 'a'.repeat(1024), '1614265330', STANDARD.secret],
  ['a time that is no number', 'a', 'NaN', STANDARD.secret],
  ['a time in another notation', 'a', '1.61426533e9', STANDARD.secret],
  ['a key of no bytes', 'a', '1614265330', 'whsec_'],
  ['a key that is no base64', 'a', '1614265330', 'whsec_!!!!'],
])('a message that is signed, with %s, is not genuine', (_, id, timestamp, secret) => {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.{}`).digest('base64')
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }

  expect(deliveryOf({ provider: 'gitlab', secret, body: '{}', headers })).toBeUndefined()
})

test('deliveries are told apart by what is signed, and not by the headers beside it', () => {
  const signed = { ...GENUINE[0]!, headers: { ...GENUINE[0]!.headers, 'x-github-delivery': 'one' } }
  const again = { ...signed, headers: { ...signed.headers, 'x-github-delivery': 'two' } }

  expect(deliveryOf(again)).toBe(deliveryOf(signed))
})

test('deliveries with a plain token are told apart by their id and their body', () => {
  const plain = (id: string, body: string) =>
    deliveryOf({ provider: 'gitlab', secret: 's', body, headers: { 'x-gitlab-token': 's', 'x-gitlab-event-uuid': id } })

  expect(plain('a', '{}')).toBe(plain('a', '{}'))
  expect(new Set([plain('a', '{}'), plain('b', '{}'), plain('a', '[]')]).size).toBe(3)
})

function deliveryOf(signed: Signed, pieces?: readonly Uint8Array[], now = SIGNED_AT): string | undefined {
  const proof = webhookProofOf(signed.provider, signed.secret, signed.headers, now)
  for (const piece of pieces ?? [Buffer.from(signed.body)]) proof.take(piece)
  return proof.delivery()
}

test.each([
  ['Basic ' + Buffer.from('hook:pass:word').toString('base64'), true],
  ['basic ' + Buffer.from('hook:pass:word').toString('base64'), true],
  ['Basic ' + Buffer.from('hook:pass').toString('base64'), false],
  ['Basic ' + Buffer.from('basic:hook:pass:word').toString('base64'), false],
  ['Bearer basic:hook:pass:word', false],
  [undefined, false],
])('of a secret that is credentials, the authorization %s is a proof: %s', (authorization, isProof) => {
  const signed = {
    provider: 'generic',
    secret: 'basic:hook:pass:word',
    body: '{}',
    headers: { authorization },
  } as const

  expect(deliveryOf(signed) !== undefined).toBe(isProof)
})

test.each([
  ['a digest of another kind', { 'x-hub-signature': `sha1=${GITHUB.digest.slice(0, 40)}` }, GITHUB.secret],
  [
    'credentials where the secret signs',
    { authorization: `Basic ${Buffer.from(GITHUB.secret).toString('base64')}` },
    GITHUB.secret,
  ],
  [
    'a signature where the secret is credentials',
    { 'x-hub-signature': `sha256=${GITHUB.digest}` },
    `basic:${GITHUB.secret}`,
  ],
  ['empty credentials', { authorization: 'Basic ' }, 'basic:'],
])('%s are no proof to generic', (_, headers, secret) => {
  expect(deliveryOf({ provider: 'generic', secret, body: GITHUB.body, headers })).toBeUndefined()
})
