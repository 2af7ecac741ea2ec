import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'

const skill = (name: string, lines = ''): string =>
  `---\nname: ${name}\ndescription: About ${name}\n${lines}---\nbody\n`

const FILES = {
  'a/tidy/SKILL.md': skill('tidy'),
  'a/tidy/data.bin': Buffer.from([0, 1, 2, 255]),
  'b/tidy/SKILL.md': skill('tidy', 'license: MIT\n'),
  'über uns/plain/SKILL.md': skill('plain'),
  'own/SKILL.md': skill('own', 'user-invocable: false\n'),
  'hidden/quiet/SKILL.md': skill('quiet'),
}

const CLOSED = 'http: { allowed_hosts: [skills.example.com] }'

describe('the page of a skill says first how it is used', () => {
  let repository: Repository
  let served: Served
  beforeAll(async () => {
    repository = await Repository.create()
    await repository.commit(FILES)
    served = await serve(repository, {
      source: ["unlisted: ['hidden/**']"],
      config: ['serve:', '  forms: [default, skill-prompts]'],
    })
  })
  afterAll(async () => {
    await served[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  })

  test('before its text, with the commands, the prompt, the id and the URI, each alone in a text to copy', async () => {
    const { text } = await ask(served.http.url, '/skills/fx/a/tidy/')

    expect(text.indexOf('Use this skill')).toBeLessThan(text.indexOf('aria-label="SKILL.md"'))
    expect(copied(text)).toEqual({
      'the command that links the skill': 'skillsyncd link claude-code --skill fx/a/tidy',
      'the command of the installer': `npx skills add ${served.http.url} --skill fx-a-tidy`,
      'the name of the prompt': 'fx/a/tidy',
      'the id': 'fx/a/tidy',
      'the URI': 'skill://fx/a/tidy/SKILL.md',
      'the digest of the skill': expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(text).toMatch(/<details id="digests">[^]*data\.bin[^]*[0-9a-f]{64}[^]*<\/details>/)
  })

  test('a name that only one skill has is its id, and the name for installers', async () => {
    const uses = copied((await ask(served.http.url, '/skills/fx/own/')).text)

    expect(uses['the id']).toBe('own')
    expect(uses['the command of the installer']).toContain('--skill own')
    expect(uses['the name of the prompt']).toBeUndefined()
  })

  test('a path that cannot be typed is named by its URI', async () => {
    const uses = copied((await ask(served.http.url, '/skills/fx/%C3%BCber%20uns/plain/')).text)

    expect(uses['the command that links the skill']).toBe(
      'skillsyncd link claude-code --skill skill://fx/%C3%BCber%20uns/plain',
    )
  })

  test('the zip that it offers is the archive for installers', async () => {
    const { text } = await ask(served.http.url, '/skills/fx/a/tidy/')
    const path = /<a href="([^"]*\.zip)" download/.exec(text)?.[1] ?? ''

    const { pathname } = new URL(path, `${served.http.url}/skills/fx/a/tidy/`)

    expect(pathname).toBe('/.well-known/agent-skills/fx-a-tidy.zip')
    expect(await ask(served.http.url, pathname)).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/zip' },
    })
  })

  test('a skill that is in no list has no place in a folder, and no name for installers', async () => {
    const { text } = await ask(served.http.url, '/skills/fx/hidden/quiet/')

    expect(copied(text)).toEqual({
      'the id': 'fx/hidden/quiet',
      'the URI': 'skill://fx/hidden/quiet/SKILL.md',
      'the digest of the skill': expect.any(String),
    })
    expect(text).not.toContain('.zip')
  })

  test('installers are named only where they need no token, since they send none', async () => {
    const shown = async (open: string): Promise<string> => {
      await using closed = await serve(repository, { config: ['serve:', `  public: [${open}]`, `  ${CLOSED}`] })
      return (await ask(closed.http.url, '/skills/fx/own/')).text
    }

    const pageAlone = await shown('page')
    const both = await shown('page, well-known')

    expect(copied(pageAlone)['the command of the installer']).toBeUndefined()
    expect(pageAlone).not.toContain('.zip')
    expect(copied(both)['the command of the installer']).toContain('--skill own')
    expect(both).toContain('own.zip')
  })
})

/** The texts to copy, by the label of their button. */
function copied(text: string): Record<string, string> {
  const snippets = text.matchAll(/data-what="([^"]*)">[^]*?<pre[^>]*>([^]*?)<\/pre>/g)
  return Object.fromEntries(Array.from(snippets, ([, what = '', copied = '']) => [what, copied]))
}
