import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ask } from '../../serve/http/ask.ts'
import { TokenIssuer } from '../../support/http/issuer.ts'
import { World } from '../world.ts'

const INDEX = '/.well-known/agent-skills/index.json'

test('a hub off loopback that trusts an issuer starts without a token of its own, and lets in who has one of the issuer', async () => {
  await using world = await World.create()
  await using issuer = await TokenIssuer.start()
  await serveAs(world, [`http: { host: 0.0.0.0, port: 0 }`, `oauth: { issuer: '${issuer.url}', audience: hub }`])
  await world.synced()
  const daemon = world.home.start('start')
  const origin = `http://127.0.0.1:${new URL(await daemon.line()).port}`
  const scope = 'skills page well-known'
  const good = await issuer.token({ aud: 'hub', scope })
  const wrong = await issuer.token({ aud: 'other', scope })
  const form = {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
  }

  const none = await ask(origin, INDEX)
  const refused = await ask(origin, INDEX, { headers: { authorization: `Bearer ${wrong}` } })
  const admitted = await ask(origin, INDEX, { headers: { authorization: `Bearer ${good}` } })
  const entered = await ask(origin, '/login', { ...form, body: `token=${good}` })
  const kept = await ask(origin, '/login', { ...form, body: `token=${wrong}` })
  const shown = await ask(origin, '/', { headers: { cookie: entered.headers['set-cookie']![0]!.split(';')[0]! } })
  const { stdout, stderr } = await daemon.stop()

  expect([none.status, refused.status, admitted.status, entered.status, kept.status]).toEqual([401, 401, 200, 303, 401])
  expect(admitted.text).toContain('"name":"alpha"')
  expect(shown.text).toContain('>alpha<')
  for (const token of [good, wrong]) {
    for (const part of token.split('.').slice(1)) expect(stdout + stderr).not.toContain(part)
  }
})

test('on loopback the page and the files for installers need nothing to be said', async () => {
  await using world = await World.create()
  await world.synced()
  const daemon = world.home.start('start')
  const { origin } = new URL(await daemon.line())

  const page = await ask(origin, '/')
  const index = await ask(origin, INDEX)

  expect(page.text).toContain('>alpha<')
  expect(index.text).toContain('"name":"alpha"')
})

/** Gives the configuration another `serve`. */
async function serveAs(world: World, lines: readonly string[]): Promise<void> {
  const { home, git, repository } = world
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] })
  const text = await readFile(home.configFile, 'utf8')
  await writeFile(
    home.configFile,
    text.replace(/^serve: .*$/m, ['serve:', ...lines.map((line) => `  ${line}`)].join('\n')),
  )
}
