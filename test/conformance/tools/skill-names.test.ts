import { describe, expect, test } from 'vitest'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import type { Peer } from '../../support/clients/peer.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import { exchange, modern } from '../exchange.ts'
import { openPeer, resultOf } from '../peers.ts'
import { openSmall, skillOf } from '../small.ts'

/**
 * `serve/mcp/tools/find-skill.ts` finds a skill by a text for every client alike: one over HTTP of the one revision and
 * one over stdio of the other are enough.
 */
const PAIR = ['M', 'LS'] as const

const PDF = '---\nname: PDF Processing\ndescription: Fills forms\n---\n# Forms\n'

describe('a skill that is asked for by another text than its id', () => {
  const files = {
    'tools/pdf/SKILL.md': PDF,
    'tools/Word_Forms/SKILL.md': skillOf('word-forms'),
    'a b/SKILL.md': skillOf('a-b'),
  }

  test('is given by its name or its folder in any case, with spaces, underscores or hyphens', async () => {
    await using small = await openSmall(files, { kinds: PAIR })

    for (const peer of small.all) {
      for (const id of ['PDF', 'Pdf', 'PDF Processing', 'pdf-processing', ' pdf_processing ', 'fx/PDF Processing'])
        expect((await got(peer, id)).name, id).toBe('PDF Processing')
      for (const id of ['Word Forms', 'WORD-FORMS', 'fx/word-forms'])
        expect((await got(peer, id)).name).toBe('word-forms')
    }
  })

  test('is given by the URI of its SKILL.md or its folder, as it is served or where it lies', async () => {
    await using small = await openSmall(files, { kinds: PAIR })
    const uris = ['a-b/SKILL.md', 'a-b', 'a-b/', 'a%20b/SKILL.md', 'a b'].map((path) => `skill://fx/${path}`)

    for (const peer of small.all) {
      for (const uri of uris) expect((await got(peer, uri)).name, uri).toBe('a-b')
      expect((await got(peer, 'skill://fx/tools/pdf/SKILL.md')).name).toBe('PDF Processing')
      for (const uri of ['skill://fx/tools/../a-b', 'skill://fx/a-b?x', 'skill://other/a-b', 'skill://fx/tools'])
        expect(await refusedBy(peer, uri)).toContain('no skill with the id')
    }
  })

  test('has its files read by the same text', async () => {
    await using small = await openSmall({ ...files, 'tools/pdf/forms.md': 'Fields\n' }, { kinds: ['M', 'LH'] })

    for (const kind of ['M', 'LH'] as const)
      for (const id of ['PDF Processing', 'skill://fx/tools/pdf/SKILL.md']) {
        const given = { name: 'read_skill_file', arguments: { id, path: 'forms.md' } }
        const { structuredContent } = resultOf(await small.of(kind).call('tools/call', given))
        expect(structuredContent).toMatchObject({ content: 'Fields\n' })
      }
  })

  test('is asked for once more where the text can mean several, and is the one to the letter where that is there', async () => {
    await using small = await openSmall(
      { 'a/Report/SKILL.md': PDF, 'b/report/SKILL.md': skillOf('report') },
      { kinds: PAIR },
    )

    for (const peer of small.all) {
      expect((await got(peer, 'report')).name).toBe('report')
      expect((await got(peer, 'Report')).name).toBe('PDF Processing')
      const text = await refusedBy(peer, 'REPORT')
      for (const part of ['can mean 2 skills', '"Report"', '"report"']) expect(text).toContain(part)
    }
  })
})

describe('a text that is the id of one skill and the name of another', () => {
  const files = {
    'gamma/SKILL.md': skillOf('delta', 'Gamma'),
    'sub/delta/SKILL.md': skillOf('delta2', 'Delta'),
    'quiet/SKILL.md': '---\nname: delta\ndescription: Q\ndisable-model-invocation: true\n---\n',
    'drafts/delta3/SKILL.md': skillOf('delta', 'Draft'),
  }

  test('gives the one that has the id, and says which other one is named so', async () => {
    await using small = await openSmall(files, { kinds: PAIR, source: ['unlisted: ["drafts/**"]'] })

    for (const peer of small.all) {
      for (const id of ['delta', 'fx/delta']) {
        expect((await got(peer, id)).description).toBe('Delta')
        expect(await noteOf(peer, id)).toMatch(/\. Another skill is named "(fx\/)?delta" and has the id "gamma"\.$/)
      }
      for (const id of ['gamma', 'delta2', 'fx/sub/delta']) expect(await noteOf(peer, id)).not.toContain('nother skill')
    }
  })

  test('names no more of them than a few', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 8 }, (_, index) => [`h${index}/g${index}/SKILL.md`, skillOf('delta', `G${index}`)]),
    )
    await using small = await openSmall({ 'sub/delta/SKILL.md': skillOf('delta2'), ...many }, { kinds: ['M'] })

    expect(await noteOf(small.of('M'), 'delta')).toContain(
      'Other skills are named "delta" and have the ids "g0", "g1", "g2", "g3", "g4" and 3 more.',
    )
  })
})

