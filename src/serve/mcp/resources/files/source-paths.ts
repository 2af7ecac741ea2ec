import type { Steps } from '../../../../base/async/cooperative.ts'
import { IncrementalCache } from '../../../../base/async/incremental.ts'
import { Memo } from '../../../../base/memo.ts'
import { sortingTexts } from '../../../../base/sorted-texts.ts'
import type { Sorted } from '../../../../base/sorted-texts.ts'
import type { CatalogSkill } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { filesOf, isInUriOrder } from '../../../../sync/catalog/skill-files.ts'
import { firstFrom } from '../../../../sync/model/digest.ts'

/**
 * The file paths of listed skills, by source. They are built in slices for the first caller, and once for each catalog.
 * A failure affects only the callers that wait for it.
 */
export class SourcePaths {
  readonly #asked = new Memo<Catalog, Map<string, Asked>>()
  readonly #paths = new IncrementalCache(({ root, catalog }: Asked) => pathsBelow(root, catalog))

  /** Returns the paths below the URI of a source, in URI spelling, in disjoint parts. */
  async below(root: string, catalog: Catalog): Promise<readonly Sorted[]> {
    const ofCatalog = this.#asked.of(catalog, () => new Map())
    const asked = ofCatalog.get(root) ?? { root, catalog }
    ofCatalog.set(root, asked)
    return this.#paths.ready(asked)
  }
}

/** A source of a catalog, by its URI. */
interface Asked {
  readonly root: string
  readonly catalog: Catalog
}

/**
 * Most skills and their files are already in URI order, and are used in place. Only other paths are copied: those of
 * skills with common files, and those with names that a URI encodes.
 */
function* pathsBelow(root: string, { listed }: Catalog): Steps<readonly Sorted[]> {
  const below = `${root}/`
  const inPlace = new PathsInPlace(below)
  const others = new Set<string>()
  for (let at = firstFrom(listed, below, ({ uri }) => uri); listed[at]?.uri.startsWith(below) === true; at += 1) {
    const skill = listed[at]
    if (skill === undefined || !skill.root.startsWith(below)) continue
    if (isInUriOrder(skill)) inPlace.add(skill)
    else for (const { uri } of filesOf(skill)) others.add(uri.slice(below.length))
    yield
  }
  return [inPlace, yield* sortingTexts(others)]
}

/** The file paths of skills that share no files with others. */
class PathsInPlace implements Sorted {
  readonly #below: string
  readonly #skills: CatalogSkill[] = []
  /** The number of files up to and including each skill. */
  readonly #counts: number[] = []

  constructor(below: string) {
    this.#below = below
  }

  add(skill: CatalogSkill): void {
    this.#counts.push(this.length + skill.skill.files.length)
    this.#skills.push(skill)
  }

  get length(): number {
    return this.#counts.at(-1) ?? 0
  }

  at(index: number): string | undefined {
    let [low, high] = [0, this.#counts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#counts[middle] ?? 0) > index) high = middle
      else low = middle + 1
    }
    const skill = this.#skills[low]
    const file = skill?.skill.files[index - (this.#counts[low - 1] ?? 0)]
    return skill && file && `${skill.root.slice(this.#below.length)}/${file.path}`
  }
}
