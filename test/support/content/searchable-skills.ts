import type { JsonObject } from '../../../src/base/json-value.ts'
import type { Finder } from '../../../src/serve/mcp/core/finder.ts'
import { headingsIn } from '../../../src/serve/mcp/tools/search/search-documents.ts'
import { searchableOf } from '../../../src/serve/mcp/tools/search/searchable.ts'
import { SkillIndex } from '../../../src/serve/mcp/tools/search/skill-index.ts'
import type { Catalog } from '../../../src/sync/catalog/catalog.ts'
import { offeredIn } from '../../../src/sync/catalog/tool-catalog.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { catalogOf } from '../../sync/catalog/catalogs.ts'
import { sample, snapshotOf, sourceId, type Sample } from '../../sync/store/samples.ts'

/** A skill that says this of itself. */
export function saying(name: string, frontmatter: JsonObject & { readonly description: string }, body = ''): Sample {
  const all = { name, ...frontmatter }
  const made = sample(name, { 'SKILL.md': `---\n${JSON.stringify(all)}\n---\n${body}` })
  return { ...made, skill: { ...made.skill, description: frontmatter.description, frontmatter: all } }
}

/** The catalog of sources with these skills. */
export function catalogWith(sources: Readonly<Record<string, readonly Sample[]>>): Catalog {
  const snapshots = Object.entries(sources).map(([id, samples]) => ofSource(id, snapshotOf(...samples)))
  return catalogOf(...snapshots)
}

function ofSource(id: string, snapshot: Snapshot): Snapshot {
  return { ...snapshot, source: sourceId(id) }
}

/** Finds as the daemon does, in this thread. */
export function plainFinder(...samples: readonly Sample[]): Finder {
  const bytes = new Map(samples.map(({ skill, bytes: files }) => [skill.digest, files.get('SKILL.md')]))
  return {
    async find({ catalog }, { text, limit }) {
      const { distinct } = offeredIn(catalog)
      const index = SkillIndex.of(
        distinct.map((offered) => {
          const document = bytes.get(offered.skill.digest)
          return { ...searchableOf(offered), headings: document === undefined ? '' : headingsIn(document) }
        }),
      )
      const byId = new Map(distinct.map((offered) => [offered.id, offered]))
      return { kind: 'found', catalog, skills: index.find(text, limit).flatMap((id) => byId.get(id) ?? []) }
    },
  }
}
