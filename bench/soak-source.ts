import { GitServer } from '../test/support/git/git-server.ts'
import { Repository } from '../test/support/git/repository.ts'
import { randomFrom } from '../test/support/random.ts'
import { changed, makeSkills } from './skills.ts'
import type { Skills } from './skills.ts'
import { goneFrom, troublesOf, wrongsIn } from './soak-faults.ts'
import type { Trouble } from './soak-faults.ts'

/** A repository of skills, how it is reached, and all that can go wrong with it, one after another without end. */
export interface SoakedSource extends AsyncDisposable {
  readonly id: string
  readonly url: string
  /** Changes one SKILL.md after the other. */
  commit(): Promise<void>
  nextTrouble(): Trouble
}

/** Over http, from a server of its own: one host is looked at by no more than a few pulls at once. */
export async function serveOverHttp(number: number, skills: number): Promise<SoakedSource> {
  const made = makeSkills(skills, { number })
  const repository = await Repository.create()
  const server = await GitServer.start()
  const random = randomFrom(number)
  const { ofListing, ofPack, hang } = troublesOf(server, random)
  // Most of what goes wrong goes wrong at the first request. A hang takes its whole time, so there are few.
  const often = [...ofListing, ...ofListing, ...ofPack, ...ofListing, ...(await wrongsIn(repository))]
  return {
    id: `http-${number}`,
    url: server.serve('skills', repository),
    ...(await changing(repository, made)),
    nextTrouble: inTurn([...often, ...often, ...often, hang]),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

/** On the disk, in the one form that is read by the git program there. */
export async function keepForProgram(number: number, skills: number): Promise<SoakedSource> {
  const made = makeSkills(skills, { number })
  const repository = await Repository.create({ objectFormat: 'sha256' })
  return {
    id: `program-${number}`,
    url: `file://${repository.folder}`,
    ...(await changing(repository, made)),
    nextTrouble: inTurn([goneFrom(repository), ...(await wrongsIn(repository))]),
    [Symbol.asyncDispose]: () => repository[Symbol.asyncDispose](),
  }
}

async function changing(repository: Repository, { files, documents }: Skills): Promise<Pick<SoakedSource, 'commit'>> {
  await repository.commit(files)
  let count = 0
  return {
    async commit() {
      const path = documents[count % documents.length] ?? ''
      count += 1
      await repository.commit({ [path]: changed(files[path], `Change ${count}.`) })
    },
  }
}

function inTurn(troubles: readonly Trouble[]): () => Trouble {
  let count = 0
  return () => {
    const trouble = troubles[count % troubles.length]
    if (trouble === undefined) throw new TypeError('Nothing can go wrong here')
    count += 1
    return trouble
  }
}
