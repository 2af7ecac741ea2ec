import { expect, test } from 'vitest'
import type { ReadContent } from '../../../../src/serve/content.ts'
import { Discovery } from '../../../../src/serve/page/http/discovery.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import { turnsDuring } from '../../../support/loop-turns.ts'
import { catalogOf } from '../../../sync/catalog/catalogs.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import type { Sample } from '../../../sync/store/samples.ts'
import { surveyed } from '../../../sync/survey/surveyed.ts'

test('a damaged skill is looked for again every ten seconds, however many ask', async () => {
  const scene = openScene([several('healthy'), several('hurt')])
  scene.damaged.add('hurt')
  const first = await scene.names()

  for (let count = 0; count < 20; count += 1) await scene.names()
  const meanwhile = scene.readOf('hurt')
  scene.damaged.clear()
  scene.advance(9_999)
  const early = await scene.names()
  scene.advance(1)
  const [late] = await Promise.all([scene.names(), scene.names()])

  expect(first).toEqual(['healthy'])
  expect(meanwhile).toBe(1)
  expect(early).toEqual(['healthy'])
  expect(late).toEqual(['healthy', 'hurt'])
  expect(scene.readOf('healthy')).toBe(2)
})

test('a skill that cannot be read at this moment hides none of its neighbours, and is there later', async () => {
  const scene = openScene([several('healthy'), several('busy')])
  scene.busy.add('busy')
  const first = await scene.names()

  scene.busy.clear()
  scene.advance(10_000)

  expect(first).toEqual(['healthy'])
  expect(await scene.names()).toEqual(['busy', 'healthy'])
})

test('a skill that is too large for an archive is left out, and its neighbours are announced once for all', async () => {
  const { skill, ...large } = several('large')
  const scene = openScene([{ ...large, skill: { ...skill, size: 2 ** 32 } }, several('small')])
  const first = await scene.discovery.installable()

  scene.advance(60_000)
  const later = await scene.discovery.installable()

  expect(await scene.names()).toEqual(['small'])
  expect(later).toBe(first)
  expect(scene.readOf('large')).toBe(0)
})

test('one content in several places is announced once, with its places, and had by the names of each', async () => {
  const scene = openScene(['pdf', 'copies/pdf', 'docx'].map((path) => at(path, several(path.split('/').at(-1)!))))

  const { listing, skills } = await scene.discovery.installable()

  const { skills: entries }: any = JSON.parse(listing.json.toString())
  const places = ['copies/pdf', 'pdf'].map((path) => `skill://team/${path}/SKILL.md`)
  expect(entries.map((entry: any) => [entry.name, entry.places])).toEqual([
    ['docx', undefined],
    ['pdf', places],
  ])
  expect([...skills.keys()].toSorted()).toEqual(['docx', 'pdf', 'team-copies-pdf', 'team-pdf'])
})

test('a skill that lost its URI is announced by the name of its folder, where installers can read its frontmatter', async () => {
  const document = (description: string, body: string) => `---\nname: pdf\ndescription: ${description}\n---\n${body}\n`
  const registry = new Registry()
  const texts = { pdf: 'has it', 'pdf-2': 'lost it', 'pdf-3': 'lost it too' }
  const files = Object.entries(texts).map(([path, body]) => {
    return [`${path}/SKILL.md`, document(path === 'pdf-3' ? 'Use when: asked' : 'Reads', body)] as const
  })
  registry.publish(catalogOf(await surveyed(Object.fromEntries(files))))
  const discovery = new Discovery({ registry, read: async () => Buffer.alloc(0), now: () => 0 }, '/')

  const { skills } = await discovery.installable()

  expect([...skills.keys()].toSorted()).toEqual(['pdf', 'pdf-2'])
})

test('an index that could not be made is made for the next who asks', async () => {
  const scene = openScene([several('one')])
  scene.failing.add('one')
  const failed = scene.names()
  await expect(failed).rejects.toThrow('The disk is gone')

  scene.failing.clear()

  expect(await scene.names()).toEqual(['one'])
})

test('the loop turns while the names of thousands of skills are found, and what is announced of each is put together', async () => {
  const scene = openScene(Array.from({ length: 10_000 }, (_, index) => sample(`skill-${index}`, { 'SKILL.md': '' })))

  expect(await turnsDuring(scene.discovery.installable())).toBeGreaterThan(1)
})

function at(path: string, { skill, ...rest }: Sample): Sample {
  return { ...rest, skill: { ...skill, path, servedPath: path } }
}

function several(name: string): Sample {
  return sample(name, { 'SKILL.md': `${name}\n`, 'x.txt': 'x\n' })
}

function openScene(samples: readonly Sample[]) {
  const registry = new Registry()
  const source = sourceId('team')
  const generation = { number: 1, createdAt: '', sources: [{ source, snapshot: '1' }] }
  registry.publish(buildCatalog(generation, [{ ...snapshotOf(...samples), source }]))
  const [damaged, failing, busy] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const reads: string[] = []
  const read: ReadContent = async (stored, { path }) => {
    const name = 'kind' in stored ? '' : (stored.name ?? '')
    reads.push(name)
    if (failing.has(name)) throw new Error('The disk is gone')
    if (damaged.has(name)) return undefined
    if (busy.has(name)) return 'not-now'
    return samples.find(({ skill }) => skill.name === name)?.bytes.get(path)
  }
  let now = 0
  const discovery = new Discovery({ registry, read, now: () => now }, '/')
  return {
    discovery,
    damaged,
    failing,
    busy,
    advance: (ms: number) => (now += ms),
    /** How many of its files were read. */
    readOf: (name: string) => reads.filter((one) => one === name).length,
    async names(): Promise<string[]> {
      const { listing } = await discovery.installable()
      const { skills }: { skills: readonly { name: string }[] } = JSON.parse(listing.json.toString())
      return skills.map(({ name }) => name)
    },
  }
}
