import { randomBytes } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { skill } from '../e2e/world.ts'
import { isFetch } from '../scenarios/hub.ts'
import { Authority, EXPIRED } from '../support/http/certificates.ts'
import { MuteFront } from './mute-front.ts'
import { HOST, Names, NO_NAMES } from './names.ts'
import { Scene } from './scene.ts'

const authority = new Authority()

test('while nobody listens where the host was, what was served is served, and it recovers by itself', async () => {
  await using scene = await Scene.set()
  await scene.play()

  await scene.git.goAway()
  await scene.problem('source-unreachable')
  await scene.witness.looksAgain()
  await scene.git.comeBack()

  await scene.recovers()
  await scene.expectWell()
})

describe.skipIf(NO_NAMES !== undefined)(
  `the name of a host${NO_NAMES === undefined ? '' : `, but ${NO_NAMES}`}`,
  () => {
    test('while it does not resolve, what was served is served, and it recovers by itself', async () => {
      await using scene = await Scene.set()
      const names = await Names.of(scene.home)
      await names.know()
      const { port } = new URL(scene.git.origin)
      await scene.home.configure({ team: [`url: http://${HOST}:${port}/team.git`, 'every: 1s'] })
      await scene.play()

      await names.forget()
      // A connection that is kept needs no name.
      await scene.git.goAway()
      await scene.git.comeBack()
      await scene.problem('dns-failed')
      await scene.witness.looksAgain()
      await names.know()

      await scene.recovers()
      await scene.expectWell()
    })
  },
)

test('a certificate that is over, or of an authority that nobody knows, is refused, and it recovers by itself', async () => {
  await using scene = await sceneOverTls()
  await scene.play()
  const stranger = new Authority('Nobody')

  for (const [identity, why] of [
    [authority.vouchFor(['127.0.0.1'], EXPIRED), 'CERT_HAS_EXPIRED'],
    [stranger.vouchFor(['127.0.0.1']), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ] as const) {
    const asked = scene.git.requests.length
    scene.git.showAs(identity)
    const line = await scene.problem('tls-failed')
    await scene.witness.looksAgain()

    expect(line).toContain(why)
    // What was on its way when the server changed was of the connection before.
    expect(scene.git.requests.length - asked).toBeLessThanOrEqual(1)
    scene.git.showAs(authority.vouchFor(['127.0.0.1']))
    await scene.recovers()
  }

  await scene.expectWell()
})

test('a host that takes requests and answers none is given up after the time to connect', async () => {
  await using scene = await Scene.set([], times({ connect: '5s' }))
  await scene.play()

  scene.git.fault = { kind: 'hang-before' }
  await expect.poll(async () => reasonOf(scene), LONG).toContain('no answer within 5000 ms')
  await scene.witness.looksAgain()
  scene.git.fault = { kind: 'none' }

  await scene.recovers()
  await scene.expectWell()
})

test('a host that takes connections and says nothing of TLS is given up after the time to connect', async () => {
  await using scene = await sceneOverTls(times({ connect: '5s' }))
  await using front = await MuteFront.before(scene.git.origin)
  await scene.home.configure(
    { team: [`url: https://127.0.0.1:${front.port}/team.git`, ...TLS] },
    times({ connect: '5s' }),
  )
  await scene.play()

  front.isMute = true
  front.cut()
  // A connection that was open is cut first, and that has another reason.
  await expect.poll(async () => reasonOf(scene), LONG).toContain('no answer within 5000 ms')
  await scene.witness.looksAgain()
  front.isMute = false

  await scene.recovers()
  await scene.expectWell()
})

test('a host that stops in the middle of a pack is given up after the time without a byte, and its pack is gone', async () => {
  await using scene = await Scene.set([], times({ idle: '5s' }))
  await scene.play()
  await scene.repository.commit({ 'large/SKILL.md': skill('large', 'x'), 'large/data.bin': randomBytes(300_000) })

  scene.git.fault = { kind: 'hang', at: 600, on: 'fetch' }
  await scene.commit()
  await scene.git.requested(isFetch, scene.git.requests.length)
  await expect.poll(async () => readdir(join(scene.home.state, 'tmp')), LONG).not.toEqual([])
  await expect.poll(async () => reasonOf(scene), LONG).toContain('nothing more came within 5000 ms')
  await scene.witness.looksAgain()
  scene.git.fault = { kind: 'none' }

  await scene.recovers()
  await scene.expectWell()
})

const TLS = ['every: 1s', 'ca: authority.pem'] as const

/** A source over TLS, whose authority is trusted. */
async function sceneOverTls(rest: readonly string[] = []): Promise<Scene> {
  const scene = await Scene.set(['ca: authority.pem'], rest, authority.vouchFor(['127.0.0.1']))
  await writeFile(join(scene.home.configFile, '..', 'authority.pem'), authority.cert)
  return scene
}

/** No time is short but for those that are given. */
function times({ connect = '1h', idle = '1h' }: { readonly connect?: string; readonly idle?: string }) {
  return [`limits: { fetch: { connect_timeout: ${connect}, idle_timeout: ${idle}, total_timeout: 1h } }`]
}

/** Why the source cannot be pulled now, in the words of its status; the log has but the first of several reasons. */
async function reasonOf(scene: Scene): Promise<string> {
  const { stdout } = await scene.home.command('status', '--json')
  return JSON.parse(stdout).sources[0].problem?.message ?? ''
}

/** For what is under way, and takes as long as the machine takes. */
const LONG = { timeout: 300_000 } as const
