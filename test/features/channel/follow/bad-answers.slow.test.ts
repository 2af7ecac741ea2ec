import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { objectPath } from '../../../../src/features/channel/content/channel-entry.ts'
import { packObjects } from '../../../../src/features/channel/content/packed-objects.ts'
import { HttpPlace } from '../../../../src/features/channel/follow/http-place.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { never } from '../../../sync/store/samples.ts'
import { portOf } from '../../../sync/upstream/front.ts'
import { Follower } from './follower.ts'
import { CraftedChannel, skillNamed, startFileServer } from './site.ts'
import type { Meddle } from './site.ts'
import { World } from './world.ts'

const PARTS = ['checkpoint', 'tile/entries/000.p/2', 'object/'] as const

const FAULTS: Readonly<Record<string, { readonly code: RegExp; readonly answer: (response: ServerResponse) => void }>> =
  {
    'a web page with 200': {
      code: /^protocol-not-spoken$/,
      answer: (response) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Please sign in</html>'),
    },
    'a web page that says it is bytes': {
      code: /^(log-unsigned|content-refused)$/,
      answer: (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/octet-stream' })
          .end('<!DOCTYPE html><html>Please sign in</html>'),
    },
    'a cut connection': {
      code: /^source-unreachable$/,
      answer: (response) => {
        response.writeHead(200, { 'content-length': 500 }).write('half')
        response.socket?.end()
      },
    },
    'an endless answer': {
      code: /^limit-exceeded$/,
      answer: (response) => {
        response.writeHead(200, { 'content-type': 'application/octet-stream' })
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(2 ** 16, 97)));
        }
        response.on('drain', more)
        more()
      },
    },
    'an answer that stops': {
      code: /^source-unreachable$/,
      answer: (response) => void response.writeHead(200, { 'content-length': 500 }).write('half'),
    },
    'no answer': { code: /^source-unreachable$/, answer: () => {} },
    'an error of the server': {
      code: /^source-unreachable$/,
      answer: (response) => void response.writeHead(502).end(),
    },
    'too many requests': {
      code: /^rate-limited$/,
      answer: (response) => void response.writeHead(429, { 'retry-after': '7' }).end(),
    },
    'a refused credential': {
      code: /^credentials-rejected$/,
      answer: (response) => void response.writeHead(401).end(),
    },
    'a redirect to itself': {
      code: /^source-unreachable$/,
      answer: (response) => void response.writeHead(302, { location: response.req.url ?? '' }).end(),
    },
    'a part of the file': {
      code: /^(source-unreachable|unsupported)$/,
      answer: (response) => void response.writeHead(206, { 'content-range': 'bytes 0-3/500' }).end('half'),
    },
    'a compressed file': {
      code: /^(log-unsigned|content-refused|unsupported)$/,
      answer: (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('something')),
    },
    '304 to a plain request': {
      code: /^(source-unreachable)$/,
      answer: (response) => void response.writeHead(304).end(),
    },
  }

/** The faults that only a time limit ends. */
const WITHOUT_END: ReadonlySet<string> = new Set(['an answer that stops', 'no answer'])

test.each(
  PARTS.flatMap((part) =>
    Object.entries(FAULTS).map(([name, { code, answer }]) => ({ part, name, code, answer })),
  ).filter(
    // The checkpoint is no plain request.
    ({ part, name }) => part !== 'checkpoint' || name !== '304 to a plain request',
  ),
)('$name in place of $part is refused, and the next good answer followed', async ({ part, name, code, answer }) => {
  // A good answer may be late on a busy machine.
  const waits = WITHOUT_END.has(name) ? { connectMs: 700, idleMs: 700 } : {}
  await using world = await World.open({ limits: { ...waits, packBytes: 2 ** 18 } })
  await world.channel.publish(skillNamed('one'), skillNamed('evil'))
  world.server.meddle = (_, response, path) => {
    if (!path.startsWith(part)) return false
    answer(response)
    return true
  }

  await world.expectRefused(code)
  await world.recovers()
})

test('a portal that answers each path with a web page changes nothing', async () => {
  await using world = await World.open()
  const portal: Meddle = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Please sign in</html>')
    return true
  }
  world.server.meddle = portal

  await world.expectRefused('protocol-not-spoken', expect.stringContaining('web page'))
  await world.recovers()
})

test('a redirect to another host is refused, and the credential stays here', async () => {
  const asked: unknown[] = []
  const other = createServer((request, response) => {
    asked.push(request.headers)
    response.end()
  })
  await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve))
  try {
    await using world = await World.open({ headers: { authorization: 'Bearer 5ecret-5ecret' } })
    expect(world.server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer 5ecret-5ecret' })
    await world.channel.publish(skillNamed('one'), skillNamed('evil'))
    for (const part of PARTS) {
      world.server.meddle = (_, response, path) => {
        if (!path.startsWith(part)) return false
        response.writeHead(302, { location: `http://127.0.0.1:${portOf(other)}/channel/${path}` }).end()
        return true
      }
      const failure = await world.follower.failure()
      expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('redirect') })
      expect(failure.message).not.toContain('5ecret')
    }

    expect(asked).toEqual([])
    await world.recovers()
  } finally {
    await new Promise<void>((resolve) => void other.close(() => resolve()))
  }
})