test('copies of one skill are one for a model: found once with their places, and had by their name', async () => {
  await using small = await openSmall(
    { 'a/pdf/SKILL.md': skillOf('pdf'), 'b/pdf/SKILL.md': skillOf('pdf') },
    { kinds: PAIR },
  )

  for (const peer of small.all) {
    expect((await got(peer, 'pdf')).name).toBe('pdf')
    expect((await got(peer, 'PDF')).name).toBe('pdf')
    const search = { name: 'search_skills', arguments: { query: 'pdf' } }
    const { skills } = resultOf(await peer.call('tools/call', search)).structuredContent
    const list = resultOf(await peer.call('tools/call', { name: 'list_skills' }))
    for (const listed of [skills, JSON.parse(list.content[0].text)])
      expect(listed).toMatchObject([{ id: 'fx/a/pdf', places: ['fx/a/pdf', 'fx/b/pdf'] }])
  }
})

describe('an id that means no skill', () => {
  test('is answered with the ids of those that are called nearly so', async () => {
    await using small = await openSmall(
      {
        'pdf-processing/SKILL.md': skillOf('pdf-processing'),
        'pdf-forms/SKILL.md': skillOf('pdf-forms'),
        'brew-coffee/SKILL.md': skillOf('brew-coffee'),
      },
      { kinds: PAIR },
    )

    for (const peer of small.all) {
      expect(await refusedBy(peer, 'pdf-procesing')).toContain('near it is "pdf-processing";')
      expect(await refusedBy(peer, 'fx/brew-cofeee')).toContain('near it is "brew-coffee";')
      expect(await refusedBy(peer, 'skill://fx/pdf/SKILL.md')).toContain('near it are "pdf-forms", "pdf-processing";')
      for (const id of ['', 'x', 'deploy', 'p'.repeat(9_000)])
        expect(await refusedBy(peer, id)).not.toContain('near it')
    }
  })

  test('is answered with the skill whose file it names, and with the one that it names with escapes', async () => {
    await using small = await openSmall(
      {
        'set/good/SKILL.md': skillOf('good'),
        'set/good/a/b.txt': 'B\n',
        'tools/pdf/SKILL.md': PDF,
        'gamma/SKILL.md': skillOf('delta'),
      },
      { kinds: PAIR },
    )

    for (const peer of small.all) {
      for (const id of [
        'skill://fx/set/good/a/b.txt',
        'skill://fx/set/good/none.txt',
        'fx/set/good/a/b.txt',
        'good/a/b.txt',
      ])
        expect(await refusedBy(peer, id), id).toContain('near it is "good";')
      for (const id of ['fx/PDF%20Processing', 'PDF%20Processing', 'skill://fx/PDF%20Processing'])
        expect(await refusedBy(peer, id), id).toContain('near it is "pdf";')
      expect(await refusedBy(peer, 'skill://fx/delta/x.txt')).toContain('near it is "gamma";')
      for (const id of [
        'fx/none/a.txt',
        'fx/set',
        'fx/%ff/%2e%2e',
        '%',
        'skill://fx/none/%',
        '/',
        `${'a/'.repeat(9_000)}good`,
      ])
        expect(await refusedBy(peer, id), id).not.toContain('near it')
    }
  })

  test('is told of no skill that is disabled, in no list, or for people alone', async () => {
    const files = {
      'secret-plan-a/SKILL.md': skillOf('secret-plan-a'),
      'drafts/secret-plan-b/SKILL.md': skillOf('secret-plan-b'),
      'secret-plan-c/SKILL.md': '---\nname: secret-plan-c\ndescription: C\ndisable-model-invocation: true\n---\n',
      'broken/secret-plan-d/SKILL.md': 'no frontmatter\n',
      'drafts/nameless/SKILL.md': '---\nname: Has No URI\ndescription: F\n---\n',
    }
    await using small = await openSmall(files, { kinds: ['LH', 'M'], source: ['unlisted: ["drafts/**"]'] })
    const { daemon, config } = small.served
    await daemon.parts.decisions.disable(config.sources[0]!.source.id, 'secret-plan-a', true)
    await daemon.parts.decisions.disable(config.sources[0]!.source.id, 'broken/secret-plan-d', true)

    for (const peer of [small.of('M'), small.of('LH')]) {
      for (const id of ['secret-plan', 'secret-plan-e']) expect(await refusedBy(peer, id)).not.toContain('near it')
      for (const id of ['secret-plan-a', 'Secret-Plan-A', 'secret-plan-d', 'skill://fx/secret-plan-a/SKILL.md'])
        expect(await refusedBy(peer, id)).toMatch(/^There is no skill with the id "[^"]+"; list_skills/)
      for (const id of [
        'fx/secret-plan-c/a.txt',
        'skill://fx/drafts/secret-plan-b/a.txt',
        'fx/secret-plan-a/a.txt',
        'fx/drafts/nameless/a.txt',
      ])
        expect(await refusedBy(peer, id)).not.toContain('near it')
      for (const id of ['SECRET-PLAN-B', 'Secret Plan B']) expect(await refusedBy(peer, id)).toContain('no skill')
    }
  })
})

