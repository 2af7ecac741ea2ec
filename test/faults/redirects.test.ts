import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import type { Fault } from '../support/git/git-server.ts'
import { Authority } from '../support/http/certificates.ts'
import { Scene } from './scene.ts'

const TOKEN = 'canary-token-4b1e'

test('a redirect to another host, to plain HTTP or to what is no web address is refused, and takes no credential along', async () => {
  const authority = new Authority()
  await using scene = await Scene.set(AUTH, [], authority.vouchFor(['127.0.0.1']))
  await writeFile(join(scene.home.configFile, '..', 'authority.pem'), authority.cert)
  scene.home.env['SKILLS_TOKEN'] = TOKEN
  scene.git.access = { token: TOKEN }
  await using other = await GitServer.start(authority.vouchFor(['127.0.0.1', 'localhost']))
  await using plain = await GitServer.start()
  for (const server of [other, plain]) server.serve('team', scene.repository)
  const marker = join(scene.home.path, 'was-run')
  await scene.play()

  for (const to of [
    `${other.origin}/team.git`,
    `${other.origin.replace('127.0.0.1', 'localhost')}/team.git`,
    `${plain.origin}/team.git`,
    `http://127.0.0.1:${new URL(scene.git.origin).port}/team.git`,
    `file://${scene.repository.folder}`,
    `ext::sh -c touch% ${marker}`,
    `ssh://127.0.0.1${scene.repository.folder}`,
    '//nowhere.invalid/team.git',
  ])
    await expectRefused(scene, redirect(to, 'info-refs'))
  await expectRefused(scene, redirect(`${other.origin}/team.git`, 'upload-pack'))
  await expectRefused(scene, redirect(`file://${scene.repository.folder}`, 'upload-pack'))

  expect([...other.requests, ...plain.requests]).toEqual([])
  expect(existsSync(marker)).toBe(false)
  expect(scene.daemon.stderr).not.toContain(TOKEN)
  await scene.expectWell()
})

const AUTH = ['ca: authority.pem', 'auth: { token: { env: SKILLS_TOKEN } }']

function redirect(to: string, on: 'info-refs' | 'upload-pack'): Fault {
  const rest = on === 'info-refs' ? '/info/refs?service=git-upload-pack' : '/git-upload-pack'
  return { kind: 'status', status: on === 'info-refs' ? 301 : 307, headers: { location: `${to}${rest}` }, on }
}

/** What the daemon knows of the server it has to forget before it asks for that again. */
async function expectRefused(scene: Scene, fault: Fault): Promise<void> {
  if (fault.on === 'info-refs') {
    scene.git.fault = { kind: 'status', status: 404 }
    await scene.problem('repository-not-found')
  }
  scene.git.fault = fault
  expect(await scene.problem('source-unreachable')).toContain('redirect')
  scene.git.fault = { kind: 'none' }
  await scene.recovers()
}