test('a first answer that nothing is new is refused', async () => {
  const channel = new CraftedChannel()
  await channel.publish(skillNamed('one'))
  await using server = await startFileServer(channel.read)
  await using follower = await Follower.open({ place: server.url })
  server.meddle = (_, response) => {
    response.writeHead(304).end()
    return true
  }

  expect(await follower.failure()).toMatchObject({ code: 'source-unreachable' })
  server.meddle = () => false
  await follower.updated()
  expect(Object.keys(await follower.skills())).toEqual(['team/one'])
})

test('a channel that is not read within the time of a fetch names the limit', async () => {
  const parts = { limits: { ...FETCH_LIMITS, totalMs: 0 }, way: async () => PLAIN_WAY }
  const place = new HttpPlace('http://127.0.0.1:1/channel/', parts)

  await expect(place.read('checkpoint', 1, never())).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringMatching(/^Cannot reach ".*": not done within limits\.fetch\.total_timeout/),
    fix: expect.stringMatching(/^Raise `limits\.fetch\.total_timeout`/),
  })
})

test('an aborted pull leaves what was served, and the next one goes on', async () => {
  await using world = await World.open()
  await world.channel.publish(skillNamed('one'), skillNamed('evil'))
  const controller = new AbortController()
  world.server.meddle = (_, __, path) => {
    if (!path.startsWith('object/')) return false
    controller.abort()
    return true
  }

  await expect(world.follower.pull(controller.signal)).rejects.toMatchObject({ name: 'AbortError' })
  expect(Object.keys(await world.follower.skills())).toEqual(['team/one'])
  await world.recovers()
})

const CHANGES: Readonly<Record<string, () => Promise<Uint8Array> | Uint8Array>> = {
  'no archive': () => Buffer.from('no archive'),
  'an empty file': () => Buffer.alloc(0),
  'a decompression bomb': () => gzipSync(Buffer.alloc(2 ** 28)),
  'a file over its limit': () => Buffer.alloc(2 ** 21, 3),
  'objects that are cut off': () => gzipSync(Buffer.from([0, 0, 0, 9, 1])),
  'objects of nobody': () => packObjects([Buffer.from('evil'), Buffer.alloc(0)]),
  'a cut archive': async () => (await packObjects([Buffer.alloc(5_000, 7)])).subarray(0, -9),
}

test.each(Object.entries(CHANGES))('%s as the packed changes of an entry is ignored', async (_, changes) => {
  await using world = await World.open()
  await world.channel.publish(skillNamed('one'), skillNamed('two'))
  world.channel.files.set('changes/1', await changes())

  await world.follower.updated()

  expect(Object.keys(await world.follower.skills())).toEqual(['team/one', 'team/two'])
  expect(world.server.requests.filter(({ path }) => path === 'changes/1')).toHaveLength(1)
})

test.each(['an error of the server', 'a web page with 200'])(
  '%s in place of the packed changes is ignored',
  async (name) => {
    await using world = await World.open()
    await world.channel.publish(skillNamed('one'), skillNamed('two'))
    world.server.meddle = (_, response, path) => {
      if (!path.startsWith('changes/')) return false
      FAULTS[name]?.answer(response)
      return true
    }

    await world.follower.updated()

    expect(Object.keys(await world.follower.skills())).toEqual(['team/one', 'team/two'])
  },
)

const OBJECTS: Readonly<
  Record<string, { readonly code: string; readonly damaged: (bytes: Uint8Array) => Uint8Array | undefined }>
> = {
  missing: { code: 'source-unreachable', damaged: () => undefined },
  empty: { code: 'content-refused', damaged: () => Buffer.alloc(0) },
  truncated: { code: 'content-refused', damaged: (bytes) => bytes.subarray(0, -1) },
  wrong: { code: 'content-refused', damaged: (bytes) => Buffer.alloc(bytes.length, 1) },
  oversized: { code: 'limit-exceeded', damaged: (bytes) => Buffer.concat([bytes, Buffer.alloc(2 ** 24)]) },
}

test.each(
  ['head', 'file'].flatMap((kind) =>
    Object.entries(OBJECTS).map(([name, { code, damaged }]) => ({ kind, name, code, damaged })),
  ),
)('a $kind that is $name is refused, and taken once it is right', async ({ kind, code, damaged }) => {
  await using world = await World.open()
  const next = skillNamed('next')
  const head = await world.channel.publish(skillNamed('one'), next)
  const path = objectPath(kind === 'head' ? head : (next.skill.files[0]?.sha256 ?? ''))
  const bytes = world.channel.files.get(path) ?? Buffer.alloc(0)
  const wrong = damaged(bytes)
  if (wrong === undefined) world.channel.files.delete(path)
  else world.channel.files.set(path, wrong)

  await world.expectRefused(code)
  world.channel.files.set(path, bytes)
  await world.follower.updated()
  expect(Object.keys(await world.follower.skills())).toEqual(['team/next', 'team/one'])
})