describe('a skill that is withheld', () => {
  const files = { 'alpha/SKILL.md': skillOf('alpha'), 'odd/broken/SKILL.md': '# No frontmatter\n' }

  test('is told as that, with the reason, by any of its names', async () => {
    await using small = await openSmall(
      { ...files, 'hidden/SKILL.md': skillOf('hidden', 'x\u{E0041}\u{E0042}') },
      { kinds: PAIR },
    )

    for (const peer of small.all) {
      for (const id of ['broken', 'Broken', 'fx/odd/broken', 'skill://fx/odd/broken/SKILL.md']) {
        const text = await refusedBy(peer, id)
        for (const part of ['is withheld', '"fx/odd/broken"', '---']) expect(text, id).toContain(part)
        expect(text).not.toContain('no skill')
      }
      expect(await refusedBy(peer, 'skill://fx/hidden/SKILL.md')).toContain('is withheld')
    }
  })

  test('is not there for callers that see packs alone', async () => {
    await using repository = await Repository.create()
    await repository.commit({ ...files, 'beta/SKILL.md': skillOf('beta'), 'alphas/SKILL.md': skillOf('alphas') })
    const config = [
      'packs:',
      '  - id: front',
      '    include: [{ source: fx, path: alpha }, { source: fx, path: "odd/**" }]',
    ]
    await using served = await serve(repository, { config })
    const { secret, sha256 } = newToken()
    const created = new Date().toISOString()
    await served.daemon.parts.tokens.add({
      name: 'one',
      sha256,
      scopes: ['skills', 'tools'],
      packs: ['front'],
      created,
    })
    const ask = async (id: string): Promise<string> => {
      const { headers, body } = modern('tools/call', { name: 'get_skill', arguments: { id } })
      const answer = await exchange(served.url, { headers: { ...headers, authorization: `Bearer ${secret}` }, body })
      return answer.result.content[0].text
    }

    expect(await ask('ALPHA')).toContain('What alpha does')
    for (const id of ['broken', 'fx/odd/broken', 'skill://fx/odd/broken/SKILL.md', 'betas'])
      expect(await ask(id)).toMatch(/^There is no skill with the id "[^"]+"; list_skills/)
    expect(await ask('alphas')).toContain('near it is "alpha";')
  })
})

test('a withheld skill is the reason of no answer where one of that name is served', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a/pdf/SKILL.md': '# None\n', 'b/pdf/SKILL.md': skillOf('pdf') })
  await using served = await serve(repository)
  await using peer = await openPeer('M', served)

  expect((await got(peer, 'PDF')).name).toBe('pdf')
  expect(await refusedBy(peer, 'fx/a/pdf')).toContain('is withheld')
})

test('a withheld skill that is asked for to the letter is told as that, where another is called so in another case', async () => {
  const files = { 'a/CASE2/SKILL.md': '# None\n', 'case2/SKILL.md': skillOf('case2') }
  await using small = await openSmall(files, { kinds: PAIR })

  for (const peer of small.all) {
    for (const id of ['CASE2', 'fx/CASE2', 'fx/a/CASE2']) {
      const text = await refusedBy(peer, id)
      for (const part of ['is withheld', '"fx/a/CASE2"']) expect(text, id).toContain(part)
    }
    for (const id of ['case2', 'Case2', 'fx/Case2']) expect((await got(peer, id)).name, id).toBe('case2')
  }
})

test('a skill whose name is asked for to the letter goes before those that have it in another case', async () => {
  await using small = await openSmall(
    { 'a/SKILL.md': named('Forms', 'A'), 'b/SKILL.md': named('FORMS', 'B') },
    { kinds: PAIR },
  )

  for (const peer of small.all) {
    expect((await got(peer, 'Forms')).description).toBe('A')
    expect((await got(peer, 'fx/FORMS')).description).toBe('B')
    expect(await refusedBy(peer, 'forms')).toContain('can mean 2 skills')
  }
})

function named(name: string, description: string): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# One\n`
}

async function noteOf(peer: Peer, id: string): Promise<string> {
  const result = resultOf(await peer.call('tools/call', { name: 'get_skill', arguments: { id } }))
  expect(result.isError, id).toBeUndefined()
  return result.content[1].text
}

async function got(peer: Peer, id: string): Promise<any> {
  const result = resultOf(await peer.call('tools/call', { name: 'get_skill', arguments: { id } }))
  expect(result.isError, `${id}: ${result.content[0].text}`).toBeUndefined()
  return result.structuredContent
}

async function refusedBy(peer: Peer, id: string): Promise<string> {
  const result = resultOf(await peer.call('tools/call', { name: 'get_skill', arguments: { id } }))
  expect(result.isError, id).toBe(true)
  return result.content[0].text
}
