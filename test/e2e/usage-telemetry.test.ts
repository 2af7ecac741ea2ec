import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'
import { activationOf, exportOf, recordOf } from '../support/otlp.ts'
import { openSite, runSkillsyncd, startDaemon } from './programs.ts'
import { skill } from './world.ts'

const FILES = {
  'skills/alpha/SKILL.md': skill('alpha', 'first'),
  'skills/beta/SKILL.md': skill('beta', 'second'),
}

test('skills that Claude Code activates are loads in the same rows, with a mark, and without people', async () => {
  await using site = await openSite(FILES, '1h')
  const lines = ['usage: { otlp: true }', 'serve: { marketplace: { name: acme, owner: Acme } }']
  await writeFile(site.configFile, `${lines.join('\n')}\n`, { flag: 'a' })
  {
    await using daemon = await startDaemon(site)
    await using modern = await modernHttp(daemon.url)
    await expect.poll(async () => (await modern.call('skills/list')).result.skills).toHaveLength(2)
    await modern.call('resources/read', { uri: 'skill://fx/alpha/SKILL.md' })
    const body = exportOf(
      recordOf('user_prompt', { prompt: 'a secret of ada' }),
      activationOf('alpha'),
      activationOf('skills:beta', { 'skill.source': 'plugin', 'marketplace.name': 'acme' }),
      activationOf('alpha', { 'skill.source': 'bundled' }),
      activationOf('elsewhere'),
    )
    const sent = await fetch(new URL('/v1/logs', daemon.url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'user-agent': 'OTel-OTLP-Exporter-JavaScript/0.208.0',
      },
      body: new Uint8Array(gzipSync(JSON.stringify(body))),
    })
    expect([sent.status, await sent.json()]).toEqual([200, {}])
  }

  const { rows } = JSON.parse(await runSkillsyncd(site, 'list', '--usage', '--by', 'skill,client,principal', '--json'))
  const marked = { client: 'claude-code (telemetry)', principal: null, lists: 0, loads: 1, reads: 0, failures: 0 }
  const loaded = rows.filter((row: any) => row.skill !== null)
  expect(loaded.filter((row: any) => row.client === marked.client)).toEqual([
    { ...marked, skill: 'fx/alpha' },
    { ...marked, skill: 'fx/beta' },
  ])
  expect(loaded).toHaveLength(3)
  for (const name of await readdir(join(site.state, 'usage')))
    expect(await readFile(join(site.state, 'usage', name), 'latin1')).not.toMatch(/ada|739044cd|a68801ea|elsewhere/)
})
