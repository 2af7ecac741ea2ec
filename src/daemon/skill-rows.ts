import type { Catalog } from '../sync/model/catalog.ts'
import type { Contract } from '../sync/model/contract.ts'
import type { Finding } from '../sync/model/finding.ts'
import type { Disabled } from '../sync/model/disabled.ts'
import { uriOf } from '../sync/model/skill-uri.ts'
import type { Skill, Standing } from '../sync/model/skill.ts'
import { currentCatalog } from '../sync/publisher.ts'
import { Store } from '../sync/store/store.ts'
import { admissionOf } from './admission.ts'
import { idsOf } from './config.ts'
import type { Config } from './config.ts'

/** One skill for people and for `--json`: what became of it, and from where it is. */
export interface SkillRow {
  readonly source: string
  /** The true folder, relative to the source's root. */
  readonly path: string
  /** Of its SKILL.md; only where it is served, or would be if nobody had disabled it. */
  readonly uri: string | undefined
  /** A person took it out of service. */
  readonly disabled: boolean
  readonly name: string | undefined
  readonly description: string | undefined
  readonly standing: Standing
  readonly commit: string
  readonly ref: string
  /** Of its content, as `docs/digest.md` defines it. */
  readonly digest: string | undefined
  readonly size: number
  readonly files: readonly {
    readonly path: string
    readonly size: number
    readonly digest: string
    readonly executable: boolean
  }[]
  /** What its `x-personal-mcp` block says, where its source asks for that and it is kept. */
  readonly contract?: Contract
  readonly findings: readonly Finding[]
}

/**
 * A row for every SKILL.md that the state folder has of the sources, served or not. What is served is what it says, whether a
 * daemon runs or not; one that is not there yet has none.
 */
export async function readRows(config: Config): Promise<SkillRow[]> {
  const store = await Store.openExisting(config.state)
  if (store === undefined) return []
  await store.decisions.read()
  return rowsOf(await currentCatalog(store, idsOf(config), admissionOf(config)), store.decisions.disabled)
}

/** In the order of sources and paths. */
function rowsOf(catalog: Catalog, disabled: Disabled): SkillRow[] {
  return catalog.snapshots.flatMap(({ source, revision, skills }) =>
    skills.map((skill) => rowOf(skill, source, revision, disabled.get(source)?.has(skill.path) === true)),
  )
}

function rowOf(
  skill: Skill,
  source: string,
  revision: { readonly commit: string; readonly ref: string },
  disabled: boolean,
): SkillRow {
  const { path, name, description, standing, digest, size, contract, findings, servedPath } = skill
  const isServed = (standing === 'served' || standing === 'unlisted') && servedPath !== undefined
  return {
    source,
    path,
    uri: isServed ? uriOf(source, `${servedPath}/SKILL.md`) : undefined,
    disabled,
    name,
    description,
    standing,
    commit: revision.commit,
    ref: revision.ref,
    digest,
    size,
    files: skill.files.map((file) => ({
      path: file.path,
      size: file.size,
      digest: `sha256:${file.sha256}`,
      executable: file.executable,
    })),
    ...(contract !== undefined && { contract }),
    findings,
  }
}
