import { expect, test } from 'vitest'
import { modernHttp } from '../clients/peer.ts'
import type { Peer } from '../clients/peer.ts'
import { skillText } from '../git/scripted-upstream.ts'
import type { Enumeration } from './hostile-offer.ts'
import { HostileServer } from './hostile-server.ts'

const PDF = 'skill://pdf/SKILL.md'
const INDEX = 'skill://index.json'

async function served(offers: Enumeration): Promise<HostileServer> {
  const server = await HostileServer.start()
  server.skills.set(PDF, { 'SKILL.md': skillText('pdf'), 'a/b.md': 'b', 'a/c/d.md': 'd' })
  server.offers = offers
  return server
}

async function contentOf(peer: Peer, uri: string): Promise<any> {
  return (await peer.call('resources/read', { uri })).result?.contents[0]
}

const digest: unknown = expect.stringMatching(/^sha256:[0-9a-f]{64}$/)
const OLDEST = { type: 'skill-md', name: 'pdf', description: 'What pdf does', url: PDF }
const FRONTMATTER = { frontmatter: { name: 'pdf', description: 'What pdf does' } }
const FORMS = {
  'index-r0': { $schema: expect.any(String), skills: [OLDEST] },
  'index-r1': { $schema: expect.any(String), skills: [{ ...OLDEST, digest }] },
  'index-r2': { skills: [{ ...FRONTMATTER, url: PDF, digest }] },
  'index-r4': {
    skills: [
      {
        ...FRONTMATTER,
        uri: PDF,
        resources: [PDF, 'skill://pdf/a/b.md', 'skill://pdf/a/c/d.md'].map((uri) => ({ uri, digest })),
      },
    ],
  },
} satisfies Partial<Record<Enumeration, object>>

test.each(Object.entries(FORMS))(
  '%s has the fields of its revision, and there is no other enumeration',
  async (form, document) => {
    await using server = await served(form as Enumeration)
    await using peer = await modernHttp(server.url)

    const content = await contentOf(peer, INDEX)

    expect(JSON.parse(content.text)).toEqual(document)
    expect(content.mimeType).toBe('application/json')
    expect((await peer.call('skills/list')).error?.code).toBe(-32601)
    expect((await peer.call('skills/get', { uri: PDF })).error?.code).toBe(-32601)
  },
)

test('FastMCP lists each SKILL.md with a manifest, which names the files', async () => {
  await using server = await served('fastmcp')
  await using peer = await modernHttp(server.url)

  const { resources } = (await peer.call('resources/list')).result
  const manifest = JSON.parse((await contentOf(peer, 'skill://pdf/_manifest')).text)

  expect(resources.map(({ uri }: { readonly uri: string }) => uri)).toEqual([PDF, 'skill://pdf/_manifest'])
  expect(manifest.skill).toBe('pdf')
  expect(manifest.files.slice(1)).toMatchObject([
    { path: 'a/b.md', size: 1 },
    { path: 'a/c/d.md', size: 1 },
  ])
  expect(await contentOf(peer, INDEX)).toBeUndefined()
})

test('where nothing is enumerated, files can be read by who knows them', async () => {
  await using server = await served('nothing')
  await using peer = await modernHttp(server.url)

  const { resources } = (await peer.call('resources/list')).result

  expect(resources).toEqual([])
  expect(await contentOf(peer, 'skill://pdf/a/b.md')).toMatchObject({ text: 'b' })
})
