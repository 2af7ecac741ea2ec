import type { Skill, SkillFile } from '../../src/sync/model/skill.ts'
import type { Snapshot } from '../../src/sync/model/snapshot.ts'
import { storedOf } from '../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../src/sync/store/store.ts'

/** Each file of what the state folder serves, as `path=text`. Throws where one cannot be read, or has other bytes than it should. */
export async function servedFiles(state: string): Promise<readonly string[]> {
  const store = await Store.openExisting(state)
  const generation = await store?.generations.current()
  if (store === undefined || generation === undefined) return []
  const lines: string[] = []
  for (const { snapshot } of generation.sources)
    lines.push(...(await filesOf(store, await store.snapshots.read(snapshot))))
  return lines
}

async function filesOf(store: Store, { skills, docs }: Snapshot): Promise<readonly string[]> {
  const lines: string[] = []
  for (const skill of skills)
    for (const file of skill.files) lines.push(`${skill.path}/${file.path}=${await textOf(store, skill, file)}`)
  for (const file of docs?.files ?? [])
    if (docs !== undefined)
      lines.push(`docs/${file.path}=${(await store.skills.read(storedOf(docs), file)).toString()}`)
  return lines
}

async function textOf(store: Store, skill: Skill, file: SkillFile): Promise<string> {
  if (skill.upstream === undefined) return (await store.skills.read(storedOf(skill), file)).toString()
  const kept = await store.upstreams.read(skill.upstream.source, file)
  if (kept.kind === 'damaged') throw new Error(`${skill.path}/${file.path}: ${kept.why}`)
  // Its files are fetched when somebody wants them, each by itself.
  return `whole or not here: ${file.sha256}`
}
